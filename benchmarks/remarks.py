"""Sentences of the page that no run can write: how limits are counted, and what is known of targets that are missed."""

INTRODUCTION = """
Every figure is measured against its peer in the same run, the two taking turns, threads pinned; medians of CPU seconds of at least five
runs, or of as many as the row says: what takes more than 20 seconds runs once. Accuracy is evaluated anew in double precision and stands
beside each time. `python -m benchmarks --page` makes this page again; `--quick` is a test of a few seconds that the figures work at all.
"""

LIMITS = """
- **Kernel values**: a dot product and eight multiply-adds each (the power of two and the weighted sum), at the rate of a matrix product. A
  dual needs the columns of its support vectors at all points, a ridge system one triangle of the matrix at least once, a prediction the
  support vectors at the new points.
- **Moments**: what is stored of the matrix, read once.
- **Two-class machine**: one Cholesky factorisation; the root takes about five.
- **Derived counterparts and paths**: no limit in operations is known that would be close; the limit is the solver's own time on the same arrays.
"""

REMARKS = {
    "dual fit": "One-class SVM: few support vectors leave the time to rounds of small steps rather than to kernel values. A stored Gram matrix, single "
    "precision and shrinking were tried and are slower or unsafe.",
    "dual grid": "The geometric mean falls with narrow kernels and tight tolerances, where free vectors are many.",
    "dual worst": "The least cell is small or narrow: checks of the input and the start weigh as much as the solution there.",
    "dual exact": "Newton steps factorise the kernel of the free vectors, whose number a narrow kernel raises to hundreds. Tried "
    "after the table was measured, on a busy machine, CPU seconds, medians: pair steps that hand over to them at "
    "other gaps, in one stage or two. At 1e-4 without a second stage a second factorisation is often needed (ratios "
    "4.4 and 4.0 in the two worst cells); the two stages 1e-4 and 1e-6 that are kept have 3.8 and 3.5; one stage at "
    "1e-5 has 3.4 and 2.8, and 2.3 instead of 3.0 at n = 5,000. It is not kept: a test with a polynomial kernel, "
    "whose rank is below the number of points, had not ended with it when a loaded machine was stopped, and whether "
    "pair steps are slower there was not settled. What limits it: in the worst cell, n = 2,000 with 1,246 free "
    "vectors, one factorisation takes 21 to 45 ms where the whole solution at 1e-3 takes 38, and twice as many pair "
    "steps are needed to find the free set. Single precision takes 12 ms where double takes 21, which is not enough "
    "for 1.5 either, and was not built in.",
    "dual gap": "The gap that double precision leaves grows with the number of support vectors.",
    "dual path": "With a narrow kernel in 60 dimensions each new fraction takes five or six rounds. A profile gives 54 % of the time to kernel values of "
    "the points that moved, at all points, and 41 % to the pair steps of working sets; nothing is factorised. Working sets of 1,024 instead "
    "of 512 points were tried and take 5 % longer.",
    "prediction": "With few support vectors packing the new points weighs as much as the kernel values.",
    "memory": "Working sets keep rows of the kernel.",
    "dual large": "Kernel values bound the time; a second thread takes a third of it away.",
    "mpm paper": "The paper's form needs four times the operations of one factorisation; conjugate gradients need a few products with K.",
    "mpm cholesky": "In 60 dimensions a kernel value costs three times as much as in 10, and a slower decay of the spectrum takes one or two more products. "
    "Each product evaluates one triangle alone already; single precision would leave a residual of 1e-7.",
    "mpm large": "In 60 dimensions each product takes 1.25e9 kernel values, and six products are needed. A preconditioner of twice the rank saves one of them "
    "and costs as much.",
    "two-class": "At d = 10 the arithmetic takes a tenth of the time: reading arguments and writing the guarantee take half, a few "
    "LAPACK calls and their wrapping the rest. Tried after the table was measured, old and new code on one busy machine, "
    "CPU seconds, medians: Newton's iteration with the exact derivative in place of secant steps, the last step without "
    "a factorisation. It takes four factorisations instead of six: the ratio went from 17.6, 22.2, 20.4 to 20.7, 20.2, "
    "21.8 at d = 60 in three runs each, from 34 to 50 at d = 200 and from 35 to 43 at d = 500, and stayed between 13 and "
    "18 at d = 10. Run alone, without the peer in between, it is 31 at d = 10: what is left is a few hundred calls of "
    "Python from a cold cache, 0.35 to 0.5 ms, of which the factorisations take less than a tenth.",
    "two-class value": "The peer's own tolerance is 1e-8.",
    "documents moments": "Every entry adds to two numbers of a random column, which takes about two to four nanoseconds here where reading it "
    "takes one. Tried after the table was measured, old and new code on one busy machine, CPU seconds, medians: a "
    "profile showed that half of the time went to two columns out of 47,236 that lie far from zero and were picked out "
    "and read once more; columns are now read again from a squared mean of a hundred variances on, instead of ten "
    "(variances then agree to 8e-13), which takes 142 instead of 252 ms and 165 instead of 305. A pass without checks "
    "and weights takes 10.5 instead of 12.4 ms (60,000 rows), one with sums in single precision 13.2, one sum alone "
    "instead of two 8.7: what limits it is adding to random columns, whatever is added. A second thread would halve it "
    "and is not used, since the figure is for one.",
    "documents dual": "Pair steps and the products of sparse rows take about a quarter of it each; the rest is scaling columns, checks, "
    "and reading the answer. Tried after the table was measured, old and new code on one busy machine, CPU seconds, "
    "medians: leaving out the factorisation that shows the matrix of inner products to be semidefinite, which changes "
    "nothing here that the clock resolves (15 and 16 ms). The products of pairs of rows that share columns take 3 ms and "
    "the test of symmetry 3 ms of 16 to 23: no single part is left whose removal would reach 10 ms.",
    "documents counted": "Reading the negatives is nearly all of our time, and bound by random access to the columns' sums. Tried: the "
    "moments without reading two columns twice, 142 instead of 252 ms (see above); this ratio has not been measured "
    "again beside LinearSVC.",
    "documents shared": "What is left is the Gram matrix of the positives; its sparse product takes most of it.",
    "dense counted": "Tried after the table was measured, on a busy machine, CPU seconds, medians: the moments without a pass for "
    "weights that are all one, checks without copies, variances counted once (17 instead of 20 ms), and a dual "
    "without the factorisation of order 600 that shows inner products to be semidefinite (24 instead of 29 to 34 ms). "
    "Together about 49 instead of 59 ms; against liblinear's hinge loss, in turns, the ratio was 10.8 in a run of "
    "five, from about 8 before. The table has not been measured again. What limits it: one product of 10,800 by 150 "
    "takes 7 to 8 ms, two eigendecompositions of order 150 take 2 ms each, the Gram matrix of 600 points 1.5 ms; "
    "symmetry is checked, and pair steps and passes over a matrix of order 600 take the rest.",
    "derived": "A matrix inequality of order d + 1 stands for the set. An interior-point method factorises a dense matrix of the order of d squared, so that "
    "beyond order 40 a splitting method is asked first. Set-up, which reads the membership and finds a point inside it, takes more than the solver.",
    "paths": "CVXPY needs some milliseconds a solve to put a new number into the arrays and to read the answer back, and residuals are evaluated anew: "
    "below about 20 ms a solve this outweighs Clarabel. Compiling once and whitening are done already; handing the arrays over without CVXPY would "
    "need its internals, which this library does not touch.",
    "start solver": "NumPy, SciPy's linear algebra and numba are imported before our own modules begin; nothing of scikit-learn is.",
    "start estimator": "The base class of scikit-learn's estimators alone takes more than the target on this machine, most of it "
    "scipy.stats, and pandas where it is installed; scikit-learn's own OneClassSVM misses it too. Ours adds numba, its "
    "compiled code, and our modules. Tried: CVXPY, the factories and the reader of versions imported on use only (saves "
    "little of what is left); pandas taken away (0.5 s less, not ours to take); base classes of our own would start in "
    "the time of the block solver, 1.5 s, and would not be scikit-learn's, whose checks, clones and searches ask for "
    "them. What limits it is 2.1 s of imports that are not ours.",
}

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
    "dual exact": "Newton steps factorise the kernel of the free vectors, whose number a narrow kernel raises to hundreds: the ratio is largest there.",
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
    "two-class": "At d = 10 and 60 the arithmetic takes a tenth of the time: reading arguments and writing the guarantee take the rest. From d = 200 "
    "on the factorisations decide.",
    "two-class value": "The peer's own tolerance is 1e-8.",
    "documents moments": "Every entry adds to two numbers of a random column, which takes about five nanoseconds here where reading it takes one. A "
    "pass without checks of order and range was tried and is no quicker.",
    "documents dual": "Pair steps and the products of sparse rows take about a quarter of it; the rest is scaling columns, checks, and reading the "
    "answer.",
    "documents counted": "Reading the negatives is nearly all of our time, and bound by random access to the columns' sums.",
    "documents shared": "What is left is the Gram matrix of the positives; its sparse product takes most of it.",
    "dense counted": "A ratio of about six against liblinear's hinge loss, of twelve against its primal, which ranks better: the covariance, two "
    "eigendecompositions of order 150 and a Gram matrix of 600 points take six times what their products alone would.",
    "derived": "A matrix inequality of order d + 1 stands for the set. An interior-point method factorises a dense matrix of the order of d squared, so that "
    "beyond order 40 a splitting method is asked first. Set-up, which reads the membership and finds a point inside it, takes more than the solver.",
    "paths": "CVXPY needs some milliseconds a solve to put a new number into the arrays and to read the answer back, and residuals are evaluated anew: "
    "below about 20 ms a solve this outweighs Clarabel. Compiling once and whitening are done already; handing the arrays over without CVXPY would "
    "need its internals, which this library does not touch.",
    "start solver": "NumPy, SciPy's linear algebra and numba are imported before our own modules begin; nothing of scikit-learn is.",
    "start estimator": "The base class of scikit-learn's estimators alone takes more than the target on this machine, most of it scipy.stats, and "
    "pandas where it is installed; scikit-learn's own OneClassSVM misses it too. Ours adds numba, its compiled code, and our modules. CVXPY, the factories "
    "and the reader of versions are now imported on use only, which saved little. Estimators that do not derive from that base class would start in the "
    "time of the block solver, and would not be scikit-learn's.",
}

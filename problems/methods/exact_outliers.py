# %% [markdown]
# # Exactly k outliers: what convexity gives away
#
# **You will learn**
#
# - that the parameter $\nu$ bounds the number of outliers, and that choosing them exactly is another, combinatorial
#   problem,
# - how to write that problem with binary variables, and how else to solve it,
# - what the convex machine loses, measured by the margin on the same number of points.
#
# Source: Schölkopf and Smola, *Learning with Kernels* (2001), section 8.6, equation 8.38.
#
# ## The combinatorial problem
#
# Leave out exactly $k$ of $m$ points so that the rest is as far from the origin as possible:
#
# $$
# \min_{w,\;OL\subset[m]}\ \tfrac12\lVert w\rVert^2\quad\text{s.t.}\quad
# \langle w,\Phi(x_i)\rangle\ge1\ \text{ for } i\notin OL,\qquad\lvert OL\rvert=k .\qquad(\text{8.38})
# $$
#
# A binary $z_i$ says whether point $i$ is left out; with a large enough number $M$,
# $\langle w,\Phi(x_i)\rangle\ge1-Mz_i$ and $\sum_iz_i=k$ make it a mixed-integer quadratic program.

# %%
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np

import convexnovelty as cn
from convexnovelty import plots
from convexnovelty.methods import exact_outliers

rng = np.random.default_rng(6)
X = np.vstack(
    [rng.multivariate_normal([2.4, 1.8], [[0.3, -0.1], [-0.1, 0.3]], 15), [[0.9, -0.4], [-0.2, 1.2], [0.5, 0.6]]]
)
m, k = len(X), 2
features = cn.LinearFeatures(X)
CLAIMS = []

best = cn.exact_outliers(features, k).solve()
print(best)

# %% [markdown]
# ## Without a solver
#
# There are $\binom{18}2=153$ choices; for each, (8.31) on the rest is a small problem. A better way branches: solve
# (8.31) on all points; one of the left-out points must be among the support vectors, since leaving out others changes
# nothing; branch on these. The tree has at most (number of support vectors)$^k$ leaves, and in the plane each problem
# has two support vectors or so.

# %%
tree = exact_outliers.tree(features, k)
enumeration = exact_outliers.enumeration(features, k)
print(f"{len(list(combinations(range(m), k)))} choices, {tree.iterations} problems in the tree")
CLAIMS += [
    cn.Claim(
        "the mixed-integer program finds the best of all choices",
        best.objective,
        enumeration.objective,
        tolerance=1e-6,
        kind="algorithm",
        source="equation 8.38",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "so does branching over support vectors alone",
        tree.objective,
        enumeration.objective,
        tolerance=1e-8,
        kind="algorithm",
        source="equation 8.38",
        because="two exact algorithms on small quadratic programs",
    ),
    cn.Claim(
        "the tree solves far fewer problems than there are choices",
        float(tree.iterations),
        153 / 4,
        "<=",
        tolerance=0.0,
        kind="algorithm",
        source="the argument above",
        because="a count",
    ),
]

# %% [markdown]
# ## The convex machine
#
# At $\nu=k/m$ the one-class machine has at most $k$ outliers. It charges for distances and does not count, so it need
# not choose the best $k$. Give it the benefit: take the points it leaves out or puts on the boundary, in the order of
# their scores, drop the lowest $k$, and solve (8.31) on the rest. The result is a feasible choice for (8.38), hence
#
# $$
# \frac1{\lVert w_{\text{machine}}\rVert}\ \le\ \frac1{\lVert w_{\text{best}}\rVert}.
# $$

# %%
machine = cn.one_class_svm(features, k / m).solve()
lowest = np.argsort(X @ machine.region.normal)[:k]
kept = np.setdiff1d(np.arange(m), lowest)
rounded = cn.hard_margin(cn.LinearFeatures(X[kept])).solve()
margins = {
    "best choice of two": 1 / np.linalg.norm(best.values["w"]),
    "two lowest of the machine": 1 / np.linalg.norm(rounded.values["w"]),
}
print({name: round(float(margin), 4) for name, margin in margins.items()})
outside = int(np.sum(~machine.region.contains(X)))
CLAIMS += [
    cn.Claim(
        "the machine leaves out at most k points",
        float(outside),
        float(k),
        "<=",
        tolerance=0.0,
        source="proposition 8.3 (i)",
        because="a count",
    ),
    cn.Claim(
        "the machine's choice of two keeps less than three quarters of the best margin",
        float(margins["two lowest of the machine"]),
        0.75 * float(margins["best choice of two"]),
        "<=",
        tolerance=0.0,
        kind="algorithm",
        source="equation 8.38",
        because="a strict inequality, far from equality on this sample",
    ),
]

# %% [markdown]
# ## Why one does not do this at scale
#
# For fixed $k$ the tree is polynomial, but $k$ grows with the sample. Ben-David et al. show that even approximating
# the largest number of points in a ball of fixed radius is NP-hard. The convex machine solves ten thousand points in
# seconds and has a theorem about how many it leaves out; the exact problem is for small samples, and for knowing what
# one gives away.

# %%
counts = range(1, 6)
exact = [1 / np.linalg.norm(exact_outliers.tree(features, count).values["w"]) for count in counts]
convex = []
for count in counts:
    scores = X @ cn.one_class_svm(features, count / m).solve().region.normal
    rest = np.setdiff1d(np.arange(m), np.argsort(scores)[:count])
    convex.append(1 / np.linalg.norm(cn.hard_margin(cn.LinearFeatures(X[rest])).solve().values["w"]))
CLAIMS.append(
    cn.Claim(
        "more outliers, larger margin: the exact optimum never falls with k",
        float(np.diff(exact).min()),
        0.0,
        ">=",
        tolerance=1e-9,
        kind="theory",
        source="equation 8.38: leaving out one more point is allowed to change nothing",
        because="the solver's accuracy",
    )
)
fig, axs = plt.subplots(1, 2, figsize=(9.8, 4.2), layout="constrained")
plots.decision_regions(
    {"best two": best, "machine, then hard margin": rounded, "machine": machine},
    nominal=X,
    box=(-0.8, 4.2, -0.9, 3.4),
    ax=axs[0],
)
axs[0].plot(0, 0, "ks")
axs[1].plot(counts, exact, "o-", color="#0072B2", label="exact")
axs[1].plot(counts, convex, "s--", color="#D55E00", label="lowest scores of the machine")
axs[1].set(xlabel="points left out", ylabel="distance of the plane from the origin", xticks=counts)
axs[1].legend(fontsize="small")

# %% [markdown]
# ## Two questions to try
#
# 1. Build a sample of six points on which the machine's choice for $k=1$ is wrong. (Hint: charge for distance.)
# 2. The relaxation with $0\le z_i\le1$ is a convex program. How does its bound depend on $M$, and why is it useless
#    for a large one?

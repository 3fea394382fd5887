# %% [markdown]
# # A set of your own, from a sentence to a proof
#
# **You will learn**
#
# - how to turn a sentence about what you know into membership constraints,
# - what the library derives from them, and how to check it by hand,
# - that the checker notices when a closed form is wrong by one per cent.
#
# Source: Lanckriet, El Ghaoui and Jordan (2003), equation 10; the set is made up here, and its counterpart derived.
#
# ## The sentence
#
# *"The total variance may have grown by a quarter, and no direction has lost more than a fifth of its own."* As a
# set,
#
# $$
# \mathcal U=\Bigl\{\Sigma:\ \operatorname{tr}\Sigma\le(1+r)\operatorname{tr}\Sigma_0,\quad\Sigma\succeq\frac1{1+r}\Sigma_0\Bigr\},\qquad r=\tfrac14 .
# $$

# %%
import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import convexnovelty as cn
from convexnovelty import plots
from convexnovelty.uncertainty import Adversary, CovarianceSet, MeanEllipsoid, evaluate_deviation

rng = np.random.default_rng(4)
X = rng.multivariate_normal([3.0, 3.0], [[0.9, 0.3], [0.3, 0.3]], size=100)
moments = cn.Moments.estimate(X)
CLAIMS = []


class Grown(CovarianceSet):
    """More variance in total, and not much less in any direction."""

    def membership(self, S):
        return [
            cp.trace(S) <= (1 + self.radius) * np.trace(self.center),
            S - self.center / (1 + self.radius) >> 0,
        ]


grown = Grown(0.25)

# %% [markdown]
# ## It works already
#
# That is all: four lines. The counterpart comes from conic duality of these constraints, the worst member from
# maximising over them, and every method that takes covariances takes this set, alone or in a product.

# %%
uncertainty = MeanEllipsoid(0.1) * grown
problem = cn.single_class_mpm(moments, 0.8, uncertainty)
solution = problem.solve()
report = cn.check(problem)
print(problem.kind, solution.objective)
print(report.summary)
CLAIMS.append(
    cn.Claim(
        "no step of the derivation fails on my set",
        report.count("fail"),
        0,
        tolerance=0.0,
        kind="theory",
        source="the derivation graph",
        because="a count",
    )
)

# %% [markdown]
# ## Check it by hand
#
# Write $\Sigma=L+\Delta$ with $L=\Sigma_0/(1+r)$ and $\Delta\succeq0$. The trace leaves
# $\operatorname{tr}\Delta\le\beta$ with $\beta=(1+r)\operatorname{tr}\Sigma_0-\operatorname{tr}L$. Among positive
# semidefinite matrices of trace $\beta$ the largest $a^\top\Delta a$ is $\beta\lVert a\rVert^2$, at
# $\Delta=\beta\,aa^\top/\lVert a\rVert^2$. So
#
# $$
# \sup_{\Sigma\in\mathcal U}a^\top\Sigma a=a^\top\Bigl(\frac{\Sigma_0}{1+r}+\beta I\Bigr)a .
# $$
#
# One matrix serves all directions, and the whole machinery of equation 14 applies: $\zeta$ with this matrix,
# $\kappa+\nu$ as before.

# %%
r = 0.25
beta = (1 + r) * np.trace(moments.covariance) - np.trace(moments.covariance) / (1 + r)
C = moments.covariance / (1 + r) + beta * np.eye(2)
zeta = np.sqrt(moments.mean @ np.linalg.solve(C, moments.mean))
attack = Adversary(grown.centred(moments))
for label, a in (("(1, 2)", np.array([1.0, 2.0])), ("(-3, 1)", np.array([-3.0, 1.0]))):
    formula = float(np.sqrt(a @ C @ a))
    CLAIMS += [
        cn.Claim(
            f"direction {label}: the derived counterpart is my formula",
            evaluate_deviation(grown.centred(moments), a),
            formula,
            tolerance=1e-6,
            kind="closed form",
            source="the argument above",
            because="the accuracy of a semidefinite program",
        ),
        cn.Claim(
            f"direction {label}: the adversary reaches it with a member",
            attack(a).value,
            formula,
            tolerance=1e-6,
            kind="adversary",
            source="the membership constraints",
            because="the accuracy of a semidefinite program",
        ),
    ]
CLAIMS.append(
    cn.Claim(
        "the robust optimum is 1/(zeta - kappa - nu) with my matrix",
        solution.objective,
        float(1 / (zeta - 2.0 - 0.1)),
        tolerance=1e-6,
        kind="closed form",
        source="equation 14; kappa(0.8) = 2",
        because="the accuracy of a semidefinite program",
    )
)

# %% [markdown]
# ## State the formula, and get it wrong
#
# A class may state its closed form, which is faster: a second-order cone in place of a semidefinite one. The
# statement is never believed. Below one class is right, and one is wrong by one per cent; the checker compares both
# with the membership.

# %%


class Stated(Grown):
    """The same set, with its counterpart stated; ``slip`` multiplies the budget of the trace."""

    slip = 1.0

    def worst_deviation(self, a):
        total, lowest = np.trace(self.center), self.center / (1 + self.radius)
        budget = self.slip * ((1 + self.radius) * total - np.trace(lowest))
        return cp.norm(np.linalg.cholesky(lowest + budget * np.eye(len(lowest))).T @ a)


class Slipped(Stated):
    """One per cent too much."""

    slip = 1.01


right, wrong = (cn.check(cn.single_class_mpm(moments, 0.8, kind(0.25))) for kind in (Stated, Slipped))
print("right:", right.summary)
print("wrong:", wrong.summary)
for row in wrong.rows:
    if row.verdict == "fail":
        print(f"  {row.source} -> {row.target}: {row.reason}")
CLAIMS += [
    cn.Claim(
        "the right formula passes",
        right.count("fail"),
        0,
        tolerance=0.0,
        source="the derivation graph",
        because="a count",
    ),
    cn.Claim(
        "the wrong one turns the checker red",
        wrong.count("fail"),
        1,
        ">=",
        tolerance=0.0,
        source="the derivation graph",
        because="a count",
    ),
    cn.Claim(
        "with the formula the program is the same, in another cone",
        cn.single_class_mpm(moments, 0.8, Stated(0.25)).solve().objective,
        cn.single_class_mpm(moments, 0.8, grown).solve().objective,
        tolerance=1e-6,
        kind="closed form",
        source="the argument above",
        because="the accuracy of a semidefinite program",
    ),
]

# %% [markdown]
# ## A second solver
#
# Both routes were computed by one solver. Another one, of another kind, must agree within its own accuracy.

# %%
other = problem.solve(solver="SCS")
print(f"Clarabel {solution.objective:.8f}, SCS {other.objective:.8f}")
CLAIMS.append(
    cn.Claim(
        "a first-order solver agrees with the interior-point one",
        other.objective,
        solution.objective,
        tolerance=1e-4,
        kind="other library",
        source="the same program",
        because="the accuracy of a splitting method",
    )
)

# %%
fig, axs = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
plots.uncertainty_sets(grown, moments, direction=-solution.region.normal, kappa=2.0, ax=axs[0])
axs[0].set_title("My set, and its worst member", fontsize="medium")
plots.decision_regions(
    {"nominal": cn.single_class_mpm(moments, 0.8).solve(), "my set": cn.single_class_mpm(moments, 0.8, grown).solve()},
    nominal=X,
    box=(-0.4, 6, -0.4, 5),
    ax=axs[1],
)
axs[1].plot(0, 0, "ks")
axs[1].set_title("What it changes", fontsize="medium")

# %% [markdown]
# ## Two questions to try
#
# 1. Add the sentence "correlations keep their sign" as one more constraint. Does a closed form still exist, and does
#    it matter?
# 2. Write a set that is empty by mistake, say with a trace below that of the lower bound. What does the library tell
#    you?

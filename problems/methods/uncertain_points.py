# %% [markdown]
# # Points with error bars
#
# **You will learn**
#
# - how a constraint for every position of a point becomes one constraint, through the support function of a set,
# - that the dual norm appears by itself,
# - what a round error bar does to the solution (almost nothing), and what a box does (it prefers axes).
#
# Source: Schölkopf and Smola, *Learning with Kernels* (2001), equations 8.6 and 8.7, made robust as in Ben-Tal and
# Nemirovski, *Robust convex optimization* (1998).
#
# ## All positions at once
#
# Point $i$ was seen at $x_i$ and may lie anywhere in $x_i+\mathcal U$. The machine shall be right for every position:
#
# $$
# \langle w,x_i+u\rangle\ge\rho-\xi_i\ \ \forall u\in\mathcal U
# \quad\Longleftrightarrow\quad\langle w,x_i\rangle-\sigma_{\mathcal U}(-w)\ge\rho-\xi_i,\qquad\sigma_{\mathcal U}(v)=\sup_{u\in\mathcal U}\langle v,u\rangle .
# $$
#
# For a ball of the norm $\lVert\cdot\rVert_p$ with radius $r$ the support function is $r\lVert v\rVert_q$ with
# $1/p+1/q=1$: Hölder's inequality, with equality at a member that lines up with $v$.

# %%
import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import convexnovelty as cn
from convexnovelty import plots
from convexnovelty.methods import uncertain_points
from convexnovelty.uncertainty import NormBall, PointSet

rng = np.random.default_rng(11)
X = rng.multivariate_normal([3.0, 2.0], [[0.6, -0.35], [-0.35, 0.5]], 45)
n, nu, r = 45, 0.15, 0.5
features = cn.LinearFeatures(X)
CLAIMS = []

plain = cn.one_class_svm(features, nu, form="primal").solve()
solutions = {"exact points": plain}
for label, p in (("diamonds, p = 1", 1), ("discs, p = 2", 2), ("boxes, p = ∞", float("inf"))):
    robust = cn.uncertain_points(features, nu, NormBall(p, r)).solve()
    w, xi, rho = cp.Variable(2), cp.Variable(n, nonneg=True), cp.Variable()
    dual_norm = {1: "inf", 2: 2}.get(p, 1)
    by_hand = cp.Problem(
        cp.Minimize(0.5 * cp.sum_squares(w) + cp.sum(xi) / (nu * n) - rho),
        [X @ w - r * cp.norm(w, dual_norm) >= rho - xi],
    )
    by_hand.solve(solver=cp.CLARABEL)
    planes = uncertain_points.semi_infinite(features, nu, NormBall(p, r))
    solutions[label] = robust
    CLAIMS += [
        cn.Claim(
            f"{label}: the constraint with the dual norm",
            robust.objective,
            float(by_hand.value),
            tolerance=1e-6,
            kind="formulation",
            source="equations 8.6 and 8.7 for every position",
            because="CVXPY's defaults stop at 1e-8",
        ),
        cn.Claim(
            f"{label}: cutting planes, position by position",
            planes.objective,
            robust.objective,
            tolerance=1e-6,
            kind="adversary",
            source="equations 8.6 and 8.7 for every position",
            because="the planes stop at a gap of 1e-7",
        ),
    ]

# %% [markdown]
# ## Round error bars cost length, not direction
#
# For $p=2$ the support function is $r\lVert w\rVert$. Along any direction the problem becomes the plain one with
# $\rho$ shifted by $r\lVert w\rVert$. Writing $\lVert w\rVert=t$, the plain optimum at length $t$ is $\tfrac12t^2-ct$
# for some $c$, so the robust one is $\tfrac12t^2-(c-r)t$, and
#
# $$
# w_r=\frac{\lVert w_0\rVert-r}{\lVert w_0\rVert}\,w_0\quad\text{for } r<\lVert w_0\rVert .
# $$
#
# At $r=\lVert w_0\rVert$ the discs around the reduced hull reach the origin, and nothing separates.

# %%
round_bars = solutions["discs, p = 2"].region.normal
shrunk = (1 - r / np.linalg.norm(plain.region.normal)) * plain.region.normal
CLAIMS.append(
    cn.Claim(
        "discs shorten the normal by their radius and do not turn it",
        float(np.abs(round_bars - shrunk).max()),
        0.0,
        tolerance=1e-5,
        kind="closed form",
        source="the argument above",
        because="an error e of the objective moves the solution by about the root of e",
    )
)

# %% [markdown]
# ## An error bar of one's own
#
# A thermometer that reads too low but never too high, and a scale that errs both ways: write it down.
#
# $$
# \mathcal U=\{u:\ 0\le u_1\le0.6,\ \lvert u_2\rvert\le0.2,\ u_1+2\lvert u_2\rvert\le0.8\}
# $$

# %%


class Instruments(PointSet):
    """What two instruments leave open."""

    def membership(self, u):
        return [u[0] >= 0, u[0] <= 0.6, cp.abs(u[1]) <= 0.2, u[0] + 2 * cp.abs(u[1]) <= 0.8]


own = cn.uncertain_points(features, nu, Instruments()).solve()
corners = np.array([[0, 0.2], [0, -0.2], [0.4, 0.2], [0.4, -0.2], [0.6, 0.1], [0.6, -0.1]])
w, xi, rho = cp.Variable(2), cp.Variable(n, nonneg=True), cp.Variable()
listed = cp.Problem(
    cp.Minimize(0.5 * cp.sum_squares(w) + cp.sum(xi) / (nu * n) - rho),
    [(X + corner) @ w >= rho - xi for corner in corners],
)
listed.solve(solver=cp.CLARABEL)
worst = (X[:, None] + corners[None]) @ own.region.normal
CLAIMS += [
    cn.Claim(
        "my own set: all six corners of the polygon, written out",
        own.objective,
        float(listed.value),
        tolerance=1e-6,
        kind="formulation",
        source="a linear function is worst at a corner",
        because="CVXPY's defaults stop at 1e-8",
    ),
    cn.Claim(
        "at most the fraction nu can be moved outside",
        float(np.mean(worst.min(axis=1) < own.region.offset - 1e-7)),
        nu,
        "<=",
        tolerance=0.0,
        source="proposition 8.3 for the worst positions",
        because="a count",
    ),
]

# %%
fig, axs = plt.subplots(1, 2, figsize=(9.8, 4.3), layout="constrained")
plots.decision_regions(solutions, nominal=X, box=(-0.3, 5.2, -0.5, 4.2), ax=axs[0])
axs[0].plot(0, 0, "ks")
axs[0].set_title("The worst positions stay on the right side", fontsize="medium")
sets = {"diamond": NormBall(1, r), "disc": NormBall(2, r), "box": NormBall(float("inf"), r), "my own": Instruments()}
plots.uncertainty_sets(sets, np.zeros(2), direction=-own.region.normal, directions=144, ax=axs[1])
axs[1].set_title("Each set, with its worst member for $-w$", fontsize="medium")

# %% [markdown]
# ## Two questions to try
#
# 1. Give each point its own error bar with `scales`. Which points should be measured better if only one can be?
# 2. With boxes, $\sigma(-w)=r\lVert w\rVert_1$. For which directions of $w$ is that cheapest, and do you see it in
#    the picture?

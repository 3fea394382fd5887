# %% [markdown]
# # Two classes, two ellipsoids that touch
#
# **You will learn**
#
# - how the worst-case probability of two classes becomes one ratio,
# - why the best plane is the common tangent of two growing ellipsoids,
# - how a problem in $p$ variables turns into the root of one number.
#
# Source: Lanckriet, El Ghaoui and Jordan, *Robust novelty detection with single-class MPM* (2003), section 2.
#
# ## From chance constraints to a ratio
#
# Class $x$ shall lie on one side of $\{z:a^\top z=b\}$ and class $y$ on the other, each with probability at least
# $\alpha$ for every distribution with its mean and covariance, and $\alpha$ shall be as large as possible:
#
# $$
# \max_{\alpha,a\ne0,b}\alpha\quad\text{s.t.}\quad
# \inf_{x\sim(\bar x,\Sigma_x)}\mathbb P\{a^\top x\ge b\}\ge\alpha,\qquad
# \inf_{y\sim(\bar y,\Sigma_y)}\mathbb P\{a^\top y\le b\}\ge\alpha .\qquad(\text{2})
# $$
#
# With $\kappa=\sqrt{\alpha/(1-\alpha)}$ the constraints are $a^\top\bar x-b\ge\kappa\sqrt{a^\top\Sigma_xa}$ and
# $b-a^\top\bar y\ge\kappa\sqrt{a^\top\Sigma_ya}$. Some $b$ satisfies both if and only if their sum holds, and since
# the length of $a$ is free we may set $a^\top(\bar x-\bar y)=1$:
#
# $$
# \frac1{\kappa_*}=\min_a\ \sqrt{a^\top\Sigma_xa}+\sqrt{a^\top\Sigma_ya}\quad\text{s.t.}\quad a^\top(\bar x-\bar y)=1,
# \qquad b_*=a_*^\top\bar x-\kappa_*\sqrt{a_*^\top\Sigma_xa_*}.\qquad(\text{3})
# $$

# %%
import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq

import convexnovelty as cn
from convexnovelty import plots
from convexnovelty.methods import two_class_mpm as mpm
from convexnovelty.uncertainty import FrobeniusBall, MeanEllipsoid

rng = np.random.default_rng(5)
X = rng.multivariate_normal([2.0, 1.0], [[1.0, 0.6], [0.6, 0.8]], 150)
Y = rng.multivariate_normal([-1.0, -0.5], [[0.4, -0.2], [-0.2, 1.2]], 90)
one, two = cn.Moments.estimate(X), cn.Moments.estimate(Y)
gap = one.mean - two.mean
CLAIMS = []

problem = cn.two_class_mpm(one, two)
solution = problem.solve()
kappa = solution.values["kappa_star"]
print(solution)

a = cp.Variable(2)
length = [cp.norm(np.linalg.cholesky(moments.covariance).T @ a) for moments in (one, two)]
by_hand = cp.Problem(cp.Minimize(length[0] + length[1]), [gap @ a == 1])
by_hand.solve(solver=cp.CLARABEL)
CLAIMS += [
    cn.Claim(
        "the factory solves program 3",
        solution.objective,
        float(by_hand.value),
        tolerance=1e-6,
        kind="formulation",
        source="equation 3",
        because="CVXPY's defaults stop at 1e-8",
    ),
    cn.Claim(
        "its optimum is the reciprocal of kappa",
        solution.objective * kappa,
        1.0,
        tolerance=1e-9,
        source="equation 3",
        because="rounding",
    ),
    cn.Claim(
        "the guaranteed share of errors is 1/(1 + kappa^2)",
        solution.guarantee.bound,
        1 / (1 + kappa**2),
        tolerance=1e-9,
        kind="closed form",
        source="below equation 3",
        because="rounding",
    ),
    cn.Claim(
        "and no class of the sample exceeds it",
        max(float(np.mean(~solution.region.contains(X))), float(np.mean(solution.region.contains(Y)))),
        solution.guarantee.bound,
        "<=",
        tolerance=0.0,
        source="equation 2, for the empirical distributions",
        because="a count",
    ),
]

# %% [markdown]
# ## Stationarity: the ellipsoids touch
#
# With $\sigma_x=\sqrt{a^\top\Sigma_xa}$ and $\sigma_y=\sqrt{a^\top\Sigma_ya}$ the gradient of the objective is a
# multiple of $\bar x-\bar y$; multiplying by $a^\top$ shows that the multiple is $1/\kappa_*$:
#
# $$
# \frac{\Sigma_xa}{\sigma_x}+\frac{\Sigma_ya}{\sigma_y}=\frac{\bar x-\bar y}{\kappa_*}
# \quad\Longleftrightarrow\quad
# \bar x-\kappa_*\frac{\Sigma_xa}{\sigma_x}=\bar y+\kappa_*\frac{\Sigma_ya}{\sigma_y}.
# $$
#
# The point on the left lies on the ellipsoid of radius $\kappa_*$ around $\bar x$, the one on the right on that
# around $\bar y$. They are the same point, and $a$ is normal to both ellipsoids there.

# %%
w = solution.values["a"]
sx, sy = (float(np.sqrt(w @ moments.covariance @ w)) for moments in (one, two))
from_x = one.mean - kappa * one.covariance @ w / sx
from_y = two.mean + kappa * two.covariance @ w / sy
CLAIMS.append(
    cn.Claim(
        "the ellipsoids of radius kappa meet in one point",
        float(np.abs(from_x - from_y).max()),
        0.0,
        tolerance=1e-3,
        kind="theory",
        source="stationarity of equation 3",
        because="an error e of the objective moves the direction by about the root of e",
    )
)

# %% [markdown]
# ## One number is left
#
# Divided by $\sigma_x$, the condition says $(\Sigma_x+t\,\Sigma_y)\,a\propto\bar x-\bar y$ with
# $t=\sigma_x/\sigma_y$. So
#
# $$
# a(t)=(\Sigma_x+t\,\Sigma_y)^{-1}(\bar x-\bar y),\qquad
# t=\sqrt{\frac{a(t)^\top\Sigma_xa(t)}{a(t)^\top\Sigma_ya(t)}} ,
# $$
#
# and a root search in $t$ replaces the solver. The library has it as the node `scalar_root`.

# %%


def direction(t):
    return np.linalg.solve(one.covariance + t * two.covariance, gap)


def residual(t):
    d = direction(t)
    return t - np.sqrt((d @ one.covariance @ d) / (d @ two.covariance @ d))


root = brentq(residual, 1e-6, 1e6, xtol=1e-14)
d = direction(root) / (gap @ direction(root))
own = np.sqrt(d @ one.covariance @ d) + np.sqrt(d @ two.covariance @ d)
CLAIMS += [
    cn.Claim(
        "the root gives the optimum",
        float(own),
        solution.objective,
        tolerance=1e-9,
        kind="algorithm",
        source="stationarity of equation 3",
        because="a stationary point: errors of the root enter squared",
    ),
    cn.Claim(
        "the library's root search finds it too",
        mpm.scalar_root(one, two).objective,
        solution.objective,
        tolerance=1e-9,
        kind="algorithm",
        source="stationarity of equation 3",
        because="the solver's accuracy",
    ),
]

# %% [markdown]
# ## Uncertain moments
#
# With the sets of the paper, radius $\nu$ for the mean and $\rho$ for the covariance of each class, the program keeps
# its form with $\Sigma+\rho I$, and
#
# $$
# 1-\alpha_*=\frac1{1+\max(0,\kappa_*-\nu)^2}.
# $$
#
# The mean's uncertainty changes the promise and not the plane. The library also solves the semi-infinite program (4),
# with an adversary for each class, and finds the same.

# %%
nu, rho = 0.3, 0.2
uncertainty = MeanEllipsoid(nu) * FrobeniusBall(rho)
robust = cn.two_class_mpm(one, two, uncertainty=uncertainty).solve()
ridge = cn.two_class_mpm(*(cn.Moments(m.mean, m.covariance + rho * np.eye(2)) for m in (one, two))).solve()
planes = mpm.semi_infinite(one, two, uncertainty)
CLAIMS += [
    cn.Claim(
        "the robust bound is 1/(1 + (kappa - nu)^2) for the covariances plus rho I",
        robust.guarantee.bound,
        1 / (1 + (ridge.values["kappa_star"] - nu) ** 2),
        tolerance=1e-8,
        kind="closed form",
        source="below equation 9",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "cutting planes with two adversaries promise the same",
        planes.guarantee.bound,
        robust.guarantee.bound,
        tolerance=1e-6,
        kind="adversary",
        source="equation 4",
        because="the planes stop at a gap of 1e-7",
    ),
]

# %%
fig, ax = plt.subplots(figsize=(6.2, 4.6), layout="constrained")
plots.decision_regions(solution, nominal=X, novel=Y, ax=ax)
circle = np.array([f(np.linspace(0, 2 * np.pi, 200)) for f in (np.cos, np.sin)])
for moments in (one, two):
    ax.plot(*(moments.mean[:, None] + kappa * np.linalg.cholesky(moments.covariance) @ circle), "k--", lw=1)
ax.plot(*from_x, "o", ms=8, mec="k", mfc="w", zorder=5)
ax.get_legend().texts[0].set_text("class x")
ax.get_legend().texts[1].set_text("class y")
ax.set_title(f"Radius $\\kappa_*={kappa:.3f}$: the plane is the common tangent", fontsize="medium")

# %% [markdown]
# ## Two questions to try
#
# 1. Multiply the second feature of all points by a thousand. Which of $\kappa_*$, the plane and the common point
#    change?
# 2. Give class $y$ ten times the covariance. To which side does the plane move, and what does $t$ tell about it?

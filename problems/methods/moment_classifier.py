# %% [markdown]
# # A crowd as two moments, a few points one by one
#
# **You will learn**
#
# - how to classify when one class has too many members to be kept, and is known by its mean and covariance,
# - that the answer is a projection of that mean on the hull of the other class,
# - that soft margins are a one-class machine on whitened points, with a dictionary between their parameters.
#
# Source: Leclère, Grave and El Ghaoui, *Probabilistic approach to one-class support vector machine* (2016).
#
# ## The chance of letting a negative in
#
# The negatives have mean $\bar x$ and covariance $\Sigma$. All positives $x_i$ must be accepted, and the largest
# probability of accepting a negative shall be small:
#
# $$
# \max_{w,b}\ \inf_{x\sim(\bar x,\Sigma)}\mathbb P\{w^\top x\le b\}\quad\text{s.t.}\quad w^\top x_i\ge b .\qquad(\text{1})
# $$
#
# By the one-sided Chebyshev bound the infimum is at least $\alpha$ if and only if
# $b-\bar x^\top w\ge\kappa(\alpha)\sqrt{w^\top\Sigma w}$. Scale $w$ so that $\kappa\sqrt{w^\top\Sigma w}=1$. A large
# $\kappa$ is then a small $w^\top\Sigma w$, and $b$ is best as large as the positives allow:
#
# $$
# v=\min_w\ w^\top\Sigma w\quad\text{s.t.}\quad(x_i-\bar x)^\top w\ge1,\qquad
# \mathbb P\{\text{negative accepted}\}\le\frac v{1+v}.\qquad(\text{4})
# $$

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

import convexnovelty as cn
from convexnovelty import plots
from convexnovelty.algorithms.min_norm_point import min_norm_point
from convexnovelty.methods import moment_classifier as moment
from convexnovelty.tails import Gaussian
from convexnovelty.uncertainty import FrobeniusBall, MeanEllipsoid

rng = np.random.default_rng(2)
positives = rng.multivariate_normal([3.2, 2.2], [[0.25, -0.1], [-0.1, 0.3]], 25)
negatives = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.7], [0.7, 1.1]], 4000)
crowd = cn.Moments.estimate(negatives)
mean, S = crowd.mean, crowd.covariance
CLAIMS = []

hard = cn.moment_classifier(positives, crowd).solve()
v = hard.objective
print(hard)
CLAIMS += [
    cn.Claim(
        "the promise is v/(1 + v)",
        hard.guarantee.bound,
        v / (1 + v),
        tolerance=1e-9,
        kind="closed form",
        source="remark 2",
        because="rounding",
    ),
    cn.Claim(
        "the four thousand negatives, being one of the distributions, keep it",
        float(np.mean(hard.region.contains(negatives))),
        v / (1 + v),
        "<=",
        tolerance=0.0,
        source="remark 1",
        because="a count",
    ),
    cn.Claim(
        "a Gaussian crowd is promised more: 1 - Phi(1/sqrt(v))",
        cn.moment_classifier(positives, crowd, tail=Gaussian()).solve().guarantee.bound,
        float(norm.sf(1 / np.sqrt(v))),
        tolerance=1e-8,
        kind="closed form",
        source="remark 3",
        because="the solver's accuracy",
    ),
]

# %% [markdown]
# ## A projection
#
# Let $p$ be the point of the positives' hull that is nearest to $\bar x$ in the metric
# $\lVert z\rVert^2=z^\top\Sigma^{-1}z$, and $D$ the distance. The plane through $p$ at a right angle, in this metric,
# to $p-\bar x$ separates the hull from $\bar x$, and
#
# $$
# w=\frac{\Sigma^{-1}(p-\bar x)}{D^2},\qquad v=w^\top\Sigma w=\frac1{D^2} .
# $$
#
# In whitened coordinates $\hat x_i=\Sigma^{-1/2}(x_i-\bar x)$ it is the point of a hull nearest to the origin, which
# Wolfe's algorithm finds in finitely many steps.

# %%
root = np.linalg.cholesky(S)  # any factor with S = root root' whitens
whitened = np.linalg.solve(root, (positives - mean).T).T
nearest = min_norm_point(whitened)
p = mean + root @ (whitened.T @ nearest.weights)
distance = float(np.linalg.norm(whitened.T @ nearest.weights))
w = np.linalg.solve(S, p - mean) / distance**2
CLAIMS += [
    cn.Claim(
        "v is one over the squared distance to the hull",
        v,
        1 / distance**2,
        tolerance=1e-8,
        kind="algorithm",
        source="annex A",
        because="the solver's accuracy; Wolfe's algorithm is finite",
    ),
    cn.Claim(
        "the normal points from the mean to the projection, in the metric",
        float(np.abs(hard.values["w"] - w).max()),
        0.0,
        tolerance=1e-6,
        kind="algorithm",
        source="annex A",
        because="the solver's accuracy in the direction",
    ),
]

# %% [markdown]
# ## Soft margins, and an old friend
#
# Let positives pay for being rejected:
#
# $$
# \min_{w,\xi}\ w^\top\Sigma w+\frac1{\nu\lvert I^+\rvert}\sum_i\xi_i\quad\text{s.t.}\quad(x_i-\bar x)^\top w\ge1-\xi_i,\ \xi_i\ge0 .\qquad(\text{10})
# $$
#
# Its dual $\max_\lambda\ \mathbf 1^\top\lambda-\tfrac14\lambda^\top\hat K\lambda$ over $0\le\lambda_i\le C$ with
# $\hat K_{ij}=\hat x_i^\top\hat x_j$ has a box and no equation. The one-class machine has an equation and a free
# offset $\rho$. Dividing by $\rho$ takes one to the other: if $\alpha$ solves the machine at $\nu'$ with offset
# $\rho$, then
#
# $$
# \lambda=\frac{2\,\alpha}\rho,\qquad C=\frac2{\nu'm\,\rho},\qquad w=\frac1\rho\,\Sigma^{-1/2}\sum_i\alpha_i\hat x_i
# $$
#
# solve (10) at the price $C$. One walks along $\nu'$ or along $C$ and meets the same planes.

# %%
features = cn.LinearFeatures(whitened)
machine = cn.one_class_svm(features, 0.3).solve()
rho, alpha = machine.offset.used, machine.values["alpha"]
price = 2 / (0.3 * len(positives) * rho)
soft = cn.moment_classifier(positives, crowd, slack_penalty=price).solve()
mapped = np.linalg.solve(root.T, whitened.T @ alpha) / rho
K = whitened @ whitened.T
multipliers = 2 * alpha / rho
CLAIMS += [
    cn.Claim(
        "the one-class machine on whitened points has the same normal",
        float(np.abs(soft.values["w"] - mapped).max()),
        0.0,
        tolerance=1e-6,
        kind="formulation",
        source="section 2.2 and after equation 10",
        because="two solvers' accuracies in the direction",
    ),
    cn.Claim(
        "its multipliers, times 2/rho, have the value of the dual",
        float(multipliers.sum() - multipliers @ K @ multipliers / 4),
        soft.objective,
        tolerance=1e-7,
        kind="formulation",
        source="the dual of equation 10",
        because="two solves",
    ),
    cn.Claim(
        "coordinate descent on the dual, without a solver, agrees",
        moment.coordinate_descent(positives, crowd, price).objective,
        soft.objective,
        tolerance=1e-7,
        kind="algorithm",
        source="the dual of equation 10",
        because="the solver's accuracy",
    ),
]

# %% [markdown]
# ## Uncertain moments
#
# If the moments are wrong by $\nu$ and $\rho$, the covariance becomes $\Sigma+\rho I$, and the promise weakens to
#
# $$
# \mathbb P\{\text{negative accepted}\}\le\frac1{1+\max(0,\,1/\sqrt v-\nu)^2},
# $$
#
# where the paper prints its complement (equation 8; see the errata).

# %%
nu, radius = 0.4, 0.3
robust = cn.moment_classifier(positives, crowd, uncertainty=MeanEllipsoid(nu) * FrobeniusBall(radius)).solve()
ridge = cn.moment_classifier(positives, cn.Moments(mean, S + radius * np.eye(2))).solve()
CLAIMS.append(
    cn.Claim(
        "the robust promise",
        robust.guarantee.bound,
        1 / (1 + max(0.0, 1 / np.sqrt(ridge.objective) - nu) ** 2),
        tolerance=1e-8,
        kind="closed form",
        source="equations 7 and 8, corrected",
        because="the solver's accuracy",
    )
)

# %%
fig, ax = plt.subplots(figsize=(6.2, 4.6), layout="constrained")
plots.decision_regions(
    {"hard margin": hard, "soft margin": soft},
    nominal=positives,
    novel=negatives[:400],
    box=(-3.5, 5, -3.5, 5.5),
    ax=ax,
)
circle = np.array([f(np.linspace(0, 2 * np.pi, 200)) for f in (np.cos, np.sin)])
ax.plot(*(mean[:, None] + distance * root @ circle), "k--", lw=1)
ax.plot(*p, "o", ms=8, mec="k", mfc="w", zorder=5)
ax.get_legend().texts[-2].set_text("positives")
ax.get_legend().texts[-1].set_text("negatives, of which two moments are used")
ax.get_legend().set_loc("upper left")
ax.set_title("The hard plane touches hull and ellipse where they are nearest", fontsize="medium")

# %% [markdown]
# ## Two questions to try
#
# 1. Put one positive at the mean of the negatives. What does the hard margin say, and from which price on does the
#    soft one promise anything?
# 2. Replace $\Sigma$ by the identity and $\bar x$ by zero. Which method of the library have you got?

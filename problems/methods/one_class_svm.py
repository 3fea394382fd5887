# %% [markdown]
# # A margin to the origin, and what its multipliers count
#
# **You will learn**
#
# - how the dual of the one-class machine comes from its primal, and what each multiplier says about its point,
# - why the fraction $\nu$ lies between the outliers and the support vectors,
# - what remains at both ends: a density estimate at $\nu=1$, a hard margin below $1/m$.
#
# Source: Schölkopf and Smola, *Learning with Kernels* (2001), chapter 8, equations 8.6 to 8.16.
#
# ## The primal
#
# In the feature space of a kernel, push a hyperplane away from the origin and let a few points stay behind, at a
# price:
#
# $$
# \min_{w,\xi,\rho}\ \tfrac12\lVert w\rVert^2+\frac1{\nu m}\sum_i\xi_i-\rho\quad\text{s.t.}\quad
# \langle w,\Phi(x_i)\rangle\ge\rho-\xi_i,\quad\xi_i\ge0 .\qquad(\text{8.6, 8.7})
# $$

# %%
import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KernelDensity
from sklearn.svm import OneClassSVM

import convexnovelty as cn
from convexnovelty import datasets, plots
from convexnovelty.algorithms import smo

data = datasets.banana(n=80)
m, nu, width = 80, 0.15, 1.5
features = cn.KernelFeatures(data.nominal, cn.kernels.gaussian(width=width))
K = features.gram
CLAIMS = []

primal = cn.one_class_svm(features, nu, form="primal").solve()
print(primal)

# %% [markdown]
# ## The dual
#
# With multipliers $\alpha_i\ge0$ for the first constraints and $\beta_i\ge0$ for the second, the Lagrangian is
# stationary where
#
# $$
# w=\sum_i\alpha_i\Phi(x_i),\qquad\alpha_i+\beta_i=\frac1{\nu m},\qquad\sum_i\alpha_i=1 .
# $$
#
# Put back, $w$ leaves $-\tfrac12\alpha^\top K\alpha$ and everything else cancels. So the dual is a quadratic program
# over weights,
#
# $$
# \min_\alpha\ \tfrac12\alpha^\top K\alpha\quad\text{s.t.}\quad0\le\alpha_i\le\frac1{\nu m},\quad\sum_i\alpha_i=1,\qquad(\text{8.13 to 8.15})
# $$
#
# whose optimum is minus that of the primal. Geometrically it looks for the point of the *reduced* convex hull that is
# nearest to the origin.

# %%
alpha = cp.Variable(m, nonneg=True)
by_hand = cp.Problem(
    cp.Minimize(0.5 * cp.quad_form(alpha, cp.psd_wrap(K))), [alpha <= 1 / (nu * m), cp.sum(alpha) == 1]
)
by_hand.solve(solver=cp.CLARABEL)
dual = cn.one_class_svm(features, nu, form="dual").solve()
CLAIMS += [
    cn.Claim(
        "the primal's optimum is minus the dual's",
        primal.objective,
        -dual.objective,
        tolerance=1e-8,
        kind="formulation",
        source="equations 8.6 and 8.13",
        because="two solves at 1e-10",
    ),
    cn.Claim(
        "the dual written above has the same value",
        float(by_hand.value),
        dual.objective,
        tolerance=1e-6,
        kind="formulation",
        source="equations 8.13 to 8.15",
        because="CVXPY's defaults stop at 1e-8",
    ),
]

# %% [markdown]
# ## What a multiplier says
#
# By complementary slackness $\alpha_i(\langle w,\Phi(x_i)\rangle-\rho+\xi_i)=0$ and $\beta_i\xi_i=0$. So a point is
#
# | where | multiplier |
# | ----- | ---------- |
# | strictly inside | $\alpha_i=0$ |
# | on the boundary | $0\le\alpha_i\le1/(\nu m)$ |
# | outside | $\alpha_i=1/(\nu m)$ |
#
# The weights sum to one, so at most $\nu m$ of them can be at the upper bound, and at least $\nu m$ must be positive:
# **outliers are at most, support vectors at least, the fraction $\nu$.** Any point on the boundary gives the offset,
# $\rho=\sum_j\alpha_jk(x_j,x_i)$.

# %%
weights = dual.values["alpha"]
values = dual.region.decision_values(features.training)
outliers = float(np.mean(values < -1e-7))
support = float(np.mean(weights > 1e-7))
on_margin = (weights > 1e-6) & (weights < 1 / (nu * m) - 1e-6)
print(f"outliers {outliers:.3f} <= nu {nu} <= support vectors {support:.3f}; {on_margin.sum()} points on the boundary")
CLAIMS += [
    cn.Claim(
        "outliers are at most the fraction nu",
        outliers,
        nu,
        "<=",
        tolerance=0.0,
        source="proposition 8.3 (i)",
        because="a count",
    ),
    cn.Claim(
        "support vectors are at least the fraction nu",
        support,
        nu,
        ">=",
        tolerance=0.0,
        source="proposition 8.3 (ii)",
        because="a count",
    ),
    cn.Claim(
        "each point on the boundary gives the same offset",
        float(np.ptp(K[on_margin] @ weights)),
        0.0,
        tolerance=1e-7,
        source="equation 8.16",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "rho is |w|^2 plus the mean slack over nu",
        dual.offset.used,
        weights @ K @ weights + np.maximum(dual.offset.used - K @ weights, 0).sum() / (nu * m),
        tolerance=1e-7,
        source="8.6 and 8.13: a primal optimum is minus a dual one",
        because="the solver's accuracy",
    ),
]

# %% [markdown]
# ## Three more roads to the same point
#
# SMO moves two multipliers at a time, so that their sum stays one, and needs no solver at all. libsvm, which
# scikit-learn calls, does the same in its own units: its coefficients sum to $\nu m$.

# %%
pairs = smo.smo(K, upper=1 / (nu * m))
libsvm = OneClassSVM(kernel="precomputed", nu=nu, tol=1e-9).fit(K)
theirs = np.zeros(m)
theirs[libsvm.support_] = libsvm.dual_coef_[0] / (nu * m)
CLAIMS += [
    cn.Claim(
        "SMO ends at the optimum of the dual",
        pairs.objective,
        dual.objective,
        tolerance=1e-9,
        kind="algorithm",
        source="section 8.4",
        because="SMO stops at a relative KKT gap of 1e-10",
    ),
    cn.Claim(
        "libsvm's coefficients, divided by nu m, have the same objective",
        0.5 * theirs @ K @ theirs,
        dual.objective,
        tolerance=1e-7,
        kind="other library",
        source="equation 8.13",
        because="libsvm was asked for 1e-9 in its own units",
    ),
]

# %% [markdown]
# ## Both ends
#
# At $\nu=1$ the box and the sum leave one point, $\alpha_i=1/m$: the score is a Parzen window estimate of the
# density, and the number $\nu$ no longer chooses which points matter.
#
# For $\nu m<1$ no slack is worth its price. Then the scores of all points are at least $\rho$, and the plane is the
# one of the *hard margin*: with $w=\rho\,v$ it solves $\min\lVert v\rVert^2$ subject to
# $\langle v,\Phi(x_i)\rangle\ge1$.

# %%
parzen = cn.one_class_svm(features, 1.0).solve()
probe = np.array([[0.0, 0.0], [1.0, 1.0], [-2.0, 1.0]])
scores = parzen.region.decision_values(features.coordinates(probe)) + parzen.region.offset
# exp(-d2/width) is a Gaussian window with variance width/2, up to the constant pi * width of the plane.
window = KernelDensity(bandwidth=np.sqrt(width / 2)).fit(data.nominal)
density = np.exp(window.score_samples(probe)) * np.pi * width

hard = cn.one_class_svm(features, 0.5 / m).solve()
v = cp.Variable(features.dimension)
margin = cp.Problem(cp.Minimize(cp.sum_squares(v)), [np.asarray(features.training) @ v >= 1])
margin.solve(solver=cp.CLARABEL)
CLAIMS += [
    cn.Claim(
        "at nu = 1 the score is a kernel density estimate",
        float(np.abs(scores - density).max()),
        0.0,
        tolerance=1e-7,
        kind="other library",
        source="section 8.3, Parzen windows",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "below 1/m no point is outside",
        float(np.sum(~hard.region.contains(features.training))),
        0.0,
        tolerance=0.0,
        source="proposition 8.3 (i)",
        because="a count",
    ),
    cn.Claim(
        "and the distance to the origin is the hard margin's",
        hard.offset.used / np.linalg.norm(hard.region.normal),
        1 / np.sqrt(margin.value),
        tolerance=1e-6,
        kind="formulation",
        source="equation 8.31",
        because="CVXPY's defaults stop at 1e-8",
    ),
]

# %%
fig, axs = plt.subplots(1, 3, figsize=(12, 3.9), layout="constrained")
for ax, solved, title in zip(
    axs,
    (hard, dual, cn.one_class_svm(features, 0.5).solve()),
    (r"$\nu m<1$: nobody outside", rf"$\nu={nu}$", r"$\nu=0.5$"),
    strict=True,
):
    plots.decision_regions(solved, features, nominal=data.nominal, box=(-4, 2.6, -2.6, 4), ax=ax)
    bound = solved.values["alpha"] > 1e-6
    ax.scatter(*data.nominal[bound].T, s=70, facecolors="none", edgecolors="#D55E00", label="support vectors")
    ax.set_title(title, fontsize="medium")
axs[0].legend(fontsize="small", loc="lower left")

# %% [markdown]
# ## Two questions to try
#
# 1. Make the kernel ten times narrower. Both bounds on $\nu$ still hold. Which of the two becomes useless, and what
#    does the picture look like?
# 2. Replace the kernel by the linear one and move the data until the origin lies among the points. What does the
#    machine return, and which of the statements above survive?

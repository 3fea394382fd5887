# %% [markdown]
# # The supporting hyperplane, four ways
#
# **You will learn**
#
# - that the plane farthest from the origin and the point of the hull nearest to it are one and the same thing,
# - what the multipliers of the hard margin are, up to a factor,
# - how a one-class problem is a two-class problem in a mirror.
#
# Source: Schölkopf and Smola, *Learning with Kernels* (2001), section 8.5, propositions 8.1 and 8.2.
#
# ## The shortest normal
#
# A sample is separable if some $w$ has $\langle w,x_i\rangle>0$ for all $i$. For any $\rho>0$ the supporting
# hyperplane is
#
# $$
# \min_w\ \tfrac12\lVert w\rVert^2\quad\text{s.t.}\quad\langle w,x_i\rangle\ge\rho .\qquad(\text{8.31})
# $$
#
# Its distance to the origin is $\rho/\lVert w\rVert$, so the shortest $w$ gives the farthest plane.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

import convexnovelty as cn
from convexnovelty import plots
from convexnovelty.algorithms.min_norm_point import min_norm_point

rng = np.random.default_rng(8)
X = rng.multivariate_normal([2.2, 1.6], [[0.5, -0.25], [-0.25, 0.4]], 40)
features, rho = cn.LinearFeatures(X), 1.0
CLAIMS = []

primal = cn.hard_margin(features, offset=rho).solve()
w = primal.values["w"]
distance = rho / np.linalg.norm(w)
print(primal)

# %% [markdown]
# ## The nearest point
#
# Let $p$ be the point of the convex hull that is nearest to the origin. For every hull point $x$ and small $s>0$,
# moving from $p$ towards $x$ does not come nearer: $\lVert p+s(x-p)\rVert^2\ge\lVert p\rVert^2$, hence
# $\langle p,x\rangle\ge\lVert p\rVert^2$. So
#
# $$
# \langle p,x_i\rangle\ge\lVert p\rVert^2\ \text{ for all }i,\qquad w=\frac{\rho}{\lVert p\rVert^2}\,p
# $$
#
# is feasible, and its plane is $\lVert p\rVert$ away. No plane that separates is farther, since it must pass between
# the origin and $p$.

# %%
nearest = min_norm_point(X)
p = X.T @ nearest.weights
CLAIMS += [
    cn.Claim(
        "the plane is as far away as the hull",
        float(distance),
        float(np.linalg.norm(p)),
        tolerance=1e-8,
        kind="algorithm",
        source="proposition 8.1",
        because="the solver's accuracy; Wolfe's algorithm is finite",
    ),
    cn.Claim(
        "its normal points to the nearest point",
        float(np.abs(w - rho * p / (p @ p)).max()),
        0.0,
        tolerance=1e-6,
        kind="algorithm",
        source="proposition 8.1",
        because="the solver's accuracy in the direction",
    ),
    cn.Claim(
        "every point has a score of at least the offset",
        float((X @ w).min()),
        rho,
        ">=",
        tolerance=1e-8,
        source="equation 8.31",
        because="the solver's accuracy",
    ),
]

# %% [markdown]
# ## The dual
#
# The Lagrangian $\tfrac12\lVert w\rVert^2-\sum_i\alpha_i(\langle w,x_i\rangle-\rho)$ is stationary at
# $w=\sum_i\alpha_ix_i$, which leaves
#
# $$
# \max_{\alpha\ge0}\ \rho\sum_i\alpha_i-\tfrac12\alpha^\top K\alpha ,
# $$
#
# without an equation. The weights of $p$ in the hull are $\alpha_i/\sum_j\alpha_j$.

# %%
dual = cn.hard_margin(features, offset=rho, form="dual").solve()
alpha = dual.values["alpha"]
CLAIMS += [
    cn.Claim(
        "strong duality",
        float(rho * alpha.sum() - alpha @ X @ X.T @ alpha / 2),
        primal.objective,
        tolerance=1e-8,
        kind="formulation",
        source="the dual of equation 8.31",
        because="two solves at 1e-10",
    ),
    cn.Claim(
        "the multipliers, made to sum to one, are the weights of the nearest point",
        float(np.abs(alpha @ X / alpha.sum() - p).max()),
        0.0,
        tolerance=1e-6,
        kind="algorithm",
        source="proposition 8.1",
        because="the solver's accuracy in the direction",
    ),
]

# %% [markdown]
# ## The mirror
#
# Reflect every point at the origin and ask a binary machine to separate $\{(x_i,+1)\}$ from $\{(-x_i,-1)\}$. The
# problem is symmetric, so the best plane passes through the origin; a point and its image have the same margin; and
# the binary problem
#
# $$
# \min_{w,b}\ \tfrac12\lVert w\rVert^2\quad\text{s.t.}\quad y(\langle w,x\rangle+b)\ge1\ \text{ on both sets}
# $$
#
# is (8.31) at $\rho=1$ with $b=0$. scikit-learn's `SVC` solves it.

# %%
mirror = SVC(kernel="linear", C=1e9, tol=1e-10).fit(np.vstack([X, -X]), np.r_[np.ones(40), -np.ones(40)])
CLAIMS += [
    cn.Claim(
        "a binary machine on the sample and its image finds the same normal",
        float(np.abs(mirror.coef_[0] - w / rho).max()),
        0.0,
        tolerance=1e-5,
        kind="other library",
        source="proposition 8.2 (i)",
        because="libsvm's tolerance",
    ),
    cn.Claim(
        "and passes through the origin",
        float(abs(mirror.intercept_[0])),
        0.0,
        tolerance=1e-5,
        kind="other library",
        source="proposition 8.2 (i)",
        because="libsvm's tolerance",
    ),
]

# %%
fig, axs = plt.subplots(1, 2, figsize=(9.8, 4.3), layout="constrained")
plots.decision_regions(primal, nominal=X, box=(-0.6, 4.5, -0.6, 3.6), ax=axs[0])
axs[0].plot(*zip((0, 0), p, strict=True), "k-", lw=1)
axs[0].plot(0, 0, "ks")
axs[0].plot(*p, "o", ms=8, mec="k", mfc="w", zorder=5)
axs[0].set_title("The plane stands on the shortest way to the hull", fontsize="medium")
axs[1].scatter(*X.T, color="#0072B2", s=16, label="sample")
axs[1].scatter(*-X.T, color="#D55E00", marker="x", s=22, label="its image")
for offset, style in ((0, "-"), (rho, ":"), (-rho, ":")):
    axs[1].axline(offset * w / (w @ w), slope=-w[0] / w[1], color="k", linestyle=style, lw=1.2)
axs[1].set(xlim=(-4.5, 4.5), ylim=(-3.6, 3.6), title="The mirror: a binary problem through the origin")
axs[1].title.set_fontsize("medium")
axs[1].legend(fontsize="small")

# %% [markdown]
# ## Two questions to try
#
# 1. Move the sample until the origin lies in its hull. Which of the four ways says so, and with which words?
# 2. Remove a point that does not lie on the plane. Why does nothing change, and what if you remove one that does?

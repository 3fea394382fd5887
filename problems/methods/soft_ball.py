# %% [markdown]
# # A ball instead of a half-space
#
# **You will learn**
#
# - why the smallest ball is a convex problem in the *squared* radius,
# - for which kernels the ball and the half-space are the same region, and where they part,
# - which of the two moves when you move the data.
#
# Source: Schölkopf and Smola, *Learning with Kernels* (2001), section 8.3, equations 8.17 to 8.21.
#
# ## The primal
#
# Put most of the points into a small ball around a centre $c$ of feature space:
#
# $$
# \min_{R,\xi,c}\ R^2+\frac1{\nu m}\sum_i\xi_i\quad\text{s.t.}\quad\lVert\Phi(x_i)-c\rVert^2\le R^2+\xi_i,\quad\xi_i\ge0 .\qquad(\text{8.17})
# $$
#
# In $R$ the constraint is not convex, since $\{(R,\xi):R^2+\xi\ge d\}$ has a hole. In $r=R^2\ge0$ it is.

# %%
import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import convexnovelty as cn
from convexnovelty import datasets, plots
from convexnovelty.methods import soft_ball

data = datasets.banana(n=70)
X, m, nu = data.nominal, 70, 0.2
CLAIMS = []

flat = cn.LinearFeatures(X)
primal = cn.soft_ball(flat, nu, form="primal").solve()
c, r, xi = cp.Variable(2), cp.Variable(nonneg=True), cp.Variable(m, nonneg=True)
by_hand = cp.Problem(cp.Minimize(r + cp.sum(xi) / (nu * m)), [cp.sum_squares(X[i] - c) <= r + xi[i] for i in range(m)])
by_hand.solve(solver=cp.CLARABEL)
CLAIMS.append(
    cn.Claim(
        "the factory solves 8.17",
        primal.objective,
        float(by_hand.value),
        tolerance=1e-6,
        kind="formulation",
        source="equation 8.17",
        because="CVXPY's defaults stop at 1e-8",
    )
)

# %% [markdown]
# ## The dual
#
# Stationarity of the Lagrangian in $r$, $\xi$ and $c$ gives $\sum_i\alpha_i=1$, $\alpha_i\le1/(\nu m)$ and
# $c=\sum_i\alpha_i\Phi(x_i)$. What remains is
#
# $$
# \min_\alpha\ \sum_{ij}\alpha_i\alpha_jk(x_i,x_j)-\sum_i\alpha_ik(x_i,x_i)\quad\text{s.t.}\quad
# 0\le\alpha_i\le\frac1{\nu m},\ \sum_i\alpha_i=1,\qquad(\text{8.18, 8.19})
# $$
#
# and its value has a meaning. The objective is minus the variance of the points under the weights $\alpha$, so the
# dual looks for the weights with the largest variance:
#
# $$
# \sum_i\alpha_i\Bigl\lVert\Phi(x_i)-\sum_j\alpha_j\Phi(x_j)\Bigr\rVert^2=\sum_i\alpha_ik(x_i,x_i)-\alpha^\top K\alpha .
# $$
#
# Problem 8.2 works the derivation out.

# %%
dual = cn.soft_ball(flat, nu, form="dual").solve()
weights = dual.values["alpha"]
variance = float(weights @ ((X - weights @ X) ** 2).sum(axis=1))
steps = soft_ball.sequential(flat, nu)
CLAIMS += [
    cn.Claim(
        "the primal's optimum is minus the dual's",
        primal.objective,
        -dual.objective,
        tolerance=1e-8,
        kind="formulation",
        source="equations 8.17 and 8.18",
        because="two solves at 1e-10",
    ),
    cn.Claim(
        "it is the variance of the points under the weights",
        -dual.objective,
        variance,
        tolerance=1e-8,
        kind="closed form",
        source="equation 8.18",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "the centre is the mean under the weights",
        float(np.abs(primal.region.center - weights @ X).max()),
        0.0,
        tolerance=1e-5,
        kind="formulation",
        source="equation 8.20",
        because="an error e of the objective moves the solution by about the root of e",
    ),
    cn.Claim(
        "sequential minimal optimisation finds the same optimum",
        steps.objective,
        dual.objective,
        tolerance=1e-8,
        kind="algorithm",
        source="section 8.4",
        because="SMO stops at a relative KKT gap of 1e-10",
    ),
]

# %% [markdown]
# ## When the ball is the half-space
#
# If $k(x,x)=\kappa_0$ for all $x$, as for every kernel of $x-x'$, the linear term is constant on the simplex: the
# dual is twice that of the one-class machine, less $\kappa_0$, with the same multipliers. All images lie on a sphere
# of radius $\sqrt{\kappa_0}$, and a ball cuts out of a sphere what a half-space cuts out of it. The decision values
# are
#
# $$
# f_{\text{ball}}(x)=2\,f_{\text{half-space}}(x).
# $$

# %%
gaussian = cn.KernelFeatures(X, cn.kernels.gaussian(width=2.0))
ball = cn.soft_ball(gaussian, nu).solve()
plane = cn.one_class_svm(gaussian, nu).solve()
new = gaussian.coordinates(data.novel)
difference = np.abs(ball.region.decision_values(new) - 2 * plane.region.decision_values(new)).max()
CLAIMS += [
    cn.Claim(
        "Gaussian kernel: the ball's optimum is twice the machine's less k(x, x)",
        ball.objective,
        2 * plane.objective - 1.0,
        tolerance=1e-8,
        kind="formulation",
        source="section 8.3, after equation 8.21",
        because="two solves at 1e-10",
    ),
    cn.Claim(
        "Gaussian kernel: decision values at new points are twice the machine's",
        float(difference),
        0.0,
        tolerance=1e-6,
        kind="formulation",
        source="section 8.3, after equation 8.21",
        because="the solvers' accuracy in the multipliers",
    ),
]

# %% [markdown]
# ## Where they part
#
# With the linear kernel the images lie on no sphere. The half-space must leave out the origin, so its answer depends
# on where the origin is. The ball does not know of an origin: **move the data, and the ball moves along.**

# %%
shift = np.array([6.0, -3.0])
moved = cn.soft_ball(cn.LinearFeatures(X + shift), nu).solve()
here, there = (cn.one_class_svm(cn.LinearFeatures(Z), nu).solve() for Z in (X + shift, X + 3 * shift))
agreement = np.mean(here.region.contains(data.novel + shift) == there.region.contains(data.novel + 3 * shift))
print(f"half-spaces of moved data agree on {agreement:.0%} of the new points")
CLAIMS += [
    cn.Claim(
        "the centre moves with the data",
        float(np.abs(moved.region.center - dual.region.center - shift).max()),
        0.0,
        tolerance=1e-5,
        source="8.17 depends on differences of points alone",
        because="the solver's accuracy in the multipliers",
    ),
    cn.Claim(
        "the radius does not change",
        moved.region.squared_radius,
        dual.region.squared_radius,
        tolerance=1e-6,
        source="8.17 depends on differences of points alone",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "half-spaces of moved data judge some points differently",
        float(agreement),
        0.95,
        "<=",
        tolerance=0.0,
        kind="simulation",
        source="section 8.3",
        because="a count with a fixed seed: more than 5 % of the points change sides",
    ),
]

# %%
fig, axs = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
plots.decision_regions(
    {"ball": cn.soft_ball(cn.LinearFeatures(X + shift), nu).solve(), "half-space": here},
    nominal=X + shift,
    novel=data.novel + shift,
    ax=axs[0],
)
axs[0].set_title("Linear kernel: two regions", fontsize="medium")
plots.decision_regions({"ball": ball, "half-space": plane}, gaussian, nominal=X, novel=data.novel, ax=axs[1])
axs[1].set_title("Gaussian kernel: one region, found twice", fontsize="medium")

# %% [markdown]
# ## Two questions to try
#
# 1. Put one point very far away. How far does the centre follow it, at $\nu=0.01$ and at $\nu=0.2$? The multiplier of
#    that point answers.
# 2. Take a polynomial kernel and divide it by $\sqrt{k(x,x)\,k(x',x')}$. Do the ball and the half-space agree again?

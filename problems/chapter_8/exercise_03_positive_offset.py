# %% [markdown]
# # Exercise 8.3: what a sign on the offset does to the multipliers
#
# **You will learn**
#
# - how a constraint on a primal variable turns an equation of the dual into an inequality,
# - when multipliers may grow without bound, told from the geometry of two sets,
# - a subtlety: with $\rho\ge0$ the problem always has a feasible point; it is *separation* that fails.
#
# Source: Schölkopf and Smola, *Learning with Kernels* (2001), problem 8.3.
#
# ## The dual with $\rho\ge0$
#
# Add a multiplier $\delta\ge0$ for $\rho\ge0$ to the Lagrangian (8.9): its only new term is $-\delta\rho$.
# Stationarity in $\rho$ changes from $-1+\sum_i\alpha_i=0$ to
#
# $$
# -1+\sum_i\alpha_i-\delta=0\quad\Longrightarrow\quad\sum_i\alpha_i=1+\delta\ \ge\ 1 .
# $$
#
# Everything else stays, so the dual is $\min\tfrac12\alpha^\top K\alpha$ over $0\le\alpha_i\le\frac1{\nu m}$ and
# $\sum_i\alpha_i\ge1$.
#
# If the optimum is not zero the inequality is active: dividing $\alpha$ by its sum would lower the objective by the
# square. So nothing changes there. Suppose the optimum is zero, and let $\nu\to0$, so that the upper bounds
# disappear. Then $\sum_i\alpha_ix_i=0$ for some $\alpha$ with sum one: **the origin lies in the hull.** With $\alpha$
# every multiple $t\alpha$, $t\ge1$, is optimal too, and an algorithm may walk along this ray for ever. With the
# equation it cannot.

# %%
import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import convexnovelty as cn

rng = np.random.default_rng(0)
apart = rng.normal([2.0, 1.5], 0.5, (30, 2))
around = rng.normal([0.3, 0.2], 0.7, (30, 2))
CLAIMS = []


def dual(X, nu, equation):
    """Value and multipliers of the dual, with the sum equal to one or at least one."""
    alpha = cp.Variable(len(X), nonneg=True)
    total = cp.sum(alpha) == 1 if equation else cp.sum(alpha) >= 1
    problem = cp.Problem(cp.Minimize(cp.sum_squares(X.T @ alpha) / 2), [alpha <= 1 / (nu * len(X)), total])
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value), alpha.value


value, multipliers = dual(apart, 0.2, equation=False)
CLAIMS += [
    cn.Claim(
        "away from the origin the inequality is active: the multipliers sum to one",
        float(multipliers.sum()),
        1.0,
        tolerance=1e-6,
        kind="formulation",
        source="problem 8.3",
        because="CVXPY's defaults stop at 1e-8",
    ),
    cn.Claim(
        "and the sign of the offset changes nothing",
        value,
        cn.one_class_svm(cn.LinearFeatures(apart), 0.2).solve().objective,
        tolerance=1e-6,
        kind="formulation",
        source="problem 8.3",
        because="CVXPY's defaults stop at 1e-8",
    ),
]

# %% [markdown]
# ## The ray
#
# Around the origin a convex combination $\alpha$ of the points is zero, and so is the objective along $t\alpha$.

# %%
weights = cp.Variable(30, nonneg=True)
cp.Problem(cp.Minimize(cp.sum_squares(weights)), [cp.sum(weights) == 1, around.T @ weights == 0]).solve(
    solver=cp.CLARABEL
)
ray = [float(np.sum((t * weights.value @ around) ** 2)) / 2 for t in (1.0, 10.0, 1000.0)]
CLAIMS.append(
    cn.Claim(
        "a thousand times an optimal multiplier is optimal, if sums above one are allowed",
        ray[-1],
        0.0,
        tolerance=1e-9,
        kind="closed form",
        source="problem 8.3, in the hard margin limit",
        because="a square of the solver's accuracy, times a million",
    )
)

# %% [markdown]
# ## Infeasible?
#
# The exercise says that the primal can become infeasible. Taken literally it cannot: $w=0$, $\rho=0$ satisfies
# $\langle w,x_i\rangle\ge\rho\ge0$ for all data. What becomes impossible is separation, that is $\rho>0$. Fix
# $\rho=1$ as in (8.31), and the dual is $\max_{\alpha\ge0}\sum_i\alpha_i-\tfrac12\alpha^\top K\alpha$: along the ray
# it is $t$, so it is unbounded, and by weak duality the primal is infeasible.
#
# The soft version shows the divergence as it happens. With $\rho=1$ fixed and slacks at the price $\frac1{\nu m}$,
# the multipliers of a sample around the origin stay at their bounds as $\nu\to0$, and their sum grows like $1/\nu$.
# For separated points it settles at $1/d^2$, where $d$ is the distance of the hull, since then $w=p/d^2$ with $p$ the
# nearest point.

# %%


def fixed_offset(X, nu):
    """The sum of the multipliers of the soft machine with the offset fixed at one."""
    m = len(X)
    w, xi = cp.Variable(2), cp.Variable(m, nonneg=True)
    margin = X @ w >= 1 - xi
    cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + cp.sum(xi) / (nu * m)), [margin]).solve(solver=cp.CLARABEL)
    return float(np.sum(margin.dual_value))


nus = np.logspace(0, -5, 11)
sums = {"apart from the origin": [], "around the origin": []}
for nu in nus:
    sums["apart from the origin"].append(fixed_offset(apart, nu))
    sums["around the origin"].append(fixed_offset(around, nu))
slope = np.polyfit(np.log(nus[-6:]), np.log(sums["around the origin"][-6:]), 1)[0]
distance = 1 / np.linalg.norm(cn.hard_margin(cn.LinearFeatures(apart)).solve().values["w"])
refused = ""
try:
    cn.hard_margin(cn.LinearFeatures(around)).solve()
except cn.errors.InfeasibleError as error:
    refused = str(error)
print(refused)
CLAIMS += [
    cn.Claim(
        "around the origin the sum of the multipliers grows like 1/nu",
        float(slope),
        -1.0,
        tolerance=0.05,
        kind="simulation",
        source="problem 8.3",
        because="a slope in logarithms over the last two and a half decades",
    ),
    cn.Claim(
        "apart from it the sum settles at one over the squared distance",
        sums["apart from the origin"][-1],
        float(1 / distance**2),
        tolerance=1e-4,
        kind="closed form",
        source="proposition 8.1",
        because="CVXPY's defaults, with a price of 3000 in the objective",
    ),
    cn.Claim(
        "with the offset fixed at one, no plane exists around the origin",
        float(bool(refused)),
        1.0,
        tolerance=0.0,
        kind="theory",
        source="problem 8.3",
        because="it is refused, or it is not",
    ),
    cn.Claim(
        "with a free offset the machine has a solution there, at zero",
        cn.one_class_svm(cn.LinearFeatures(around), 0.01).solve().objective,
        0.0,
        tolerance=1e-8,
        kind="formulation",
        source="problem 8.3",
        because="the solver's accuracy",
    ),
]

# %% [markdown]
# ## The geometry
#
# With a free offset the dual asks for the hull point that is nearest to the origin. There always is one, in the hull
# or at the origin itself. With $\sum_i\alpha_i\ge1$ it asks for the nearest point of the set
# $\{tz:t\ge1,\ z\in\text{hull}\}$, the *shadow* of the hull seen from the origin. The shadow of a hull apart from the
# origin has the same nearest point. The shadow of a hull around the origin is the whole plane, and each of its points
# is reached with arbitrarily large $t$.

# %%
fig, axs = plt.subplots(1, 3, figsize=(12, 3.9), layout="constrained")
for ax, X, title in zip(
    axs, (apart, around), ("Apart: a shadow behind the hull", "Around: the shadow is everything"), strict=False
):
    hull = rng.dirichlet(0.15 * np.ones(len(X)), 12000) @ X
    ax.scatter(*(hull * rng.uniform(1, 8, (12000, 1))).T, s=5, color="#C5DCEC", rasterized=True)
    ax.scatter(*X.T, s=16, color="#0072B2", zorder=3)
    ax.plot(0, 0, "ks")
    ax.set(xlim=(-3, 6), ylim=(-3, 6), title=title)
    ax.title.set_fontsize("medium")
for (label, total), (shade, style) in zip(sums.items(), (("#0072B2", "o-"), ("#D55E00", "s--")), strict=True):
    axs[2].loglog(1 / nus, total, style, color=shade, label=label, ms=4)
axs[2].set(xlabel="1/ν", ylabel="sum of the multipliers, offset fixed at 1")
axs[2].legend(fontsize="small")

# %% [markdown]
# ## Two questions to try
#
# 1. Put the origin exactly on an edge of the hull. Do the multipliers of the fixed offset diverge, and how fast?
# 2. In a Gaussian kernel's feature space no data set is around the origin. Why, and what does it mean for the hard
#    margin?

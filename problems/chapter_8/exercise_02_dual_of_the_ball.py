# %% [markdown]
# # Exercise 8.2: the dual of the soft ball
#
# **You will learn**
#
# - how to take the dual of a problem that is not convex as it is written, but is after one substitution,
# - that a Lagrangian is a bound for *every* choice of multipliers, which can be tried on random ones,
# - what happens to the multiplier of $R^2\ge0$, which the chapter does not mention.
#
# Source: Schölkopf and Smola, *Learning with Kernels* (2001), problem 8.2, equations 8.17 to 8.20.
#
# ## The claim
#
# Problem (8.17), $\min R^2+\frac1{\nu m}\sum_i\xi_i$ subject to $\lVert x_i-c\rVert^2\le R^2+\xi_i$ and $\xi_i\ge0$,
# has the dual (8.18) and (8.19).
#
# ## Derivation
#
# Put $r=R^2\ge0$; the problem is convex in $(r,\xi,c)$. With $\alpha_i,\beta_i,\delta\ge0$,
#
# $$
# L=r+\frac1{\nu m}\sum_i\xi_i+\sum_i\alpha_i\bigl(\lVert x_i-c\rVert^2-r-\xi_i\bigr)-\sum_i\beta_i\xi_i-\delta r .
# $$
#
# *In $r$* it is linear with the slope $1-\sum_i\alpha_i-\delta$, so it is bounded below only if
# $\sum_i\alpha_i=1-\delta\le1$. *In $\xi_i$* it is linear with the slope $\frac1{\nu m}-\alpha_i-\beta_i$, hence
# $\alpha_i\le\frac1{\nu m}$. *In $c$* it is a quadratic with its minimum at $c=\sum_i\alpha_ix_i/\sum_i\alpha_i$,
# where, with $s=\sum_i\alpha_i$,
#
# $$
# \min L=\sum_i\alpha_ik(x_i,x_i)-\frac1s\,\alpha^\top K\alpha .
# $$
#
# *The sum.* We may take $s=1$. Scaling $\alpha$ by $t>1$ multiplies the value by $t$, and the value is a weighted
# variance, so never negative: a larger sum is better. For $\nu\le1$ the box allows a sum of
# $m\cdot\frac1{\nu m}\ge1$: where some $\alpha_i$ is below its bound and $s<1$, raise one, which does not lower the
# value, until the sum is 1. What remains, with the sign changed, is (8.18) and (8.19), and $c=\sum_i\alpha_ix_i$ is
# (8.20). $\square$

# %%
import matplotlib.pyplot as plt
import numpy as np

import convexnovelty as cn

rng = np.random.default_rng(3)
X = np.vstack([rng.normal([1.0, 0.5], 0.6, (35, 2)), [[3.2, 2.0], [-1.2, 2.4]]])
m, nu = len(X), 0.15
K, price = X @ X.T, 1 / (0.15 * len(X))
CLAIMS = []

primal = cn.soft_ball(cn.LinearFeatures(X), nu, form="primal").solve()
dual = cn.soft_ball(cn.LinearFeatures(X), nu, form="dual").solve()
alpha = dual.values["alpha"]

# %% [markdown]
# ## Weak duality on random numbers
#
# For any feasible $\alpha$ and any $(c,r)$, with the best slacks $\xi_i=\max(0,\lVert x_i-c\rVert^2-r)$, the variance
# under $\alpha$ is at most the cost of the ball. Three thousand random pairs show no exception, and at the optimum
# the gap closes.

# %%


def cost(c, r):
    """The primal objective with the best slacks."""
    return r + price * np.maximum(((X - c) ** 2).sum(axis=1) - r, 0).sum()


def value(a):
    """The dual objective, in the chapter's sign changed: a weighted variance."""
    return a @ np.diag(K) - a @ K @ a / a.sum()


def random_multipliers():
    """Weights in the box that sum to one."""
    a = rng.dirichlet(rng.choice([0.1, 1.0, 10.0]) * np.ones(m))
    for _ in range(50):
        a = np.minimum(a, price)
        room = price - a
        a = a + room * (1 - a.sum()) / room.sum()
    return a


pairs = [(cost(rng.normal([0.9, 0.7], 0.7), rng.gamma(2.0, 0.7)), value(random_multipliers())) for _ in range(3000)]
gaps = np.array([upper - lower for upper, lower in pairs])
print(f"gaps of random pairs from {gaps.min():.4f} to {gaps.max():.2f}; optimum {primal.objective:.6f}")
CLAIMS += [
    cn.Claim(
        "no random ball is cheaper than a random dual value",
        float(gaps.min()),
        0.0,
        ">=",
        tolerance=1e-10,
        kind="simulation",
        source="problem 8.2, weak duality",
        because="rounding",
    ),
    cn.Claim(
        "at the optimum the gap closes",
        float(cost(primal.region.center, primal.region.squared_radius) - value(alpha)),
        0.0,
        tolerance=1e-7,
        kind="formulation",
        source="problem 8.2, strong duality",
        because="the accuracy of two solves",
    ),
    cn.Claim(
        "the centre is the weighted mean",
        float(np.abs(alpha @ X - primal.region.center).max()),
        0.0,
        tolerance=1e-5,
        kind="formulation",
        source="equation 8.20",
        because="an error e of the objective moves the solution by about the root of e",
    ),
]

# %% [markdown]
# ## Where the Lagrangian is stationary
#
# The minimum over $c$ is where the derivation says, for any multipliers; and complementary slackness sorts the
# points.

# %%
a = random_multipliers()
probe = rng.normal(size=(2000, 2)) * 2
inner = np.array([a @ ((X - c) ** 2).sum(axis=1) for c in probe])
squares = ((X - primal.region.center) ** 2).sum(axis=1)
r = primal.region.squared_radius
inside, outside = squares < r - 1e-6, squares > r + 1e-6
CLAIMS += [
    cn.Claim(
        "no centre is better than the weighted mean",
        float(inner.min()),
        float(value(a)),
        ">=",
        tolerance=1e-12,
        kind="simulation",
        source="problem 8.2, stationarity in c",
        because="rounding",
    ),
    cn.Claim(
        "points inside have no multiplier",
        float(alpha[inside].max()),
        0.0,
        tolerance=1e-7,
        source="complementary slackness",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "points outside have the largest one, 1/(nu m)",
        float(alpha[outside].min()),
        price,
        tolerance=1e-7,
        source="complementary slackness",
        because="the solver's accuracy",
    ),
]

# %% [markdown]
# ## The largest $\nu$
#
# At $\nu=1$ the box leaves one point, $\alpha_i=1/m$: the centre is the mean and the value the total variance. The
# ball is then worth nothing, since every radius up to the smallest distance costs the same; $r=0$ is among the
# optima. For $\nu>1$ the box would not allow a sum of one, $\delta>0$ would be needed, and the radius would be zero:
# that is why $\nu\le1$.

# %%
everyone = cn.soft_ball(cn.LinearFeatures(X), 1.0, form="primal").solve()
spread = ((X - X.mean(axis=0)) ** 2).sum(axis=1)
CLAIMS += [
    cn.Claim(
        "at nu = 1 the optimum is the total variance",
        everyone.objective,
        float(spread.mean()),
        tolerance=1e-7,
        kind="closed form",
        source="equation 8.18 at 1/m",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "and every radius up to the nearest point costs the same",
        float(0.9 * spread.min() + np.maximum(spread - 0.9 * spread.min(), 0).mean()),
        everyone.objective,
        tolerance=1e-7,
        kind="closed form",
        source="equation 8.17 at nu = 1",
        because="the solver's accuracy",
    ),
]

# %%
fig, axs = plt.subplots(1, 2, figsize=(9.8, 4.4), layout="constrained")
axs[0].add_patch(plt.Circle(primal.region.center, np.sqrt(r), facecolor="#DCEAF4", edgecolor="#0072B2", lw=1.8))
axs[0].scatter(*X.T, s=25 + 500 * alpha / price * 0.2, c=np.where(alpha > 1e-6, "#D55E00", "#222222"), zorder=3)
axs[0].plot(*primal.region.center, "w+", ms=12, mew=2, zorder=4)
axs[0].set_aspect("equal")
axs[0].set_title("The larger the dot, the larger its multiplier", fontsize="medium")
uppers, lowers = np.array(pairs).T
axs[1].hist(uppers[uppers < 6], bins=60, color="#0072B2", alpha=0.8, label="costs of random balls")
axs[1].hist(lowers, bins=60, color="#E69F00", alpha=0.8, label="dual values of random weights")
axs[1].axvline(primal.objective, color="k", lw=1.2, label="the optimum of both")
axs[1].set(xlabel="objective", ylabel="random draws")
axs[1].legend(fontsize="small")

# %% [markdown]
# ## Two questions to try
#
# 1. The chapter minimises over $R$ and not over $R^2$. Stationarity then reads $2R(1-\sum_i\alpha_i)=0$. Which case
#    does this add, and can it be optimal for $\nu<1$?
# 2. Give the points weights that are not equal. Where do they enter in (8.18) and (8.19)?

# %% [markdown]
# # Exercise 8.4: the offset is never negative
#
# **You will learn**
#
# - a proof in two lines that needs no duality,
# - an identity that says how large the offset is,
# - that it also holds where the offset is not unique.
#
# Source: Schölkopf and Smola, *Learning with Kernels* (2001), problem 8.4.
#
# ## Proof
#
# The point $w=0,\ \xi=0,\ \rho=0$ is feasible for (8.6) and (8.7), and its objective is 0. If $\rho<0$ at a solution,
# its objective is
#
# $$
# \tfrac12\lVert w\rVert^2+\frac1{\nu m}\sum_i\xi_i-\rho\ \ge\ -\rho\ >\ 0,
# $$
#
# so it was no solution. $\square$
#
# ## How large is it?
#
# By strong duality the optimum is $-\tfrac12\alpha^\top K\alpha=-\tfrac12\lVert w\rVert^2$. Setting this equal to the
# primal objective gives
#
# $$
# \rho=\lVert w\rVert^2+\frac1{\nu m}\sum_i\xi_i .
# $$
#
# So $\rho=0$ only if $w=0$ and no point is outside, which happens exactly when the origin lies in the *reduced* hull,
# the set of combinations with weights at most $\frac1{\nu m}$. Not every solution has a unique $\rho$; the identity
# holds for each, with its own slacks.

# %%
import matplotlib.pyplot as plt
import numpy as np

import convexnovelty as cn
from convexnovelty.algorithms import smo

rng = np.random.default_rng(5)
CLAIMS = []

offsets, identities, norms, shifts = [], [], [], []
for _ in range(300):
    m, p = rng.integers(4, 25), rng.integers(1, 4)
    shift = rng.uniform(0, 2.5)
    X = rng.normal(size=(m, p)) + shift * np.eye(1, p)[0]
    nu = rng.uniform(1 / m, 1)
    solved = smo.smo(X @ X.T, upper=1 / (nu * m))
    w = X.T @ solved.multipliers
    for rho in (solved.offset.lower, solved.offset.upper):
        if np.isfinite(rho):
            slack = np.maximum(rho - X @ w, 0).sum() / (nu * m)
            offsets.append(rho)
            identities.append(abs(rho - (w @ w + slack)))
    norms.append(float(np.linalg.norm(w)))
    shifts.append(shift)

print(f"{len(offsets)} offsets, from {min(offsets):.2e} to {max(offsets):.3f}")
CLAIMS += [
    cn.Claim(
        "in 300 random problems no offset is negative, at either end of its interval",
        float(min(offsets)),
        0.0,
        ">=",
        tolerance=1e-9,
        kind="algorithm",
        source="problem 8.4",
        because="SMO stops at a relative KKT gap of 1e-10",
    ),
    cn.Claim(
        "each is |w|^2 plus the priced slacks",
        float(max(identities)),
        0.0,
        tolerance=1e-8,
        kind="algorithm",
        source="problem 8.4, by strong duality",
        because="SMO stops at a relative KKT gap of 1e-10",
    ),
]

# %% [markdown]
# ## An interval of offsets
#
# If $\nu m$ is a whole number and no multiplier lies strictly between its bounds, $\rho$ may be any number between
# the largest score outside and the smallest inside. On the line with points 1, 2, 3, 4 and $\nu=\tfrac12$ the
# multipliers are $\tfrac12,\tfrac12,0,0$, so $w=\tfrac32$, and every
#
# $$
# \rho\in[\tfrac32\cdot2,\ \tfrac32\cdot3]=[3,\ \tfrac92]
# $$
#
# is optimal. The library reports both ends, and says which it uses.

# %%
line = cn.LinearFeatures(np.arange(1.0, 5.0)[:, None])
solution = cn.one_class_svm(line, 0.5).solve()
print(solution.offset, solution.offset.end)


def objective(rho, w=1.5):
    """The primal objective at this offset with the best slacks."""
    return w**2 / 2 + np.maximum(rho - w * np.arange(1.0, 5.0), 0).sum() / 2 - rho


CLAIMS += [
    cn.Claim(
        "the lower end of the interval",
        solution.offset.lower,
        3.0,
        tolerance=1e-7,
        kind="closed form",
        source="equation 8.16, without a point on the margin",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "the upper end",
        solution.offset.upper,
        4.5,
        tolerance=1e-7,
        kind="closed form",
        source="equation 8.16, without a point on the margin",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "an offset between them costs the same",
        float(objective(3.9)),
        float(objective(3.0)),
        tolerance=1e-12,
        kind="closed form",
        source="equation 8.6",
        because="rounding",
    ),
]

# %%
fig, axs = plt.subplots(1, 2, figsize=(9.8, 4.1), layout="constrained")
grid = np.linspace(-1.5, 6, 300)
axs[0].plot(grid, [objective(rho) for rho in grid], color="#0072B2", lw=1.8)
axs[0].axvspan(3, 4.5, color="#DCEAF4")
axs[0].plot([0], [objective(0)], "ks")
axs[0].set(
    xlabel="offset ρ, with w = 3/2",
    ylabel="primal objective",
    title="All of the interval is optimal, and none of it negative",
)
axs[0].title.set_fontsize("medium")
axs[1].scatter(shifts, norms, s=10, color="#D55E00")
axs[1].set(
    xlabel="distance of the cloud from the origin",
    ylabel="length of w",
    title="w = 0 where the origin is in the reduced hull",
)
axs[1].title.set_fontsize("medium")

# %% [markdown]
# ## Two questions to try
#
# 1. For which kernels is $\rho>0$ for every data set? Use that $\rho=0$ needs $w=0$.
# 2. Replace $-\rho$ in (8.6) by $-2\rho$. Does the proof still work, and what happens to the solution?

# %% [markdown]
# # Exercise 8.5: three numbers that are one
#
# **You will learn**
#
# - how complementary slackness turns a dual objective into a length,
# - that the identity is a certificate: any multipliers bound the distance from one side,
# - which of the three numbers do not depend on the constant $\rho$.
#
# Source: Schölkopf and Smola, *Learning with Kernels* (2001), problem 8.5, equation 8.41.
#
# ## The claim
#
# Minimise $\tfrac12\lVert w\rVert^2$ subject to $\langle w,x_i\rangle\ge\rho$ with a constant $\rho>0$. Let $d$ be
# the distance of the hyperplane to the origin and $W(\alpha)=\rho\sum_i\alpha_i-\tfrac12\alpha^\top K\alpha$ the dual
# objective. At the solution
#
# $$
# \frac{\rho^2}{d^2}=\lVert w\rVert^2=2W(\alpha) .\qquad(\text{8.41})
# $$
#
# ## Proof
#
# *First equation.* The point of $\{z:\langle w,z\rangle=\rho\}$ nearest to the origin is $\rho w/\lVert w\rVert^2$,
# at the distance $d=\rho/\lVert w\rVert$.
#
# *Second equation.* Stationarity gives $w=\sum_i\alpha_ix_i$, so $\alpha^\top K\alpha=\lVert w\rVert^2$.
# Complementary slackness says $\alpha_i(\langle w,x_i\rangle-\rho)=0$ for every $i$. Summed up,
# $\lVert w\rVert^2=\sum_i\alpha_i\langle w,x_i\rangle=\rho\sum_i\alpha_i$. Hence
#
# $$
# 2W(\alpha)=2\rho\sum_i\alpha_i-\lVert w\rVert^2=2\lVert w\rVert^2-\lVert w\rVert^2=\lVert w\rVert^2 .\qquad\square
# $$

# %%
import matplotlib.pyplot as plt
import numpy as np

import convexnovelty as cn
from convexnovelty.algorithms.min_norm_point import min_norm_point

rng = np.random.default_rng(7)
X = rng.normal([2.0, 1.2, -1.0], 0.5, (40, 3))
features, K = cn.LinearFeatures(X), X @ X.T
distance = float(np.linalg.norm(X.T @ min_norm_point(X).weights))
CLAIMS = []

for rho in (0.5, 1.0, 4.0):
    solution = cn.hard_margin(features, offset=rho, form="dual").solve()
    alpha, w = solution.values["alpha"], solution.region.normal
    squared = float(w @ w)
    W = float(rho * alpha.sum() - alpha @ K @ alpha / 2)
    print(f"rho = {rho}: rho^2/d^2 = {rho**2 / distance**2:.8f}, |w|^2 = {squared:.8f}, 2W = {2 * W:.8f}")
    CLAIMS += [
        cn.Claim(
            f"rho = {rho}: |w|^2 is rho^2 over the squared distance of the hull",
            squared,
            rho**2 / distance**2,
            tolerance=1e-7,
            kind="algorithm",
            source="equation 8.41",
            because="the solver's accuracy; the distance is Wolfe's",
        ),
        cn.Claim(
            f"rho = {rho}: twice the dual objective is the same",
            2 * W,
            rho**2 / distance**2,
            tolerance=1e-7,
            kind="algorithm",
            source="equation 8.41",
            because="the solver's accuracy; the distance is Wolfe's",
        ),
        cn.Claim(
            f"rho = {rho}: so is rho times the sum of the multipliers",
            float(rho * alpha.sum()),
            squared,
            tolerance=1e-6,
            kind="theory",
            source="complementary slackness, summed up",
            because="the solver's accuracy in the multipliers",
        ),
    ]

# %% [markdown]
# ## A certificate
#
# Away from the optimum the three numbers bracket the distance. A feasible $w$ proves that the hull is *at least*
# $\rho/\lVert w\rVert$ away. Any $\alpha\ge0$ proves that it is *at most*
#
# $$
# d\ \le\ \frac{\rho}{\sqrt{2W(\alpha)}},
# $$
#
# by weak duality; with $\alpha$ scaled in the best way this is just the length of the hull point
# $\sum_i\alpha_ix_i/\sum_i\alpha_i$. Below, coordinate ascent on the dual: after each step both bounds are known, and
# they meet at $d$.

# %%
rho, alpha = 1.0, np.zeros(40)
upper, lower = [], []
for step in range(1200):
    i = step % 40
    alpha[i] = max(0.0, alpha[i] + (rho - K[i] @ alpha) / K[i, i])
    W = rho * alpha.sum() - alpha @ K @ alpha / 2
    w = X.T @ alpha
    score = (X @ w).min()
    upper.append(rho / np.sqrt(2 * W))
    lower.append(score / np.linalg.norm(w) if score > 0 else 0.0)  # w scaled until its smallest score is rho
upper, lower = np.array(upper), np.array(lower)
CLAIMS += [
    cn.Claim(
        "no dual point claims less than the distance",
        float(upper.min()),
        distance,
        ">=",
        tolerance=1e-9,
        kind="algorithm",
        source="weak duality",
        because="rounding",
    ),
    cn.Claim(
        "no primal point claims more",
        float(lower.max()),
        distance,
        "<=",
        tolerance=1e-9,
        kind="algorithm",
        source="weak duality",
        because="rounding",
    ),
    cn.Claim(
        "after thirty sweeps the bounds have met",
        float(upper[-1] - lower[-1]),
        0.0,
        tolerance=1e-3,
        kind="algorithm",
        source="equation 8.41",
        because="coordinate ascent converges linearly",
    ),
]

# %%
fig, axs = plt.subplots(1, 2, figsize=(9.8, 4.1), layout="constrained")
axs[0].plot(upper, color="#D55E00", label="from the dual: at most")
axs[0].plot(lower, "--", color="#0072B2", label="from the primal: at least")
axs[0].axhline(distance, color="k", lw=0.8)
axs[0].set(xlabel="steps of coordinate ascent", ylabel="distance of the plane", xlim=(0, 400), ylim=(0, 2 * distance))
axs[0].legend(fontsize="small")
scale = np.linspace(0, 2.2, 100)
best = cn.hard_margin(features, form="dual").solve()
total, square = best.values["alpha"].sum(), best.region.normal @ best.region.normal
axs[1].plot(scale, scale * total - scale**2 * square / 2, color="#009E73", lw=1.8)
axs[1].axhline(square / 2, color="k", lw=0.8)
axs[1].plot(1, square / 2, "o", color="#009E73")
axs[1].set(xlabel="t", ylabel="W(t α)", title="The best scale of the multipliers is 1, where W = |w|²/2")
axs[1].title.set_fontsize("medium")

# %% [markdown]
# ## Two questions to try
#
# 1. For the soft machine the corresponding identity is that of problem 8.4. Derive it the same way, by summing
#    complementary slackness.
# 2. The chapter writes "minimizing $\lVert w\rVert^2$". With this objective and its own dual, which factor changes in
#    (8.41)?

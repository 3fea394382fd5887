# %% [markdown]
# # Exercise 8.8: the ν-property of the ball
#
# **You will learn**
#
# - that the proof for the half-space carries over word by word, with squared distances in place of scores,
# - that the squared radius is a quantile, like the offset,
# - where the factor that the chapter chose for the slacks matters.
#
# Source: Schölkopf and Smola, *Learning with Kernels* (2001), problem 8.8, equations 8.17 to 8.19.
#
# ## Proof
#
# Let $d_i=\lVert\Phi(x_i)-c\rVert^2$ at the solution. An outlier has $\xi_i=d_i-R^2>0$. Complementary slackness of
# $\xi_i\ge0$ gives $\beta_i=0$, so $\alpha_i=\frac1{\nu m}$; the multipliers sum to one, hence there are at most
# $\nu m$ outliers. All positive multipliers are at most $\frac1{\nu m}$ and sum to one, hence at least $\nu m$ of
# them are positive. The difference of both counts is the number of points on the sphere. $\square$
#
# The picture is the same, too. For a fixed centre the objective in $r=R^2$ is
#
# $$
# h(r)=r+\frac1{\nu m}\sum_i(d_i-r)_+,\qquad h'(r)=1-\frac1{\nu m}\#\{i:d_i>r\},
# $$
#
# so $r$ is the $(1-\nu)$-quantile of the squared distances. The sum of the multipliers is one *because the
# coefficient of $R^2$ is one*: with $CR^2$ in its place the bound would be on $\nu/C$.

# %%
import matplotlib.pyplot as plt
import numpy as np

import convexnovelty as cn
from convexnovelty.methods import soft_ball

rng = np.random.default_rng(9)
X = np.vstack([rng.normal([0.5, 0.0], 0.7, (45, 2)), rng.uniform(-4, 4, (5, 2))])
m = len(X)
kernels = {
    "linear": cn.LinearFeatures(X),
    "polynomial": cn.KernelFeatures(X, cn.kernels.polynomial(degree=2, gamma=0.5, coef0=1.0)),
    "Gaussian": cn.KernelFeatures(X, cn.kernels.gaussian(width=3.0)),
}
CLAIMS = []
nus = np.array([0.05, 0.11, 0.2, 0.35, 0.5, 0.75, 1.0])
counts = {}
for name, features in kernels.items():
    rows = []
    for nu in nus:
        solved = soft_ball.sequential(features, float(nu))
        values = solved.region.decision_values(features.training, features.squared_norms())
        tie = 1e-8 * max(solved.region.squared_radius, np.abs(values).max())
        alpha = solved.values["alpha"]
        rows.append((np.mean(values < -tie), np.mean(alpha > 1e-10)))
    counts[name] = np.array(rows)
    print(name, np.round(rows, 2).tolist())
    CLAIMS += [
        cn.Claim(
            f"{name} kernel: outliers are at most nu, at seven values of nu",
            float((counts[name][:, 0] - nus).max()),
            0.0,
            "<=",
            tolerance=1e-12,
            kind="algorithm",
            source="problem 8.8 (i)",
            because="rounding of a fraction",
        ),
        cn.Claim(
            f"{name} kernel: support vectors are at least nu",
            float((counts[name][:, 1] - nus).min()),
            0.0,
            ">=",
            tolerance=1e-12,
            kind="algorithm",
            source="problem 8.8 (ii)",
            because="rounding of a fraction",
        ),
    ]

# %% [markdown]
# ## The radius is a quantile
#
# Fix the centre that the machine found and ask for the best radius again.

# %%
nu = 0.2
ball = cn.soft_ball(kernels["linear"], nu, form="primal").solve()
d = ((X - ball.region.center) ** 2).sum(axis=1)
quantile = np.sort(d)[::-1][int(np.floor(nu * m))]  # the first that may stay inside
double = cn.soft_ball(kernels["linear"], nu / 2, form="dual").solve()
CLAIMS += [
    cn.Claim(
        "at nu m = 10 the squared radius lies between the tenth and the eleventh largest distance",
        ball.region.squared_radius,
        float(np.sort(d)[::-1][9]),
        "<=",
        tolerance=1e-6,
        kind="theory",
        source="problem 8.8, slopes of h",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "and not below the eleventh",
        ball.region.squared_radius,
        float(quantile),
        ">=",
        tolerance=1e-6,
        kind="theory",
        source="problem 8.8, slopes of h",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "a smaller nu has a larger ball",
        double.region.squared_radius,
        ball.region.squared_radius,
        ">=",
        tolerance=0.0,
        kind="theory",
        source="problem 8.8, on this sample",
        because="a strict inequality, far from equality here",
    ),
]

# %%
fig, axs = plt.subplots(1, 2, figsize=(10, 4.3), layout="constrained")
for (name, rows), shade in zip(counts.items(), ("#0072B2", "#D55E00", "#009E73"), strict=True):
    axs[0].plot(nus, rows[:, 1], "^-", color=shade, label=f"support vectors, {name}")
    axs[0].plot(nus, rows[:, 0], "v--", color=shade, label=f"outliers, {name}")
axs[0].plot([0, 1], [0, 1], color="k", lw=0.8)
axs[0].set(xlabel="ν", ylabel="fraction", title="Outliers below the line, support vectors above")
axs[0].title.set_fontsize("medium")
axs[0].legend(fontsize="x-small")
grid = np.linspace(0, np.sort(d)[-4], 400)
axs[1].plot(grid, grid + np.maximum(d[None] - grid[:, None], 0).sum(axis=1) / (nu * m), color="#0072B2", lw=1.8)
axs[1].axvline(ball.region.squared_radius, color="#D55E00", lw=1.2)
axs[1].plot(d[d < grid[-1]], np.full(np.sum(d < grid[-1]), ball.objective * 0.97), "k|", ms=8)
axs[1].set(xlabel="squared radius (strokes: squared distances)", ylabel="objective for this centre")

# %% [markdown]
# ## Two questions to try
#
# 1. Use a kernel with constant $k(x,x)$ and compare the counts with those of the one-class machine at the same $\nu$.
# 2. The objective $R+\frac1{\nu m}\sum_i\xi_i$, with distances and not their squares in the constraint, is convex as
#    well. What do its multipliers sum to?

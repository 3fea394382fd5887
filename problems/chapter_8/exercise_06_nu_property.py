# %% [markdown]
# # Exercises 8.6 and 8.7: what ν counts
#
# **You will learn**
#
# - a proof of the ν-property by slopes, which can be drawn,
# - why it bounds outliers from one side and support vectors from the other,
# - how both fractions close in on $\nu$ as the sample grows, and when they do not.
#
# Source: Schölkopf and Smola, *Learning with Kernels* (2001), problems 8.6 and 8.7, proposition 8.3.
#
# ## The claim
#
# For a solution with $\rho\ne0$: (i) $\nu$ is at least the fraction of outliers, (ii) at most the fraction of support
# vectors, and (iii) for distributions without discrete parts and analytic, non-constant kernels both fractions tend
# to $\nu$.
#
# ## Proof of (i) and (ii), by multipliers
#
# The multipliers sum to one and none exceeds $\frac1{\nu m}$. An outlier has $\xi_i>0$, hence $\beta_i=0$ and
# $\alpha_i=\frac1{\nu m}$. There are at most $\nu m$ of them, or the sum would exceed one. All terms of the sum are
# support vectors, each at most $\frac1{\nu m}$, so at least $\nu m$ are needed. $\square$
#
# (If $\rho=0$ the multipliers need not sum to one in the $\nu$-machine of chapter 7; here the sum is an equation, and
# the proof goes through.)
#
# ## The same proof, drawn
#
# Keep $w$ and move the plane. With the scores $s_i=\langle w,x_i\rangle$ the objective in $\rho$ is, up to a
# constant,
#
# $$
# h(\rho)=\frac1{\nu m}\sum_i(\rho-s_i)_+-\rho ,
# $$
#
# convex and piecewise linear. Its slope is $\frac1{\nu m}\#\{i:s_i<\rho\}-1$ to the left of $\rho$ and
# $\frac1{\nu m}\#\{i:s_i\le\rho\}-1$ to the right. At the minimum the left slope is not positive and the right slope
# not negative:
#
# $$
# \#\{i:s_i<\rho\}\ \le\ \nu m\ \le\ \#\{i:s_i\le\rho\} .
# $$
#
# On the left are the outliers. On the right are the points outside or on the plane; that even the support vectors
# among them reach $\nu m$ is what the multipliers add. In words: **the offset is the $\nu$-quantile of the scores.**

# %%
import matplotlib.pyplot as plt
import numpy as np

import convexnovelty as cn
from convexnovelty.algorithms import smo

rng = np.random.default_rng(4)
X = rng.normal([2.0, 1.5], [0.8, 0.6], (40, 2))
m, nu = 40, 0.28
solution = cn.one_class_svm(cn.LinearFeatures(X), nu).solve()
scores, rho = X @ solution.region.normal, solution.offset.used
outside, beyond = np.sum(scores < rho - 1e-8), np.sum(scores <= rho + 1e-8)
support = np.sum(solution.values["alpha"] > 1e-8)
print(f"outside {outside} <= nu m = {nu * m:.1f} <= support vectors {support} <= outside or on the plane {beyond}")
CLAIMS = [
    cn.Claim(
        "left slope: outliers are at most nu m",
        float(outside),
        nu * m,
        "<=",
        tolerance=0.0,
        source="problems 8.6 and 8.7 (i)",
        because="a count",
    ),
    cn.Claim(
        "multipliers: support vectors are at least nu m",
        float(support),
        nu * m,
        ">=",
        tolerance=0.0,
        source="problem 8.6 (ii)",
        because="a count",
    ),
    cn.Claim(
        "right slope: points outside or on the plane are at least nu m",
        float(beyond),
        nu * m,
        ">=",
        tolerance=0.0,
        source="problem 8.7 (ii)",
        because="a count",
    ),
    cn.Claim(
        "support vectors lie outside or on the plane",
        float(scores[solution.values["alpha"] > 1e-8].max()),
        rho,
        "<=",
        tolerance=1e-7,
        source="complementary slackness",
        because="the solver's accuracy",
    ),
]

# %% [markdown]
# ## Everywhere
#
# Two thousand random problems, with kernels, repeated points, and any $\nu$: no exception to either side.

# %%
worst = {"outliers": -np.inf, "support": np.inf}
for _ in range(2000):
    size = int(rng.integers(2, 12))
    Z = rng.integers(-2, 5, (size, 2)).astype(float)  # whole numbers: ties and repeated points are common
    gram = np.exp(-((Z[:, None] - Z[None]) ** 2).sum(axis=2) / 4) if rng.random() < 0.5 else Z @ Z.T
    share = rng.uniform(0.05, 1)
    share = max(share, 1 / size) if rng.random() < 0.5 else share
    solved = smo.smo(gram, upper=1 / (share * size))
    values = gram @ solved.multipliers - solved.offset.lower
    tie = 1e-9 * max(1.0, np.abs(gram).max())
    worst["outliers"] = max(worst["outliers"], np.mean(values < -tie) - share)
    worst["support"] = min(worst["support"], np.mean(solved.multipliers > 1e-12) - share)
print(worst)
CLAIMS += [
    cn.Claim(
        "in 2000 small problems with ties no fraction of outliers exceeds nu",
        float(worst["outliers"]),
        0.0,
        "<=",
        tolerance=1e-12,
        kind="simulation",
        source="proposition 8.3 (i)",
        because="rounding of a fraction",
    ),
    cn.Claim(
        "and no fraction of support vectors falls below it",
        float(worst["support"]),
        0.0,
        ">=",
        tolerance=1e-12,
        kind="simulation",
        source="proposition 8.3 (ii)",
        because="rounding of a fraction",
    ),
]

# %% [markdown]
# ## Proof of (iii), in words
#
# The two fractions differ by the share of points that lie *on* the plane. For a fixed function
# $\langle w,\Phi(\cdot)\rangle$, analytic and not constant, and a distribution without discrete parts (we need one
# with a density, so that zero sets of analytic functions have probability zero) a point lies on a given plane with
# probability zero. The function depends on the sample, but functions of bounded norm have finite covering numbers, so
# the share of points within any small band around any of the planes tends uniformly to its probability; letting the
# band shrink, the share on the plane tends to zero.
#
# For the linear kernel in $\mathbb R^p$ it is simpler: in general position at most $p$ points lie on a plane, so the
# difference is at most $p/m$. $\square$

# %%
sizes = [10, 20, 40, 80, 160, 320, 640]
table = []
for size in sizes:
    Z = rng.normal([2.0, 1.5], [0.8, 0.6], (size, 2))
    for name, gram in (("linear", Z @ Z.T), ("gaussian", np.exp(-((Z[:, None] - Z[None]) ** 2).sum(axis=2)))):
        solved = smo.smo(gram, upper=1 / (nu * size))
        values = gram @ solved.multipliers - solved.offset.lower
        table.append((name, size, np.mean(values < -1e-9), np.mean(solved.multipliers > 1e-12 / size)))
linear = [row for row in table if row[0] == "linear"]
gaussian = [row for row in table if row[0] == "gaussian"]
CLAIMS += [
    cn.Claim(
        "linear kernel in the plane: the fractions differ by at most 2/m",
        float(max((row[3] - row[2]) * row[1] for row in linear)),
        2.0,
        "<=",
        tolerance=1e-9,
        kind="simulation",
        source="proposition 8.3 (iii), points in general position",
        because="a count",
    ),
    cn.Claim(
        "Gaussian kernel: at 640 points they are within 3 % of each other",
        float(gaussian[-1][3] - gaussian[-1][2]),
        0.03,
        "<=",
        tolerance=0.0,
        kind="simulation",
        source="proposition 8.3 (iii)",
        because="a count with a fixed seed",
    ),
]

# %%
fig, axs = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
grid = np.linspace(scores.min() - 0.1, np.sort(scores)[25], 500)
height = np.maximum(grid[:, None] - scores[None], 0).sum(axis=1) / (nu * m) - grid
axs[0].plot(grid, height, color="#0072B2", lw=1.8)
axs[0].plot(scores[scores < grid[-1]], np.full(np.sum(scores < grid[-1]), height.min() - 0.02), "k|", ms=9)
axs[0].axvline(rho, color="#D55E00", lw=1.2)
axs[0].annotate(
    f" slope {outside / (nu * m) - 1:.2f} | {beyond / (nu * m) - 1:+.2f}",
    (rho, height.max() * 0.6 + height.min() * 0.4),
)
axs[0].set(
    xlabel="offset ρ (strokes: scores)", ylabel="objective", title="The slope changes its sign at the ν-quantile"
)
axs[0].title.set_fontsize("medium")
for rows, shade, name in ((linear, "#0072B2", "linear"), (gaussian, "#D55E00", "Gaussian")):
    axs[1].semilogx(sizes, [r[3] for r in rows], "^-", color=shade, label=f"support vectors, {name}")
    axs[1].semilogx(sizes, [r[2] for r in rows], "v--", color=shade, label=f"outliers, {name}")
axs[1].axhline(nu, color="k", lw=0.8)
axs[1].set(xlabel="points", ylabel="fraction")
axs[1].legend(fontsize="small")

# %% [markdown]
# ## Two questions to try
#
# 1. Draw the sample from ten fixed points only. Which half of (iii) fails, and towards which number does each
#    fraction go?
# 2. Make the Gaussian kernel narrower as $m$ grows, so that nearly every point is a support vector. Which assumption
#    of (iii) is broken?

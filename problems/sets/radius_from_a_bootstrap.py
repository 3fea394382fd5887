# %% [markdown]
# # How large a radius?
#
# **You will learn**
#
# - what a radius has to do: the set must hold the true moments with a stated probability,
# - how to get it from theory for the mean, and from a bootstrap for anything,
# - how to test the whole chain, from a sample to the promise on new points.
#
# Source: Lanckriet, El Ghaoui and Jordan (2003), section 2 (their radii are left to tuning); Efron (1979) for the
# bootstrap; Delage and Ye (2010) for sets that hold the moments with a probability.
#
# ## What is asked
#
# The machine promises $1-c$ for all moments of its set. If the set holds the true ones with probability $1-\beta$
# over the sample, then
#
# $$
# \mathbb P\Bigl\{\text{the promise holds for the true distribution}\Bigr\}\ \ge\ 1-\beta .
# $$
#
# A radius is therefore a quantile. For the mean's ellipsoid it is the $(1-\beta)$-quantile of
# $\sqrt{(\hat m-m)^\top\Sigma^{-1}(\hat m-m)}$, which by the central limit theorem is about
#
# $$
# \nu=\sqrt{\chi^2_{p,\,1-\beta}/n} .
# $$
#
# For the covariance's ball it is a quantile of $\lVert\hat\Sigma-\Sigma\rVert_F$, which has no such table: it depends
# on fourth moments. The bootstrap imitates it: draw samples from the sample, and let $\hat m$ and $\hat\Sigma$ play
# the part of the truth.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import chi2

import convexnovelty as cn
from convexnovelty.uncertainty import FrobeniusBall, MeanEllipsoid

rng = np.random.default_rng(17)
n, p, beta, confidence, kappa = 200, 2, 0.1, 0.75, np.sqrt(3)
truth = cn.Moments(mean=[5.0, 4.0], covariance=[[1.0, 0.4], [0.4, 0.6]])
root = np.linalg.cholesky(truth.covariance)
CLAIMS = []


def draw(size):
    """Heavy-tailed points with the true moments: Student's law with eight degrees of freedom."""
    raw = rng.standard_t(8, size=(size, p)) * np.sqrt(6 / 8)
    return truth.mean + raw @ root.T


def moments_of(points):
    """Mean and covariance along the second last axis, divided by n."""
    mean = points.mean(axis=-2)
    centred = points - mean[..., None, :]
    return mean, np.swapaxes(centred, -1, -2) @ centred / points.shape[-2]


def distances(mean, covariance, other_mean, other_covariance):
    """Of the mean in the metric of the first covariance, and of the covariances in the Frobenius norm."""
    shift = other_mean - mean
    first = np.sqrt(np.einsum("...i,ij,...j->...", shift, np.linalg.inv(covariance), shift))
    return first, np.linalg.norm(other_covariance - covariance, axis=(-1, -2))


def radii(sample, draws=300):
    """Bootstrap quantiles of both distances, each at half of the error."""
    mean, covariance = moments_of(sample)
    again = sample[rng.integers(0, n, size=(draws, n))]
    first, second = distances(mean, covariance, *moments_of(again))
    return float(np.quantile(first, 1 - beta / 2)), float(np.quantile(second, 1 - beta / 2))


sample = draw(n)
nu, rho = radii(sample, draws=4000)
theory = float(np.sqrt(chi2.ppf(1 - beta / 2, p) / n))
print(f"mean: bootstrap {nu:.3f}, central limit theorem {theory:.3f}; covariance: bootstrap {rho:.3f}")
CLAIMS.append(
    cn.Claim(
        "for the mean the bootstrap says what the central limit theorem says",
        nu,
        theory,
        tolerance=0.05,
        kind="theory",
        source="the central limit theorem",
        because="two hundred points, and a quantile of four thousand draws",
    )
)

# %% [markdown]
# ## Half of the error for each set
#
# Two sets that each fail with probability $\beta/2$ fail together with at most $\beta$. The product
# `MeanEllipsoid(nu) * FrobeniusBall(rho)` is then a confidence set, and the machine on it keeps its promise.

# %%
moments = cn.Moments.estimate(sample)
solutions = {
    "moments taken as exact": cn.single_class_mpm(moments, confidence).solve(),
    "calibrated set": cn.single_class_mpm(moments, confidence, MeanEllipsoid(nu) * FrobeniusBall(rho)).solve(),
}


def true_bound(a):
    """The largest probability outside over all distributions with the true moments."""
    t = (a @ truth.mean - 1) / np.sqrt(a @ truth.covariance @ a)
    return 1 / (1 + t**2) if t > 0 else 1.0


for name, solution in solutions.items():
    print(
        f"{name:24} promises {solution.guarantee.bound:.3f}; for the true moments it is {true_bound(solution.region.normal):.3f}"
    )

# %% [markdown]
# ## The whole chain, many times
#
# Three hundred samples. Each gets its own radii from its own bootstrap and its own machine (by the closed form, which
# the page on the chance constraint derives). The bootstrap is a little too optimistic for heavy tails, so that the
# set holds the truth somewhat less often than $1-\beta$; the promise has room to spare.

# %%
repeats = 300
inside, kept, plain, used = 0, 0, 0, []
for _ in range(repeats):
    data = draw(n)
    m, S = moments_of(data)
    nu_k, rho_k = radii(data, draws=200)
    used.append((nu_k, rho_k))
    # Whether the set holds the truth: the ellipsoid is in the metric of the true covariance.
    first, second = distances(truth.mean, truth.covariance, m, S)
    inside += first <= nu_k and second <= rho_k
    for radius, extra, name in ((0.0, 0.0, "plain"), (nu_k, rho_k, "robust")):
        w = np.linalg.solve(S + extra * np.eye(p), m)
        zeta = np.sqrt(m @ w)
        holds = kappa + radius >= zeta or true_bound(w / (zeta**2 - (kappa + radius) * zeta)) <= 1 - confidence + 1e-12
        if name == "plain":
            plain += holds
        else:
            kept += holds
inside, kept, plain = inside / repeats, kept / repeats, plain / repeats
print(
    f"the set holds the true moments in {inside:.1%} of the samples; promises kept {kept:.1%}, without a set {plain:.1%}"
)
CLAIMS += [
    cn.Claim(
        "the calibrated set holds the true moments in about 1 - beta of the samples",
        inside,
        1 - beta,
        tolerance=0.08,
        kind="simulation",
        source="the bootstrap, with beta/2 for each part",
        because="two standard errors of 300 samples, and the bootstrap's own error at two hundred points",
    ),
    cn.Claim(
        "the promise is kept at least as often as the set holds the truth",
        kept,
        inside,
        ">=",
        tolerance=0.0,
        kind="theory",
        source="the set is worst-case, the truth is not",
        because="a count",
    ),
    cn.Claim(
        "with the calibrated set it is kept in more than 1 - beta of the samples",
        kept,
        1 - beta,
        ">=",
        tolerance=0.0,
        kind="simulation",
        source="the argument above",
        because="a count with a fixed seed",
    ),
    cn.Claim(
        "with exact moments it is kept in less than two thirds",
        plain,
        2 / 3,
        "<=",
        tolerance=0.0,
        kind="simulation",
        source="moments of two hundred points",
        because="a count with a fixed seed",
    ),
]

# %%
fig, axs = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
first, second = distances(*moments_of(sample), *moments_of(sample[rng.integers(0, n, size=(3000, n))]))
axs[0].scatter(first, second, s=4, color="#56B4E9", alpha=0.5, rasterized=True)
axs[0].axvline(nu, color="#D55E00", lw=1.4)
axs[0].axhline(rho, color="#D55E00", lw=1.4)
actual = distances(truth.mean, truth.covariance, *moments_of(sample))
axs[0].plot(*actual, "*", color="k", ms=12, label="the true moments")
axs[0].set(
    xlabel="distance of the mean", ylabel="distance of the covariance", title="Bootstrap draws, and the two radii"
)
axs[0].title.set_fontsize("medium")
axs[0].legend(fontsize="small")
bars = axs[1].bar(
    ["set holds\nthe truth", "promise kept,\ncalibrated", "promise kept,\nexact moments"],
    [inside, kept, plain],
    color=["#0072B2", "#009E73", "#D55E00"],
)
axs[1].bar_label(bars, fmt="{:.2f}")
axs[1].axhline(1 - beta, color="k", lw=1)
axs[1].set(ylabel="share of 300 samples", ylim=(0, 1.1))

# %% [markdown]
# ## Two questions to try
#
# 1. The promise is kept far more often than the set holds the truth. Which worst case of the chain is the generous
#    one, and how would you spend less?
# 2. Replace Student's eight degrees of freedom by three. What becomes of the covariance's radius, and why is the
#    bootstrap too optimistic then?

# %% [markdown]
# # Errata on unlabelled data
#
# **You will learn**
#
# - why a statement with two confidence bounds needs half of the error for each,
# - how swapped sample sizes show when one sample is small and the other huge,
# - two slips inside proofs, where the conclusions stay right.
#
# Source: Scott and Blanchard (2009), theorems 2, 3, 5 and 6.
#
# ## 1. Theorem 5: one $\delta$ for two samples
#
# The bound $\hat\pi^-$ uses $P_X(f=1)\ge\hat P_X-\varepsilon_n$ and $R_0\le\hat R_0+\varepsilon_m$, *at once*. If
# each holds with probability $1-\delta$, both hold with probability
#
# $$
# (1-\delta)^2\ <\ 1-\delta\quad\text{for independent samples, and at least } 1-2\delta\text{ in any case.}
# $$
#
# With $\delta/2$ each, both hold with probability $(1-\delta/2)^2\ge1-\delta$. Below, exact one-sided limits for a
# single classifier, at probabilities where they are used up; everything is a finite sum.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import beta, binom

import convexnovelty as cn
from convexnovelty.deviations import DKW, GrowingClasses

CLAIMS = []
delta, m, n = 0.1, 400, 300


def coverage(size, probability, error):
    """Probability that the lower and that the upper exact limit at this error holds."""
    counts = np.arange(size + 1)
    law = binom.pmf(counts, size, probability)
    lower = np.where(counts == 0, 0.0, beta.ppf(error, counts, size - counts + 1))
    upper = np.where(counts == size, 1.0, beta.ppf(1 - error, counts + 1, size - counts))
    return float(law[lower <= probability].sum()), float(law[upper >= probability].sum())


def tightest(size, which, near, error):
    """The probability near a number at which the limit's error is used up the most."""
    grid = np.linspace(near - 0.02, near + 0.02, 801)
    found = np.array([coverage(size, p, error)[which] for p in grid])
    return float(grid[found.argmin()]), float(found.min())


rows = {}
for name, error in (("delta for each", delta), ("delta/2 for each", delta / 2)):
    (_, one), (_, two) = tightest(n, 0, 0.4, error), tightest(m, 1, 0.1, error)
    rows[name] = one * two
    print(f"{name:17} each holds with {one:.4f} and {two:.4f}, both with {one * two:.4f}; promised {1 - delta}")
CLAIMS += [
    cn.Claim(
        "with delta for each, both bounds hold with less than 1 - delta",
        rows["delta for each"],
        1 - delta,
        "<=",
        tolerance=0.0,
        kind="closed form",
        source="theorem 5, as printed",
        because="a finite sum, far from equality",
    ),
    cn.Claim(
        "with delta/2 for each they hold with 1 - delta",
        rows["delta/2 for each"],
        1 - delta,
        ">=",
        tolerance=0.0,
        kind="closed form",
        source="theorem 5, corrected",
        because="a finite sum",
    ),
]

# %% [markdown]
# ## 2. Theorem 6: shares that add up to more than one
#
# The $k$-th of growing classes gets the error $\delta k^{-2}$. But $\sum_kk^{-2}=\pi^2/6$, so that the total is
# $1.64\,\delta$. Shares of $\frac6{\pi^2k^2}$ add up to one, and this is what the library uses.

# %%
total = float(np.sum(1 / np.arange(1.0, 1e6) ** 2))
shares = [share for _, share in GrowingClasses([DKW()] * 50).allotments(50)]
CLAIMS += [
    cn.Claim(
        "the printed shares add up to pi^2/6",
        total,
        np.pi**2 / 6,
        tolerance=2e-6,
        kind="closed form",
        source="theorem 6, as printed",
        because="the rest of the series",
    ),
    cn.Claim(
        "the library's shares of fifty classes add up to at most one",
        float(sum(shares)),
        1.0,
        "<=",
        tolerance=0.0,
        kind="closed form",
        source="theorem 6, corrected",
        because="a strict inequality",
    ),
]

# %% [markdown]
# ## 3. Theorem 2: the wrong sample's size
#
# The rule takes the classifier with the smallest $\hat R_X$ among those with $\hat R_0\le\alpha+\tau$. $\hat R_0$
# comes from the $m$ nominal points, so its deviation is $\varepsilon_m$. Printed are $\tau=c\,\varepsilon_n$ and
# $R_0(\hat f)-\alpha\le c'\varepsilon_n$, with the size of the *unlabelled* sample. Let there be few nominal points
# and ever more unlabelled ones: $\varepsilon_n\to0$, and the claim would be that the rate of false alarms is exactly
# $\alpha$ in the end. It is not: the threshold is a quantile of $m$ points.

# %%
rng = np.random.default_rng(2)
alpha, nominal_size, repeats = 0.1, 60, 400
excess, sizes = {}, [10**2, 10**3, 10**4]
for size in sizes:
    found = []
    for _ in range(repeats):
        nominal = np.sort(rng.random(nominal_size))  # scores, uniform for nominal points: R_0 of "score > t" is 1 - t
        # Whatever the unlabelled points are, the rule takes the lowest threshold that is allowed: it catches most of them.
        tau = 0.2 * np.sqrt(np.log(size) / size)
        allowed = int(np.floor((alpha + tau) * nominal_size))
        threshold = nominal[nominal_size - allowed - 1]
        found.append(1 - threshold - alpha)
    excess[size] = np.array(found)
spread = {size: float(np.quantile(np.abs(values), 0.9)) for size, values in excess.items()}
rate = {size: float(np.sqrt(np.log(size) / size)) for size in sizes}
print("90 % quantile of the excess:", {size: round(value, 3) for size, value in spread.items()})
print("epsilon_n, up to a constant:", {size: round(value, 3) for size, value in rate.items()})
CLAIMS += [
    cn.Claim(
        "the excess rate does not fall with the unlabelled sample as epsilon_n does",
        spread[10**4] / spread[10**2],
        3 * rate[10**4] / rate[10**2],
        ">=",
        tolerance=0.0,
        kind="simulation",
        source="theorem 2, as printed",
        because="a factor of three is left for constants",
    ),
    cn.Claim(
        "its spread is that of a quantile of the nominal points",
        float(np.std(excess[10**4])),
        float(np.sqrt(alpha * (1 - alpha) / nominal_size)),
        tolerance=0.01,
        kind="closed form",
        source="theorem 2, corrected: epsilon_m",
        because="four hundred repetitions, and the order of 1/m",
    ),
]

# %% [markdown]
# ## 4. A sign in the proof of theorem 3
#
# With $\beta=\pi(1-p)/\tilde\pi$ the mixed novelties are $\tilde P_1=\beta P_1+(1-\beta)P_2$. The proof bounds
# $\tilde R_1-\tilde R_1^*$ from below by $\beta L_1+(1-\beta)R_2-(1-\beta)$, and prints $\beta L_1+(1-\beta)$ in the
# next line. The last two terms are at least $-(1-\beta)$, so the line must read
#
# $$
# \tilde L_1\ \ge\ \beta L_1-(1-\beta),
# $$
#
# from which the theorem follows as printed. On random finite distributions:

# %%


def best_miss(null, other, rate):
    """The smallest false-negative rate of a randomised test of this size: the lemma of Neyman and Pearson."""
    order = np.argsort(-other / null)
    used = np.cumsum(null[order])
    full = used <= rate
    caught = other[order][full].sum()
    rest = np.flatnonzero(~full)
    if rest.size:
        first = order[rest[0]]
        left = rate - (used[rest[0] - 1] if rest[0] else 0.0)
        caught += other[first] * left / null[first]
    return 1 - caught


margins = {"right": [], "printed": []}
for _ in range(2000):
    p0, p1, share, size = (
        rng.dirichlet(np.ones(5)),
        rng.dirichlet(0.4 * np.ones(5)),
        rng.uniform(0.05, 1),
        rng.uniform(0.05, 0.5),
    )
    p2, prior = np.full(5, 0.2), rng.uniform(0.05, 0.6)
    weight = prior * (1 - share) / (prior * (1 - share) + share)
    mixed = weight * p1 + (1 - weight) * p2
    test = rng.random(5)
    test *= min(1.0, size / (p0 @ test))  # any test of at most this size
    loss = (1 - test @ p1) - best_miss(p0, p1, size)
    mixed_loss = (1 - test @ mixed) - best_miss(p0, mixed, size)
    margins["right"].append(mixed_loss - (weight * loss - (1 - weight)))
    margins["printed"].append(mixed_loss - (weight * loss + (1 - weight)))
print(f"smallest margin: corrected {min(margins['right']):.3f}, printed {min(margins['printed']):.3f}")
CLAIMS += [
    cn.Claim(
        "corrected: the inequality holds in 2000 random problems",
        float(min(margins["right"])),
        0.0,
        ">=",
        tolerance=1e-12,
        kind="simulation",
        source="theorem 3, its proof corrected",
        because="rounding",
    ),
    cn.Claim(
        "as printed it fails in most of them",
        float(np.mean(np.array(margins["printed"]) < 0)),
        0.5,
        ">=",
        tolerance=0.0,
        kind="simulation",
        source="theorem 3, its proof as printed",
        because="a count with a fixed seed",
    ),
]

# %%
fig, axs = plt.subplots(1, 2, figsize=(10.2, 4.2), layout="constrained")
deltas = np.linspace(0.01, 0.3, 100)
axs[0].plot(deltas, (1 - deltas) ** 2, "--", color="#D55E00", lw=1.8, label="δ for each sample")
axs[0].plot(deltas, (1 - deltas / 2) ** 2, color="#0072B2", lw=1.8, label="δ/2 for each sample")
axs[0].plot(deltas, 1 - deltas, color="k", lw=0.8, label="promised: 1 − δ")
axs[0].set(xlabel="δ", ylabel="probability that both bounds hold")
axs[0].legend(fontsize="small")
axs[1].boxplot([excess[size] for size in sizes], tick_labels=[f"{size:,}" for size in sizes], showfliers=False)
axs[1].plot([1, 2, 3], [rate[size] for size in sizes], "s--", color="#D55E00", label="ε of the unlabelled sample")
axs[1].axhline(0, color="k", lw=0.8)
axs[1].set(xlabel="unlabelled points, with 60 nominal ones", ylabel="false alarms in excess of α")
axs[1].legend(fontsize="small")

# %% [markdown]
# ## Two questions to try
#
# 1. Can the printed bound of theorem 5 really be above the true share with a probability of more than $\delta$? Try
#    to build such a case, and say what stands in the way.
# 2. Repeat part 3 with 6000 nominal points and 60 unlabelled ones. Which of the theorem's other lines now shows the
#    unlabelled sample's size?

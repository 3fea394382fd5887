# %% [markdown]
# # How many novelties are there, at least?
#
# **You will learn**
#
# - that a share of novelties can be bounded from below without a single labelled novelty, but never from above,
# - how an ROC curve of known against unknown points turns into that bound,
# - what a confidence costs: the population bound, and the one with margins for two samples.
#
# Source: Scott and Blanchard, *Novelty detection: unlabeled data definitely help* (2009), section 6, theorems 4 and 5.
#
# ## In the population
#
# Unlabelled points come from $P_X=(1-\pi)P_0+\pi P_1$ with an unknown share $\pi$ of novelties. Take any set of
# points and call them novel. A nominal point is called novel with probability $R_0$, so
#
# $$
# P_X(\text{novel})\le(1-\pi)R_0+\pi\qquad\Longrightarrow\qquad\pi\ \ge\ \frac{P_X(\text{novel})-R_0}{1-R_0}.\qquad(\text{4})
# $$
#
# In the ROC plane of nominal against unlabelled points, the right-hand side is one minus the slope of the line from
# the point $(R_0,P_X)$ to the corner $(1,1)$. The best bound is at the corner itself:
# $\pi=1+\mathrm dR^*_{X,\alpha}/\mathrm d\alpha$ at $\alpha=1$.
#
# No bound from above is possible: $P_1$ may be $P_0$ in part, and those novelties look ordinary.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

import convexnovelty as cn
from convexnovelty.deviations import DKW, ExactBinomial
from convexnovelty.methods import novelty_proportion as proportion

rng = np.random.default_rng(7)
share, m, n = 0.3, 3000, 2000
nominal = rng.normal(0, 1, m)
unlabelled = np.where(rng.random(n) < share, rng.normal(2.5, 0.7, n), rng.normal(0, 1, n))
CLAIMS = []

thresholds = np.linspace(-3, 3.5, 400)
false, hits = norm.sf(thresholds), norm.sf(thresholds, 2.5, 0.7)
population = ((1 - share) * false + share * hits - false) / (1 - false)
print(f"largest population bound {population.max():.4f} of {share}")
CLAIMS.append(
    cn.Claim(
        "every threshold of the population bounds the share from below",
        float(population.max()),
        share,
        "<=",
        tolerance=1e-12,
        kind="closed form",
        source="theorem 4, inequality 4",
        because="rounding",
    )
)

# %% [markdown]
# The best test of finite distributions shows both halves of theorem 4. With $q$ the nominal and $p$ the unlabelled
# probabilities, the largest share that any novel distribution allows is $1-\min_jp_j/q_j$: take away as much of $q$
# as fits below $p$. The Neyman–Pearson program, pushed to the corner, finds the same number.

# %%
q = np.array([0.4, 0.3, 0.2, 0.1])
novel = np.array([0.0, 0.1, 0.2, 0.7])
p = (1 - share) * q + share * novel
decomposition = proportion.decomposition(q, p).solve()
slope = proportion.slope_at_one(q, p)
CLAIMS += [
    cn.Claim(
        "where some value is never novel, the share is identified: the linear program of the mixture",
        decomposition.objective,
        share,
        tolerance=1e-7,
        kind="formulation",
        source="the contamination model of section 1",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "and the slope of the ROC curve at its end says the same",
        slope.objective,
        share,
        tolerance=1e-9,
        kind="closed form",
        source="theorem 4, the derivative at one",
        because="rounding",
    ),
]

# %% [markdown]
# ## From samples, with confidence
#
# Let $\varepsilon_m,\varepsilon_n$ bound the differences between frequencies and probabilities, for all thresholds at
# once, each with probability $1-\delta/2$. Both hold with probability $1-\delta$, and then
#
# $$
# \hat\pi^-=\sup_t\frac{\hat P_X(s>t)-\varepsilon_n-\hat R_0(t)-\varepsilon_m}{1-\hat R_0(t)-\varepsilon_m}\ \le\ \pi .
# $$
#
# (The paper gives each bound the whole $\delta$; the errata say why half is needed.) For thresholds of one score,
# Dvoretzky, Kiefer, Wolfowitz and Massart give $\varepsilon=\sqrt{\ln(2/\delta)/(2n)}$.

# %%
confidence = 0.95
found = cn.novelty_proportion(nominal, unlabelled, confidence)
sharper = cn.novelty_proportion(nominal, unlabelled, confidence, ExactBinomial())
epsilon_m, epsilon_n = (np.sqrt(np.log(2 / (1 - confidence)) / (2 * size)) for size in (m, n))
levels = np.unique(np.r_[nominal, unlabelled])
above_0, above_x = ((1 - np.searchsorted(np.sort(z), levels, side="right") / z.size) for z in (nominal, unlabelled))
kept = above_0 + epsilon_m < 1
curve = (above_x - epsilon_n - above_0 - epsilon_m)[kept] / (1 - above_0 - epsilon_m)[kept]
print(f"lower bound {found.lower_bound:.4f} (DKW), {sharper.lower_bound:.4f} (exact binomial), true share {share}")
print(f"p-value of no novelties at all: {found.p_value:.1e}")
CLAIMS += [
    cn.Claim(
        "the bound is the largest over all thresholds",
        found.lower_bound,
        float(curve.max()),
        tolerance=1e-12,
        kind="closed form",
        source="theorem 5",
        because="rounding",
    ),
    cn.Claim(
        "a linear program over mixtures of thresholds finds no better classifier",
        proportion.mixtures(nominal[:300], unlabelled[:300], confidence, DKW()).solve().objective,
        cn.novelty_proportion(nominal[:300], unlabelled[:300], confidence).lower_bound,
        tolerance=1e-7,
        kind="formulation",
        source="theorem 5, by Charnes and Cooper",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "it is below the true share here",
        found.lower_bound,
        share,
        "<=",
        tolerance=0.0,
        kind="simulation",
        source="theorem 5",
        because="one draw, with confidence 0.95",
    ),
]

# %% [markdown]
# ## Does the confidence hold?
#
# Four hundred repetitions of the whole experiment: the bound may exceed the share in at most 5 % of them. It does so
# far less often, because the two margins are simultaneous over all thresholds and only one threshold is used.

# %%
repeats, exceeded, bounds = 400, 0, []
for _ in range(repeats):
    first = rng.normal(0, 1, 500)
    second = np.where(rng.random(500) < share, rng.normal(2.5, 0.7, 500), rng.normal(0, 1, 500))
    bounds.append(cn.novelty_proportion(first, second, confidence).lower_bound)
    exceeded += bounds[-1] > share
print(f"mean bound {np.mean(bounds):.3f}; above the true share in {exceeded} of {repeats}")
CLAIMS.append(
    cn.Claim(
        "the bound fails in at most a share delta of repetitions",
        exceeded / repeats,
        1 - confidence,
        "<=",
        tolerance=0.0,
        kind="simulation",
        source="theorem 5 with delta/2 for each sample",
        because="a count with a fixed seed",
    )
)

# %%
fig, axs = plt.subplots(1, 2, figsize=(9.8, 4.3), layout="constrained")
axs[0].plot(above_0, above_x, color="#0072B2", lw=1.8, label="unlabelled against nominal")
best = int(np.argmax(curve))
corner = (above_0[kept][best] + epsilon_m, above_x[kept][best] - epsilon_n)
axs[0].plot([corner[0], 1], [corner[1], 1], "--", color="#D55E00", label=f"slope 1 − {found.lower_bound:.3f}")
axs[0].plot(*corner, "o", color="#D55E00")
axs[0].set(xlabel="called novel, nominal", ylabel="called novel, unlabelled", xlim=(0, 1), ylim=(0, 1))
axs[0].legend(fontsize="small", loc="lower right")
axs[1].plot(levels[kept], curve, color="#0072B2", lw=1.4, label="bound with margins")
axs[1].plot(thresholds, population, "--", color="#009E73", lw=1.4, label="population")
axs[1].axhline(share, color="k", lw=1, label="true share")
axs[1].set(xlabel="threshold", ylabel="lower bound on π", ylim=(-0.2, 0.4), xlim=(-3, 3.5))
axs[1].legend(fontsize="small")

# %% [markdown]
# ## Two questions to try
#
# 1. Let novelties come from a normal distribution with mean 1. The population bound stays far below 0.3: why is this
#    no fault of the method?
# 2. How many points of each sample are needed for a bound above 0.25? Find the number by doubling, and compare with
#    $\varepsilon$.

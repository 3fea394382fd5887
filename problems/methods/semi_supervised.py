# %% [markdown]
# # Unlabelled points help
#
# **You will learn**
#
# - why testing nominal against *unlabelled* points is the best test against novelties, whatever they are,
# - what the usual one-class detector assumes without saying so,
# - how held-out points turn a score into a rate of false alarms that is guaranteed.
#
# Source: Scott and Blanchard, *Novelty detection: unlabeled data definitely help* (2009), sections 3 to 5.
#
# ## The reduction
#
# Unlabelled points have the density $h_X=(1-\pi)h_0+\pi h_1$. The best test of nominal against novel points
# thresholds the likelihood ratio $h_1/h_0$ (Neyman and Pearson), and
#
# $$
# \frac{h_X(x)}{h_0(x)}=(1-\pi)+\pi\,\frac{h_1(x)}{h_0(x)}
# $$
#
# grows with it. So both ratios order points alike, and the null hypothesis is the same: **the best test against
# unlabelled points is the best test against novel ones, at the same rate of false alarms.** Neither $\pi$ nor $h_1$
# is known.

# %%
import matplotlib.pyplot as plt
import numpy as np

import convexnovelty as cn
from convexnovelty import plots
from convexnovelty.methods import semi_supervised

rng = np.random.default_rng(3)
q = rng.dirichlet(np.ones(8))
h1 = rng.dirichlet(0.5 * np.ones(8))
share, rate = 0.2, 0.15
p = (1 - share) * q + share * h1
CLAIMS = []

against_unlabelled = semi_supervised.neyman_pearson(q, p, rate).solve()
lemma = semi_supervised.likelihood_ratio(q, p, rate)
against_novel = semi_supervised.against_novelties(q, h1, rate).solve()
# R_X = (1 - pi)(1 - R_0) + pi R_1, where the optimal tests use the whole rate.
through_novel = (1 - share) * (1 - rate) + share * against_novel.objective
CLAIMS += [
    cn.Claim(
        "the linear program of the test has the value of the likelihood-ratio test",
        against_unlabelled.objective,
        lemma.objective,
        tolerance=1e-7,
        kind="closed form",
        source="section 3, the lemma of Neyman and Pearson",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "the best test against novelties misses no more unlabelled points than the best test against those",
        through_novel,
        against_unlabelled.objective,
        tolerance=1e-7,
        kind="formulation",
        source="theorem 1",
        because="two solves",
    ),
]

# %% [markdown]
# ## What a one-class detector assumes
#
# Estimating a level set $\{h_0\ge\lambda\}$ is thresholding $1/h_0$, the likelihood ratio of the *uniform*
# distribution against the nominal one. It is optimal if novelties are uniform, and can be as bad as guessing when
# they are not. Here novelties lie inside a ring of ordinary points and in one dense place on it, where no level set
# would look.

# %%


def ring(size):
    angle = rng.uniform(0, 2 * np.pi, size)
    return (2 + 0.25 * rng.normal(size=size))[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def novelties(size):
    inside = rng.normal(size=(size, 2)) * 0.35
    clump = np.array([1.45, 1.45]) + rng.normal(size=(size, 2)) * 0.15
    return np.where(rng.random(size)[:, None] < 0.4, inside, clump)


nominal, pi = ring(400), 0.25
hidden = rng.random(400) < pi
unlabelled = np.where(hidden[:, None], novelties(400), ring(400))
detectors = {
    "with unlabelled points": cn.semi_supervised(nominal, unlabelled, 0.1),
    "one-class: low density": cn.semi_supervised(nominal, unlabelled, 0.1, score="low_density"),
}
ordinary, strange = ring(4000), novelties(4000)
alarms = {name: float(d.novel(ordinary).mean()) for name, d in detectors.items()}
hits = {name: float(d.novel(strange).mean()) for name, d in detectors.items()}
for name in detectors:
    print(f"{name:24} false alarms {alarms[name]:.3f}, novelties found {hits[name]:.3f}")
print(detectors["with unlabelled points"].guarantee)
CLAIMS += [
    cn.Claim(
        "with unlabelled points more novelties are found at the same rate",
        hits["with unlabelled points"],
        hits["one-class: low density"] + 0.2,
        ">=",
        tolerance=0.0,
        kind="simulation",
        source="section 3",
        because="a count over 4000 fresh points with a fixed seed",
    ),
    cn.Claim(
        "the rate of false alarms on fresh points is near its promise",
        alarms["with unlabelled points"],
        0.1 + 0.06,
        "<=",
        tolerance=0.0,
        kind="simulation",
        source="order statistics of held-out points",
        because="0.1 holds on average over 200 held-out points; their number allows three deviations of 0.021",
    ),
]

# %% [markdown]
# ## A guaranteed rate
#
# The score is learned on one half of the nominal points; the other half, of size $k$, sets the threshold at its
# $j$-th largest score. For the next nominal point all ranks among $k+1$ are equally likely, so it exceeds the
# threshold with probability at most $j/(k+1)$, *exactly and for every distribution*. With a confidence it holds for
# the threshold itself, by a binomial law.
#
# A repetition with a cheap score shows the equality: the mean rate over many draws of held-out points is $j/(k+1)$.

# %%
k, j, repeats = 99, 10, 20000
held_out = np.sort(rng.random((repeats, k)), axis=1)  # the law of scores does not matter, so take the uniform one
rates = 1 - held_out[:, k - j]
print(
    f"mean rate {rates.mean():.4f}, promised {j / (k + 1):.4f}; 95 % of all thresholds are below {np.quantile(rates, 0.95):.3f}"
)
CLAIMS.append(
    cn.Claim(
        "the j-th largest of k held-out scores is exceeded with probability j/(k + 1)",
        float(rates.mean()),
        j / (k + 1),
        tolerance=1e-3,
        kind="simulation",
        source="exchangeability",
        because="four standard errors of 20000 draws",
    )
)

# %% [markdown]
# ## If there are no novelties
#
# Then both samples are alike, and the reduction learns from noise. The hybrid of section 5 sprinkles a share $p_n$ of
# uniform points among the unlabelled ones: if there are novelties, these points hardly matter, and if there are none,
# they make the test the one-class detector.

# %%
nothing = semi_supervised.hybrid(q, q, rate, 0.05).solve()
inductive = semi_supervised.inductive(q, rate)
CLAIMS.append(
    cn.Claim(
        "without novelties the hybrid is the one-class test",
        nothing.objective,
        semi_supervised.hybrid_ratio(q, q, rate, 0.05).objective,
        tolerance=1e-7,
        kind="closed form",
        source="section 5",
        because="the solver's accuracy",
    )
)

# %%
fig, axs = plt.subplots(1, 2, figsize=(9.8, 4.6), layout="constrained")
plots.decision_regions(
    {name: d.region for name, d in detectors.items()},
    nominal=nominal,
    novel=unlabelled[hidden],
    box=(-3.2, 3.2, -4.6, 3.2),
    resolution=90,
    ax=axs[0],
)
scores = {name: (-d.scores(ordinary[:800]), -d.scores(strange[:800])) for name, d in detectors.items()}
plots.roc(
    {name: pair[0] for name, pair in scores.items()},
    {name: pair[1] for name, pair in scores.items()},
    threshold=None,
    guarantee=0.1,
    ax=axs[1],
)

# %% [markdown]
# ## Two questions to try
#
# 1. Make novelties uniform on the square. How far apart are the two ROC curves now, and why?
# 2. Theorem 1 divides by $\pi$. Let $\pi$ fall to 0.02 with the same sample sizes: what does the score learn, and
#    what does the guarantee still say?

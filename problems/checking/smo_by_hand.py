# %% [markdown]
# # Two multipliers at a time
#
# **You will learn**
#
# - why the smallest possible step moves two multipliers, and that it has a formula,
# - how the gap of the optimality conditions says when to stop, and bounds what is left to gain,
# - what the choice of the pair is worth: the chapter's, a random one, and the second-order one.
#
# Source: Schölkopf and Smola, *Learning with Kernels* (2001), section 8.4, equations 8.22 to 8.28; Fan, Chen and Lin
# (2005).
#
# ## One step
#
# The dual $\min\tfrac12\alpha^\top K\alpha$ keeps $\sum_i\alpha_i=1$, so a single $\alpha_i$ cannot move. Move
# $\alpha_i$ by $d$ and $\alpha_j$ by $-d$. With the scores $f=K\alpha$ and $\chi=K_{ii}+K_{jj}-2K_{ij}$ the objective
# changes by
#
# $$
# (f_i-f_j)\,d+\tfrac12\chi d^2,\qquad\text{so}\qquad d=\frac{f_j-f_i}{\chi},\qquad(\text{8.26})
# $$
#
# clipped so that both stay in $[0,\frac1{\nu m}]$. Afterwards $f$ changes by $d\,(K_{\cdot i}-K_{\cdot j})$: one step
# costs $2m$ operations.
#
# ## When to stop
#
# At the optimum every multiplier that can grow has a score of at least $\rho$, and every one that can shrink a score
# of at most $\rho$. So the gap
#
# $$
# g=\max_{\alpha_j>0}f_j-\min_{\alpha_i<1/(\nu m)}f_i
# $$
#
# is at most zero. And it is a certificate. The objective is convex with gradient $f$, so for the optimal $\alpha^*$
# $\ F(\alpha)-F(\alpha^*)\le\langle f,\alpha-\alpha^*\rangle\le g$, because both sum to one: what is left to gain is
# at most the gap.

# %%
import matplotlib.pyplot as plt
import numpy as np

import convexnovelty as cn
from convexnovelty import datasets, plots
from convexnovelty.algorithms import smo

X = datasets.banana(n=80).nominal
m, nu = 80, 0.2
K = cn.kernels.gaussian(width=1.0)(X, X)
upper = 1 / (nu * m)
optimum = smo.smo(K, upper=upper)
rng = np.random.default_rng(0)
CLAIMS = []


def start():
    """The chapter's start: a random share nu of the multipliers at their bound."""
    alpha = np.zeros(m)
    alpha[rng.permutation(m)[: round(nu * m)]] = upper
    return alpha


def extreme(f, up, down):
    """The pair that violates the conditions most."""
    return np.flatnonzero(up)[f[up].argmin()], np.flatnonzero(down)[f[down].argmax()]


def second_order(f, up, down):
    """The lowest score that can grow, with the partner that promises the largest decrease."""
    i = np.flatnonzero(up)[f[up].argmin()]
    partners = np.flatnonzero(down & (f > f[i]))
    chi = np.maximum(K[i, i] + K[partners, partners] - 2 * K[i, partners], 1e-12)
    return i, partners[((f[partners] - f[i]) ** 2 / chi).argmax()]


def random_pair(f, up, down):
    """Any pair that violates the conditions."""
    i = rng.choice(np.flatnonzero(up & (f < f[down].max() - 1e-12)))
    return i, rng.choice(np.flatnonzero(down & (f > f[i])))


def minimise(choose, tolerance=1e-6, limit=4000):
    """Pair steps until the gap is small: multipliers, and the gap and the objective after each step."""
    alpha = start()
    f = K @ alpha
    gaps, objectives, steps = [], [], []
    for _ in range(limit):
        up, down = alpha < upper - 1e-15, alpha > 1e-15
        gaps.append(max(f[down].max() - f[up].min(), 0.0))
        objectives.append(alpha @ f / 2)
        if gaps[-1] <= tolerance:
            break
        i, j = choose(f, up, down)
        chi = K[i, i] + K[j, j] - 2 * K[i, j]
        d = min((f[j] - f[i]) / chi, upper - alpha[i], alpha[j])
        steps.append((f[i] - f[j]) * d + chi * d**2 / 2)
        alpha[i] += d
        alpha[j] -= d
        f += d * (K[:, i] - K[:, j])
    return alpha, np.array(gaps), np.array(objectives), np.array(steps)


runs = {"most violating pair": extreme, "second-order choice": second_order, "random pair": random_pair}
traces = {}
for name, choose in runs.items():
    alpha, gaps, objectives, steps = traces[name] = minimise(choose)
    print(f"{name:20} {len(gaps) - 1:5} steps, objective {objectives[-1]:.10f}")
    CLAIMS += [
        cn.Claim(
            f"{name}: ends at the library's optimum",
            float(objectives[-1]),
            optimum.objective,
            tolerance=1e-6,
            kind="algorithm",
            source="section 8.4",
            because="the gap at which it stops",
        ),
        cn.Claim(
            f"{name}: what is left to gain is never more than the gap",
            float((objectives - optimum.objective - gaps).max()),
            0.0,
            "<=",
            tolerance=1e-12,
            kind="closed form",
            source="convexity, as above",
            because="rounding",
        ),
        cn.Claim(
            f"{name}: each step lowers the objective by what the formula says",
            float(np.abs(np.diff(objectives) - steps).max()),
            0.0,
            tolerance=1e-12,
            kind="closed form",
            source="equation 8.26",
            because="rounding",
        ),
    ]

# %% [markdown]
# ## The chapter's own scans, and the library's
#
# The library has both choices, compiled. Its second-order rule finishes with a few Newton steps on the free
# multipliers, so that it ends at rounding.

# %%
for rule in ("schoelkopf", "second-order"):
    found = smo.smo(K, upper=upper, rule=rule)
    print(f"{rule:13} {found.iterations:5} pair steps, KKT gap {found.violation:.1e}")
    CLAIMS.append(
        cn.Claim(
            f"rule {rule!r} of the library",
            found.objective,
            optimum.objective,
            tolerance=1e-10,
            kind="algorithm",
            source="section 8.4",
            because="a relative KKT gap of 1e-10",
        )
    )
dual = cn.one_class_svm(cn.KernelFeatures(X, cn.kernels.gaussian(width=1.0)), nu).solve()
CLAIMS += [
    cn.Claim(
        "an interior-point solver agrees",
        optimum.objective,
        dual.objective,
        tolerance=1e-8,
        kind="formulation",
        source="equations 8.13 to 8.15",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "choosing pairs with care saves at least half of the steps of choosing at random",
        float(len(traces["second-order choice"][1])),
        0.5 * float(len(traces["random pair"][1])),
        "<=",
        tolerance=0.0,
        kind="simulation",
        source="section 8.4, the choice of the second variable",
        because="a count with a fixed seed",
    ),
]

# %%
fig, axs = plt.subplots(1, 2, figsize=(10.2, 4.2), layout="constrained")
plots.smo_convergence({name: trace[1] for name, trace in traces.items()}, tolerance=1e-6, ax=axs[0])
axs[0].set_xlim(0, 900)
axs[0].set_title("The gap, step by step", fontsize="medium")
left = traces["second-order choice"][2] - optimum.objective
axs[1].semilogy(traces["second-order choice"][1], color="#0072B2", label="gap")
axs[1].semilogy(np.maximum(left, 1e-17), "--", color="#D55E00", label="left to gain")
axs[1].set(xlabel="steps", title="The gap bounds what is left")
axs[1].title.set_fontsize("medium")
axs[1].legend(fontsize="small")

# %% [markdown]
# ## Two questions to try
#
# 1. Start from $\alpha_i=1/m$ for all $i$, as if $\nu$ were one. Does it need fewer steps, and why does the chapter
#    not do so for large samples?
# 2. Make the kernel so wide that $K$ is nearly of rank one. What happens to $\chi$, to the steps, and to the bound by
#    the gap?

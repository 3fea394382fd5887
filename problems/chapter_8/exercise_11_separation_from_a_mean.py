# %% [markdown]
# # Exercise 8.11: another point than the origin
#
# **You will learn**
#
# - that the origin is an assumption about novelties, and how to replace it by something you know,
# - how the dual follows from a shift of feature space, without another Lagrangian,
# - why separating a sample from *its own* mean, which the exercise suggests, gives nothing, and what does.
#
# Source: Schölkopf and Smola, *Learning with Kernels* (2001), problem 8.11, equations 8.47 to 8.51.
#
# ## Derivation
#
# Let $\mu=\frac1t\sum_n\Phi(z_n)$ be the mean of some other points. The constraint
# $\langle w,\Phi(x_i)-\mu\rangle\ge\rho-\xi_i$ is (8.7) for the shifted points $\Phi(x_i)-\mu$. So the dual is (8.13)
# with their Gram matrix,
#
# $$
# \langle\Phi(x_i)-\mu,\Phi(x_j)-\mu\rangle=k(x_i,x_j)-q_i-q_j+q,\qquad q_i=\frac1t\sum_nk(x_i,z_n),\quad q=\frac1{t^2}\sum_{n,p}k(z_n,z_p),
# $$
#
# which is (8.49). The other class is known "in a weak sense": only through its mean, as the origin stands for a class
# of which nothing is known.

# %%
import matplotlib.pyplot as plt
import numpy as np

import convexnovelty as cn
from convexnovelty import plots
from convexnovelty.algorithms import smo

rng = np.random.default_rng(6)
X = rng.multivariate_normal([2.0, 1.0], [[0.5, 0.25], [0.25, 0.4]], 50)
Z = rng.multivariate_normal([2.6, 3.2], [[0.4, 0.0], [0.0, 0.3]], 30)
m, nu = 50, 0.15
together = cn.KernelFeatures(np.vstack([X, Z]), cn.kernels.gaussian(width=4.0))
others = np.r_[np.zeros(50, dtype=bool), np.ones(30, dtype=bool)]
gram = together.gram
CLAIMS = []

solution = cn.separation_from_mean(together, nu, others).solve()
k, q_i, q = gram[:50, :50], gram[:50, 50:].mean(axis=1), gram[50:, 50:].mean()
shifted = k - q_i[:, None] - q_i[None] + q
pairs = smo.smo(shifted, upper=1 / (nu * m))
CLAIMS += [
    cn.Claim(
        "the dual with q and q_i, by sequential minimal optimisation",
        pairs.objective,
        solution.objective,
        tolerance=1e-8,
        kind="algorithm",
        source="equations 8.49 to 8.51",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "its matrix is the Gram matrix of the shifted points",
        float(
            np.abs(
                shifted
                - (c := np.asarray(together.training)[:50] - np.asarray(together.training)[50:].mean(axis=0)) @ c.T
            ).max()
        ),
        0.0,
        tolerance=1e-10,
        kind="closed form",
        source="equation 8.49",
        because="rounding of a factorisation",
    ),
]

# %% [markdown]
# ## The special case that is none
#
# The exercise proposes to separate a sample from its own mean. But $\alpha_i=\frac1m$ is feasible for every
# $\nu\le1$, and it gives $\sum_i\alpha_i(\Phi(x_i)-\mu)=0$: **the optimum is zero, and $w=0$.** The mean lies in
# every reduced hull, so nothing separates it. What is meant is a one-sided quantile, and for that a direction has to
# come from somewhere.
#
# *With a direction.* For a fixed unit vector $w$ the best offset is the $\nu$-quantile of the scores
# $\langle w,\Phi(x_i)-\mu\rangle$ (problem 8.7).
#
# *With another point.* Take the mean of a part of the sample, say of the points below the median of the first
# feature: then the direction is that in which the rest lies, with the largest margin.

# %%
own = cn.separation_from_mean(cn.LinearFeatures(X), nu).solve()
print(own.guarantee)
lower = X[:, 0] < np.median(X[:, 0])
part = cn.separation_from_mean(cn.LinearFeatures(X), nu, lower).solve()
upper = X[~lower]
line = rng.exponential(1.0, (60, 1))
below = line[:, 0] < np.median(line)
one_sided = cn.separation_from_mean(cn.LinearFeatures(line), 0.1, below).solve()
end = (one_sided.region.offset / one_sided.region.normal)[0]
rest = np.sort(line[~below, 0])
CLAIMS += [
    cn.Claim(
        "from its own mean the optimum is zero",
        own.objective,
        0.0,
        tolerance=1e-10,
        kind="closed form",
        source="problem 8.11, the special case",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "and the normal is zero",
        float(np.linalg.norm(own.region.normal)),
        0.0,
        tolerance=1e-4,
        kind="closed form",
        source="problem 8.11, the special case",
        because="the root of the solver's accuracy",
    ),
    cn.Claim(
        "from the mean of a part, at most the fraction nu of the rest is outside",
        float(np.mean(~part.region.contains(upper))),
        nu,
        "<=",
        tolerance=0.0,
        source="proposition 8.3, shifted",
        because="a count",
    ),
    cn.Claim(
        "on a line the region ends at the nu-quantile of the rest: not below three points' value",
        float(end),
        float(rest[2]),
        ">=",
        tolerance=1e-6,
        kind="theory",
        source="problem 8.11: nu times 30 points is 3",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "and not above the next one",
        float(end),
        float(rest[3]),
        "<=",
        tolerance=1e-6,
        kind="theory",
        source="problem 8.11: nu times 30 points is 3",
        because="the solver's accuracy",
    ),
]

# %% [markdown]
# ## Is the other class used?
#
# Compare the plain machine and the one that knows the mean of the others, on fresh points of both.

# %%
plain = cn.one_class_svm(cn.KernelFeatures(X, cn.kernels.gaussian(width=4.0)), nu).solve()
plain_features = cn.KernelFeatures(X, cn.kernels.gaussian(width=4.0))
fresh = rng.multivariate_normal([2.0, 1.0], [[0.5, 0.25], [0.25, 0.4]], 4000)
strange = rng.multivariate_normal([2.6, 3.2], [[0.4, 0.0], [0.0, 0.3]], 4000)
rates = {
    "origin": tuple(float(np.mean(plain.region.contains(plain_features.coordinates(S)))) for S in (fresh, strange)),
    "mean of the others": tuple(
        float(np.mean(solution.region.contains(together.coordinates(S)))) for S in (fresh, strange)
    ),
}
print({name: f"ordinary inside {a:.3f}, others inside {b:.3f}" for name, (a, b) in rates.items()})
CLAIMS.append(
    cn.Claim(
        "knowing the mean lets in fewer of the others",
        rates["mean of the others"][1],
        rates["origin"][1],
        "<=",
        tolerance=0.0,
        kind="simulation",
        source="problem 8.11",
        because="a count over 4000 fresh points with a fixed seed",
    )
)

# %%
fig, axs = plt.subplots(1, 2, figsize=(10, 4.3), layout="constrained")
plots.decision_regions(
    {"from the origin": plain, "from the mean of the others": solution},
    {"from the origin": plain_features, "from the mean of the others": together},
    nominal=X,
    novel=Z,
    ax=axs[0],
)
axs[0].set_title("The boundary turns towards the others", fontsize="medium")
plots.decision_regions(part, nominal=upper, novel=X[lower], ax=axs[1])
axs[1].get_legend().texts[1].set_text("the part")
axs[1].plot(*X[lower].mean(axis=0), "ks")
axs[1].set_title("From the mean (square) of a part of the sample", fontsize="medium")

# %% [markdown]
# ## Two questions to try
#
# 1. Move the others far away in one direction. To which plane does the solution converge, and what is left of their
#    covariance?
# 2. Compare with `moment_classifier`, which knows the covariance of the others as well. When do the two agree?

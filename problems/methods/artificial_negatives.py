# %% [markdown]
# # Make up a second class
#
# **You will learn**
#
# - how novelty detection becomes classification against uniform points, and what that assumes,
# - that the classifier estimates a level set of the density,
# - why the trick wears out as the dimension grows.
#
# Source: Lanckriet, El Ghaoui and Jordan, *Robust novelty detection with single-class MPM* (2003), section 4;
# Steinwart, Hush and Scovel (2005) for the level set.
#
# ## The construction
#
# Let $T$ be the smallest box that holds the sample, draw as many uniform points on it, and separate both by a support
# vector machine:
#
# $$
# \min_{w,b,\xi}\ \tfrac12\lVert w\rVert^2+C\sum_i\xi_i\quad\text{s.t.}\quad y_i(\langle w,\Phi(z_i)\rangle-b)\ge1-\xi_i,\quad\xi_i\ge0 ,
# $$
#
# with $y_i=1$ for the sample and $-1$ for the made-up points. Its dual has a box and one equation,
# $\sum_iy_i\alpha_i=0$.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

import convexnovelty as cn
from convexnovelty import plots
from convexnovelty.methods import artificial_negatives as artificial

rng = np.random.default_rng(21)
X = np.vstack([rng.normal([0.0, 0.0], [1.0, 0.35], (120, 2)), rng.normal([2.5, 2.0], 0.3, (60, 2))])
C, kernel = 1.0, cn.kernels.gaussian(width=1.5)
CLAIMS = []

problem = cn.artificial_negatives(X, C, kernel)
solution = problem.solve()
uniform = artificial.uniform_box(X, len(X), 0)
together, labels = np.vstack([X, uniform]), np.repeat([1.0, -1.0], len(X))
theirs = SVC(C=C, gamma=1 / 1.5, tol=1e-9).fit(together, labels)
alpha = solution.values["alpha"]
coefficients = np.zeros(len(together))
coefficients[theirs.support_] = np.abs(theirs.dual_coef_[0])
features = cn.KernelFeatures(together, kernel)
signed = features.gram * np.outer(labels, labels)
primal = cn.artificial_negatives(X, C, kernel, form="primal").solve()
CLAIMS += [
    cn.Claim(
        "libsvm finds the same dual value",
        float(coefficients.sum() - coefficients @ signed @ coefficients / 2),
        float(alpha.sum() - alpha @ signed @ alpha / 2),
        tolerance=1e-6,
        kind="other library",
        source="section 4",
        because="libsvm was asked for 1e-9 in its own units",
    ),
    cn.Claim(
        "primal and dual agree",
        abs(primal.objective),
        abs(solution.objective),
        tolerance=1e-7,
        kind="formulation",
        source="section 4",
        because="two solves at 1e-10",
    ),
    cn.Claim(
        "both classes carry the same weight",
        float(alpha @ labels),
        0.0,
        tolerance=1e-6,
        source="the equation of the dual",
        because="the solver's accuracy",
    ),
]

# %% [markdown]
# ## What is estimated
#
# With equal numbers of both, a point of the mixture at $z$ belongs to the sample with probability
#
# $$
# \frac{p(z)}{p(z)+u(z)},\qquad u(z)=\frac1{\operatorname{vol}T}\ \text{ on } T ,
# $$
#
# and the best classifier says "sample" where $p(z)\ge u(z)$: **a level set of the density, at the level
# $1/\operatorname{vol}T$.** Another number of uniform points is another level. The offset $\rho$ of the one-class
# machine plays the same part, without any points made up.
#
# Here $p$ is known, so the best region can be computed and compared.

# %%


def density(Z):
    """The density that the sample was drawn from."""
    first = np.exp(-(Z[:, 0] ** 2) / 2 - Z[:, 1] ** 2 / (2 * 0.35**2)) / (2 * np.pi * 0.35)
    second = np.exp(-((Z - [2.5, 2.0]) ** 2).sum(axis=1) / (2 * 0.3**2)) / (2 * np.pi * 0.3**2)
    return 2 / 3 * first + 1 / 3 * second


low, high = X.min(axis=0), X.max(axis=0)
volume = float(np.prod(high - low))
probe = rng.uniform(low, high, (20000, 2))
best = density(probe) >= 1 / volume
learned = np.asarray(solution.region.contains(features.coordinates(probe)))
print(
    f"learned and best region differ on {np.mean(best != learned):.3f} of the box; the best one covers {best.mean():.3f}"
)
CLAIMS.append(
    cn.Claim(
        "the learned region is near the level set of the density",
        float(np.mean(best != learned)),
        0.1,
        "<=",
        tolerance=0.0,
        kind="simulation",
        source="Steinwart, Hush and Scovel (2005)",
        because="a share of the box, with a fixed seed",
    )
)

# %% [markdown]
# ## In many dimensions
#
# The sample keeps its size, and the box grows. In dimension $d$ the share of a box that a round cloud fills falls
# like the volume of a ball in a cube, faster than exponentially, so that uniform points are nowhere near the sample:
# separating the two is easy, and teaches nothing about where the sample ends. The one-class machine asks nobody to
# fill a space.

# %%
dimensions, near = [2, 4, 8, 16], []
for d in dimensions:
    cloud = rng.normal(size=(400, d))
    boxed = artificial.uniform_box(cloud, 4000, 1)
    radius = np.quantile(np.linalg.norm(cloud, axis=1), 0.95)
    near.append(float(np.mean(np.linalg.norm(boxed, axis=1) <= radius)))
print(dict(zip(dimensions, near, strict=True)))
CLAIMS.append(
    cn.Claim(
        "in sixteen dimensions less than a twentieth of the made-up points lie where the sample is",
        near[-1],
        0.05,
        "<=",
        tolerance=0.0,
        kind="simulation",
        source="the volume of a ball in a cube",
        because="a count over 4000 points with a fixed seed",
    )
)

# %%
fig, axs = plt.subplots(1, 2, figsize=(10, 4.3), layout="constrained")
plots.decision_regions(solution, features, nominal=X, novel=uniform, ax=axs[0])
x, y = np.meshgrid(np.linspace(low[0], high[0], 120), np.linspace(low[1], high[1], 120))
axs[0].contour(
    x, y, density(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape), [1 / volume], colors="k", linestyles="--"
)
axs[0].set_title("Learned region, and the level set of the density (dashed)", fontsize="medium")
axs[1].semilogy(dimensions, np.maximum(near, 1e-4), "o-", color="#D55E00")
axs[1].set(xlabel="dimension", ylabel="share of uniform points near the sample", xticks=dimensions)

# %% [markdown]
# ## Two questions to try
#
# 1. Use ten times as many uniform points. Which level does the region estimate now, and does it look like it?
# 2. One ordinary point far away stretches the box. What happens to the region around the others, and to that of the
#    one-class machine?

# %% [markdown]
# # Weights of kernels as multipliers
#
# **You will learn**
#
# - why "take the kernel with the largest margin" is no rule, and what makes margins comparable,
# - how a minimum over kernels becomes a quadratically constrained program without any weights in it,
# - where the weights are then: they are the multipliers of its constraints.
#
# Source: Tsang, Kwok and Li, *Learning the kernel in Mahalanobis one-class support vector machines* (2006), section
# III.
#
# ## A scale for scores
#
# Doubling a kernel doubles the margin and changes nothing else. The paper therefore puts a price on the largest
# score:
#
# $$
# \min_{w,\xi,\rho,R}\ \tfrac12\lVert w\rVert^2+\frac1{\nu n}\sum_i\xi_i-\rho+CR\quad\text{s.t.}\quad
# 1\le\langle w,x_i\rangle\le R,\quad\langle w,x_i\rangle\ge\rho-\xi_i,\quad\xi_i\ge0 .
# $$
#
# With multipliers $\alpha_h,\alpha_r,\alpha_s\ge0$ for the three kinds of constraints and
# $v=\alpha_s+\alpha_h-\alpha_r$, the dual for one kernel is
#
# $$
# J(K)=\max_{\alpha\in\mathcal A}\ \mathbf 1^\top\alpha_h-\tfrac12v^\top Kv,\qquad
# \mathcal A=\Bigl\{0\le\alpha_s\le\tfrac1{\nu n},\ \mathbf 1^\top\alpha_s=1,\ \mathbf 1^\top\alpha_r=C\Bigr\}.
# $$

# %%
import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import convexnovelty as cn
from convexnovelty import datasets, plots
from convexnovelty.methods import kernel_learning as learning

data = datasets.banana(n=50, seed=4)
X, n, nu, C = data.nominal, 50, 0.2, 2.0
distances = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
base = 1 / distances[np.triu_indices(n, 1)].mean()
names = ["narrow, 8β", "2β", "β", "wide, β/4"]
kernels = [cn.kernels.gaussian(gamma=g) for g in (8 * base, 2 * base, base, base / 4)]
features = [cn.KernelFeatures(X, kernel) for kernel in kernels]
grams = [f.gram for f in features]
CLAIMS = []

# %% [markdown]
# ## Exchange minimum and maximum
#
# Over convex combinations $\hat K=\sum_k\mu_kK_k$ the best kernel is $\min_\mu J(\hat K)$. For fixed $\alpha$ the
# objective is linear in $\mu$, and for fixed $\mu$ concave in $\alpha$; $\mu$ ranges over a compact set. So the two
# may be exchanged, and the inner minimum over the simplex is attained at a corner:
#
# $$
# \min_\mu\max_{\alpha\in\mathcal A}\ \mathbf 1^\top\alpha_h-\tfrac12\sum_k\mu_kv^\top K_kv
# =\max_{\alpha\in\mathcal A}\ \mathbf 1^\top\alpha_h-\max_k\tfrac12v^\top K_kv
# =\max_{\alpha\in\mathcal A,\,t}\ \mathbf 1^\top\alpha_h-t\quad\text{s.t.}\quad t\ge\tfrac12v^\top K_kv .
# $$
#
# The Lagrangian of the last program in $t$ is $-t+\sum_k\mu_k(t-\tfrac12v^\top K_kv)$. It is stationary where
# $\sum_k\mu_k=1$: **the multipliers are the weights.**

# %%
hold, span, soft = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
t, v = cp.Variable(), soft + hold - span
quadratic = [0.5 * cp.sum_squares(np.asarray(f.training).T @ v) <= t for f in features]
box = [soft <= 1 / (nu * n), cp.sum(soft) == 1, cp.sum(span) == C]
program = cp.Problem(cp.Maximize(cp.sum(hold) - t), quadratic + box)
program.solve(solver=cp.CLARABEL)
weights = np.array([constraint.dual_value for constraint in quadratic]).ravel()

cone = cn.kernel_learning(features, nu, C).solve()
print("multipliers of the quadratic constraints", weights.round(4))
print("weights of the cone program             ", cone.values["mu"].round(4))
CLAIMS += [
    cn.Claim(
        "the program written above and the paper's cone program have one value",
        float(program.value),
        cone.objective,
        tolerance=1e-6,
        kind="formulation",
        source="sections III-B and III-C",
        because="CVXPY's defaults stop at 1e-8",
    ),
    cn.Claim(
        "the multipliers sum to one",
        float(weights.sum()),
        1.0,
        tolerance=1e-6,
        source="stationarity in t",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "they are the weights of the cone program",
        float(np.abs(weights - cone.values["mu"]).max()),
        0.0,
        tolerance=1e-3,
        kind="formulation",
        source="section III-B",
        because="weights are flat directions: an error of 1e-8 in the value moves them by about 1e-4",
    ),
]

# %% [markdown]
# ## A semi-infinite linear program
#
# Read as $\min_\mu\theta$ subject to $\theta\ge\mathbf 1^\top\alpha_h-\tfrac12\sum_k\mu_kv^\top K_kv$ for all
# $\alpha\in\mathcal A$, the problem is linear in $\mu$ with one constraint for each $\alpha$. An SMO with three
# groups of multipliers finds the most violated one. No cone solver takes part.

# %%
semi_infinite = learning.semi_infinite_lp(features, nu, C)
alone = [cn.kernel_learning([f], nu, C).solve().objective for f in features]
mixed = sum(weight * gram for weight, gram in zip(cone.values["mu"], grams, strict=True))
refit = cn.kernel_learning([mixed], nu, C).solve().objective
print("each kernel alone:", np.round(alone, 5), " learned:", round(cone.objective, 5))
CLAIMS += [
    cn.Claim(
        "planes over the weights end at the same value",
        semi_infinite.objective,
        cone.objective,
        tolerance=1e-6,
        kind="algorithm",
        source="equation 12, as a semi-infinite linear program",
        because="the planes stop at a relative gap",
    ),
    cn.Claim(
        "no kernel alone is better than the combination",
        float(min(alone)),
        cone.objective,
        ">=",
        tolerance=1e-8,
        source="equation 12: a corner is a feasible weight",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "the combined kernel, taken as one kernel, has the learned value",
        refit,
        cone.objective,
        tolerance=1e-6,
        kind="formulation",
        source="equation 11",
        because="two solves",
    ),
]

# %% [markdown]
# ## Without the scale the rule breaks
#
# Multiply one kernel by a hundred. The margin $\rho/\lVert w\rVert$ of the plain one-class machine grows tenfold,
# although the region is the same, so that choosing by margin would choose this kernel for nothing. In the modified
# problem the same factor divides $\lVert w\rVert^2$ by a hundred while scores keep their scale, and it is the shape
# of the scores that decides.

# %%
base_machine = cn.one_class_svm(features[2], nu).solve()
loud = cn.KernelFeatures(100 * grams[2], cn.kernels.precomputed())
loud_machine = cn.one_class_svm(loud, nu).solve()
margins = [s.offset.used / np.linalg.norm(s.region.normal) for s in (base_machine, loud_machine)]
same = np.mean(base_machine.region.contains(features[2].training) == loud_machine.region.contains(loud.training))
CLAIMS += [
    cn.Claim(
        "a hundred times the kernel has ten times the margin",
        margins[1] / margins[0],
        10.0,
        tolerance=1e-6,
        kind="theory",
        source="section III, before III-A",
        because="two solves",
    ),
    cn.Claim(
        "and the same region",
        float(same),
        1.0,
        tolerance=0.0,
        kind="theory",
        source="section III, before III-A",
        because="a count",
    ),
]

# %%
fig = plt.figure(figsize=(10, 4.2), layout="constrained")
left, right = fig.subplots(1, 2, width_ratios=(1, 1.2))
cheap = cn.kernel_learning(features, nu, 0.5).solve()
plots.kernel_weights({"C = 2": cone.values["mu"], "C = 0.5": cheap.values["mu"]}, names, ax=left)


class Combined:
    """Coordinates of the learned kernel: those of the base kernels side by side; the normal holds the weights."""

    def coordinates(self, Z):
        return np.hstack([np.asarray(f.coordinates(Z)) for f in features])


together = Combined().coordinates(X)
CLAIMS.append(
    cn.Claim(
        "the region's decision values are the scores of the program less rho",
        float(np.abs(cone.region.decision_values(together) - cone.values["s"] + cone.region.offset).max()),
        0.0,
        tolerance=1e-9,
        kind="closed form",
        source="section III-A: s = X'w",
        because="rounding",
    )
)
widest, narrowest = cn.one_class_svm(features[3], nu).solve(), cn.one_class_svm(features[0], nu).solve()
plots.decision_regions(
    {"learned": cone, "narrow alone": narrowest, "wide alone": widest},
    {"learned": Combined(), "narrow alone": features[0], "wide alone": features[3]},
    nominal=X,
    ax=right,
)

# %% [markdown]
# ## Two questions to try
#
# 1. A high price $C$ brings the narrowest kernel in, beside the widest. What do its few points of weight do to the
#    lowest scores? Then give the same kernel twice. What do the multipliers do, and why is the value unchanged?
# 2. At $c\ne0$ the covariance enters and the program is a cone program (section III-C). Set `covariance_weight=1/n`:
#    which kernel gains weight?

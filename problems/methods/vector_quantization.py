# %% [markdown]
# # Few points that stand for all
#
# **You will learn**
#
# - how covering a sample by balls becomes a linear program through a kernel that says yes or no,
# - that its dual packs points which no ball can hold together, and proves the codebook small,
# - when the linear program is already exact, and what to do with fractions when it is not.
#
# Source: Schölkopf and Smola, *Learning with Kernels* (2001), end of section 8.6, equations 8.39 and 8.40.
#
# ## A kernel of ones and zeros
#
# Given a radius $R$, let $k(x,x')=1$ if $d(x,x')\le R$ and $0$ otherwise, and let $\Phi_{ij}=k(x_i,x_j)$ on the
# sample. Weights $a\ge0$ with $\Phi a>0$ in every row have a point of positive weight within $R$ of every sample
# point. Weights can be scaled, so ask for at least one, and as little weight as possible in all:
#
# $$
# \min_{a\ge0}\ \sum_ja_j\quad\text{s.t.}\quad\sum_jk(x_i,x_j)\,a_j\ge1\ \text{ for all } i .
# $$

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

import convexnovelty as cn
from convexnovelty import datasets
from convexnovelty.methods import vector_quantization as quantization

X = datasets.banana(n=70).nominal
n, R = len(X), 0.8
ball = (np.linalg.norm(X[:, None] - X[None], axis=2) <= R).astype(float)
CLAIMS = []

cover = cn.vector_quantization(X, R).solve()
simplex = linprog(np.ones(n), A_ub=-ball, b_ub=-np.ones(n), method="highs")
print(cover.guarantee)
CLAIMS += [
    cn.Claim(
        "the factory solves the linear program",
        cover.objective,
        float(simplex.fun),
        tolerance=1e-7,
        kind="other library",
        source="equation 8.40",
        because="an interior-point solver against a simplex method",
    ),
    cn.Claim(
        "every point has a codebook vector within the radius",
        float(np.linalg.norm(X[:, None] - cover.region.vectors[None], axis=2).min(axis=1).max()),
        R,
        "<=",
        tolerance=1e-9,
        source="equation 8.40",
        because="rounding of a distance",
    ),
]

# %% [markdown]
# ## The dual packs
#
# The dual gives each point a weight $y_i\ge0$ so that no ball holds more than one in all:
#
# $$
# \max_{y\ge0}\ \sum_iy_i\quad\text{s.t.}\quad\sum_iy_i\,k(x_i,x_j)\le1\ \text{ for all } j .
# $$
#
# Every codebook that covers has at least $\sum_iy_i$ vectors: each vector's ball holds at most one unit of $y$, and
# all of it must be held. So packing points far apart *proves* that a codebook cannot be smaller.

# %%
packing = quantization.packing(X, R).solve()
y = packing.values["y"] if "y" in packing.values else next(iter(packing.values.values()))
smallest = milp(np.ones(n), constraints=LinearConstraint(ball, lb=1), integrality=np.ones(n), bounds=Bounds(0, 1))
bound = int(np.ceil(packing.objective - 1e-6))
print(f"LP {cover.objective:.4f}, so at least {bound}; smallest {smallest.fun:.0f}; found {len(cover.region.vectors)}")
CLAIMS += [
    cn.Claim(
        "covering and packing have one value",
        packing.objective,
        cover.objective,
        tolerance=1e-7,
        kind="formulation",
        source="duality of linear programming",
        because="two solves at 1e-10",
    ),
    cn.Claim(
        "no ball holds more than one unit of the packing",
        float((ball @ y).max()),
        1.0,
        "<=",
        tolerance=1e-7,
        kind="formulation",
        source="the packing program",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "the smallest codebook is no smaller than the linear program says",
        float(smallest.fun),
        float(bound),
        ">=",
        tolerance=1e-9,
        kind="other library",
        source="weak duality",
        because="two whole numbers",
    ),
    cn.Claim(
        "the thinned codebook is at most the smallest one and a third",
        float(len(cover.region.vectors)),
        4 / 3 * float(smallest.fun),
        "<=",
        tolerance=1e-9,
        kind="other library",
        source="rounding of the linear program",
        because="a count on this sample; in general a logarithmic factor is all that can be promised",
    ),
]

# %% [markdown]
# ## On a line the program is exact
#
# Points on a line, sorted: the points within $R$ of a point are consecutive, so every row and column of $\Phi$ is an
# interval of ones. Such a matrix is totally unimodular, the vertices of the program are whole numbers, and a sweep
# finds one: from the left, put a vector as far right as still covers the first uncovered point.

# %%
line = np.sort(np.random.default_rng(1).exponential(1.0, 60))[:, None]
sweep, first = [], 0
while first < 60:
    vector = np.searchsorted(line[:, 0], line[first, 0] + 0.3, side="right") - 1
    sweep.append(vector)
    first = np.searchsorted(line[:, 0], line[vector, 0] + 0.3, side="right")
CLAIMS.append(
    cn.Claim(
        "on a line the linear program counts the vectors of a sweep",
        cn.vector_quantization(line, 0.3).solve().objective,
        float(len(sweep)),
        tolerance=1e-7,
        kind="algorithm",
        source="total unimodularity of interval matrices",
        because="the solver's accuracy",
    )
)

# %%
fig, axs = plt.subplots(1, 2, figsize=(9.8, 4.4), layout="constrained")
axs[0].scatter(*X.T, s=12, color="k", zorder=3)
for vector in cover.region.vectors:
    axs[0].add_patch(plt.Circle(vector, R, facecolor="#DCEAF4", edgecolor="#0072B2", alpha=0.6))
    axs[0].plot(*vector, "s", color="#0072B2", zorder=4)
axs[0].set_title(f"A codebook of {len(cover.region.vectors)}: every point is in a ball", fontsize="medium")
axs[1].scatter(*X.T, s=12, color="#8A8A8A", zorder=2)
chosen = y > 1e-4
axs[1].scatter(*X[chosen].T, s=220 * y[chosen], color="#D55E00", alpha=0.7, zorder=3, label="weight of a point")
axs[1].set_title(f"A packing of {packing.objective:.2f}: no ball holds more than one", fontsize="medium")
axs[1].legend(fontsize="small")
for ax in axs:
    ax.set_aspect("equal")

# %% [markdown]
# ## Two questions to try
#
# 1. Draw the size of the codebook against $R$. Where it is flat for long, the sample has clusters: why?
# 2. Put a price of $0.5$ on leaving a point uncovered (`slack_penalty=0.5`). Which points are given up first?

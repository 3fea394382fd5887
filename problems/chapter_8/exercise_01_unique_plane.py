# %% [markdown]
# # Exercise 8.1: one farthest plane, and no other
#
# **You will learn**
#
# - how to turn "the farthest separating plane" into the maximum of a concave function on a disc,
# - why a maximum exists, why it lies on the rim, and why there is only one,
# - what breaks when the origin lies in the hull.
#
# Source: Schölkopf and Smola, *Learning with Kernels* (2001), problem 8.1 and proposition 8.1.
#
# ## The claim
#
# If the convex hull of $x_1,\dots,x_m$ does not contain the origin, exactly one hyperplane separates all points from
# the origin and has the largest distance to it.
#
# ## Proof
#
# A plane $\{z:\langle w,z\rangle=\rho\}$ with $\lVert w\rVert=1$ and $\rho\ge0$ separates if
# $\langle w,x_i\rangle\ge\rho$ for all $i$, and then its distance is $\rho$. The best $\rho$ for a given $w$ is
# therefore
#
# $$
# g(w)=\min_i\ \langle w,x_i\rangle ,
# $$
#
# and we look for the maximum of $g$ over unit vectors with $g(w)>0$.
#
# *From the sphere to the ball.* $g$ is a minimum of linear functions: continuous, concave, and $g(tw)=t\,g(w)$ for
# $t\ge0$. The hull is a compact convex set without the origin, so some $w$ has $g(w)>0$ (Lemma 6.24: a point outside
# of a closed convex set is strictly separated from it). On the ball $\lVert w\rVert\le1$, which is compact, $g$
# attains its maximum $g^*>0$. A maximiser has $\lVert w\rVert=1$, since a shorter one could be stretched. So the
# maximum over the ball is the maximum over the sphere, and the ball is convex.
#
# *Uniqueness.* Let $w_1\ne w_2$ both be maximisers. Their midpoint $\bar w$ has $\lVert\bar w\rVert<1$, because the
# ball is strictly convex, and $g(\bar w)\ge\tfrac12g(w_1)+\tfrac12g(w_2)=g^*$ by concavity. But then
# $\bar w/\lVert\bar w\rVert$ has the value $g(\bar w)/\lVert\bar w\rVert>g^*$, a contradiction. $\square$

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize_scalar

import convexnovelty as cn
from convexnovelty.algorithms.min_norm_point import min_norm_point

rng = np.random.default_rng(1)
X = rng.multivariate_normal([1.6, 1.1], [[0.35, -0.15], [-0.15, 0.25]], 25)
CLAIMS = []


def g(W):
    """The smallest score for each normal, a row of W."""
    return (np.atleast_2d(W) @ X.T).min(axis=1)


# %% [markdown]
# ## In numbers
#
# Each line of the proof can be tried. Random pairs test concavity, a fine grid of the circle shows one peak, and the
# peak is the plane that the library finds.

# %%
U, V = rng.normal(size=(2, 4000, 2))
share = rng.random((4000, 1))
concavity = g(share * U + (1 - share) * V) - (share[:, 0] * g(U) + (1 - share[:, 0]) * g(V))
angles = np.linspace(-np.pi, np.pi, 20001)
circle = np.column_stack([np.cos(angles), np.sin(angles)])
values = g(circle)
peaks = int(np.sum((values[1:-1] > values[:-2]) & (values[1:-1] >= values[2:]) & (values[1:-1] > 0)))
top = angles[values.argmax()]
refined = minimize_scalar(
    lambda t: -g([np.cos(t), np.sin(t)])[0], bounds=(top - 1e-3, top + 1e-3), method="bounded", options={"xatol": 1e-12}
)
plane = cn.hard_margin(cn.LinearFeatures(X)).solve()
distance = 1 / np.linalg.norm(plane.values["w"])
nearest = X.T @ min_norm_point(X).weights
CLAIMS += [
    cn.Claim(
        "g is concave: no chord lies above it",
        float(concavity.min()),
        0.0,
        ">=",
        tolerance=1e-12,
        kind="simulation",
        source="problem 8.1, a minimum of linear functions",
        because="rounding",
    ),
    cn.Claim(
        "on the circle g has one positive peak",
        float(peaks),
        1.0,
        tolerance=0.0,
        kind="simulation",
        source="problem 8.1, uniqueness",
        because="a count on a grid of 20000 angles",
    ),
    cn.Claim(
        "its height is the distance of the supporting hyperplane",
        -float(refined.fun),
        float(distance),
        tolerance=1e-7,
        kind="algorithm",
        source="proposition 8.1",
        because="a search in one variable, at a maximum that has a corner",
    ),
    cn.Claim(
        "and the distance of the hull from the origin",
        float(distance),
        float(np.linalg.norm(nearest)),
        tolerance=1e-8,
        kind="algorithm",
        source="proposition 8.1",
        because="the solver's accuracy",
    ),
]

# %% [markdown]
# ## When the origin lies in the hull
#
# Then $\sum_i\lambda_i\langle w,x_i\rangle=0$ for some weights, so $g(w)\le0$ for every $w$: the maximum over the
# ball is 0, at $w=0$, which is no plane. The step from the ball back to the sphere is the one that fails.

# %%
inside = X - X.mean(axis=0)
try:
    cn.hard_margin(cn.LinearFeatures(inside)).solve()
    message = ""
except cn.errors.InfeasibleError as error:
    message = str(error)
print(message)
CLAIMS += [
    cn.Claim(
        "with the origin in the hull no normal has a positive score everywhere",
        float((circle @ inside.T).min(axis=1).max()),
        0.0,
        "<=",
        tolerance=0.0,
        kind="simulation",
        source="problem 8.1, its condition",
        because="a strict inequality, far from equality here",
    ),
    cn.Claim(
        "and the library says that there is no such plane",
        float(bool(message)),
        1.0,
        tolerance=0.0,
        source="proposition 8.1",
        because="it does, or it does not",
    ),
]

# %%
fig, axs = plt.subplots(1, 2, figsize=(9.8, 4.3), layout="constrained")
side = np.linspace(-1.15, 1.15, 300)
x, y = np.meshgrid(side, side)
disc = np.column_stack([x.ravel(), y.ravel()])
heights = np.where((disc**2).sum(axis=1) <= 1, g(disc), np.nan).reshape(x.shape)
shown = axs[0].contourf(x, y, heights, levels=18, cmap="cividis")
fig.colorbar(shown, ax=axs[0], label="g(w)")
best = circle[values.argmax()]
axs[0].plot(*best, "o", ms=9, mec="k", mfc="w")
axs[0].set_aspect("equal")
axs[0].set(xlabel="w₁", ylabel="w₂", title="A concave function on a disc")
axs[1].plot(angles, values, color="#0072B2", lw=1.8, label="this sample")
axs[1].plot(angles, (circle @ inside.T).min(axis=1), "--", color="#D55E00", lw=1.6, label="origin in the hull")
axs[1].axhline(0, color="k", lw=0.8)
axs[1].set(xlabel="angle of w", ylabel="g on the circle", title="One peak above zero, or none")
axs[1].legend(fontsize="small")

# %% [markdown]
# ## Two questions to try
#
# 1. Replace the Euclidean ball by the ball of the 1-norm, which is not strictly convex. Build a sample with two best
#    planes.
# 2. The proof used that the hull is closed. Find an infinite set of points, none of them 0, whose hull does not
#    contain the origin and which has no farthest plane.

# %% [markdown]
# # Errata of the single-class minimax machine
#
# **You will learn**
#
# - how three slips of a well-known paper show up as numbers,
# - that each sits in an explanation and none in a main result,
# - how to let an adversary decide between a printed formula and a corrected one.
#
# Source: Lanckriet, El Ghaoui and Jordan, *Robust novelty detection with single-class MPM* (2003), below equations 6,
# 8 and 13.
#
# ## 1. The multiplier below equation 6
#
# Minimise $-a^\top y$ over the ellipsoid $(y-y_0)^\top\Sigma^{-1}(y-y_0)\le\nu^2$. The Lagrangian is stationary at
#
# $$
# y=y_0+\frac1{2\lambda}\Sigma a,\qquad\text{on the boundary}\quad
# \frac{a^\top\Sigma a}{4\lambda^2}=\nu^2\ \Longrightarrow\ \lambda=\frac{\sqrt{a^\top\Sigma a}}{2\nu} .
# $$
#
# Printed is $\lambda=\sqrt{a^\top\Sigma a/4\nu}$: the root covers one letter too many. The two agree at $\nu=1$ only.
# Put each into $y$, and see where the point lies.

# %%
import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import convexnovelty as cn
from convexnovelty.uncertainty import FrobeniusBall, MeanEllipsoid, SpectralBall, adversary, as_moment_set

rng = np.random.default_rng(0)
B = rng.normal(size=(3, 3))
S, y0, a, nu = B @ B.T + 0.3 * np.eye(3), rng.normal(size=3), rng.normal(size=3), 2.0
quadratic = float(a @ S @ a)
CLAIMS = []

right, printed = np.sqrt(quadratic) / (2 * nu), np.sqrt(quadratic / (4 * nu))
radius = {}
for name, multiplier in (("right", right), ("printed", printed)):
    y = y0 + S @ a / (2 * multiplier)
    radius[name] = float(np.sqrt((y - y0) @ np.linalg.solve(S, y - y0)))
    print(f"{name:8} multiplier {multiplier:.4f} leads to a point at the radius {radius[name]:.4f} of {nu}")
worst = adversary(as_moment_set(MeanEllipsoid(nu)).centred(cn.Moments(y0, S)), a, kappa=0.0)
CLAIMS += [
    cn.Claim(
        "the right multiplier leads to the boundary",
        radius["right"],
        nu,
        tolerance=1e-12,
        kind="closed form",
        source="below equation 6, corrected",
        because="rounding",
    ),
    cn.Claim(
        "the printed one to the radius of the root of nu",
        radius["printed"],
        float(np.sqrt(nu)),
        tolerance=1e-12,
        kind="closed form",
        source="below equation 6, as printed",
        because="rounding",
    ),
    cn.Claim(
        "equation 6 itself is right, says the adversary",
        worst.value,
        float(a @ y0 + nu * np.sqrt(quadratic)),
        tolerance=1e-7,
        kind="adversary",
        source="equation 6",
        because="the solver's accuracy",
    ),
]

# %% [markdown]
# ## 2. The worst covariance below equation 8
#
# The bound $a^\top\Delta a\le\lVert a\rVert^2$ for $\lVert\Delta\rVert_F\le1$ is said to be attained at $\Delta=I$.
# But $\lVert I\rVert_F=\sqrt n$, so $I$ is no member. It is attained at $\Delta=aa^\top/\lVert a\rVert^2$. In the
# spectral norm $I$ is a member, and equation 7 has the same value, which may be how the sentence came about.

# %%
rho = 0.7
nominal = cn.Moments(y0, S)
member = adversary(FrobeniusBall(rho).centred(nominal), a).member
rank_one = S + rho * np.outer(a, a) / (a @ a)
distance = {
    "identity": float(np.linalg.norm(rho * np.eye(3))),
    "rank one": float(np.linalg.norm(rank_one - S)),
    "adversary": float(np.linalg.norm(member - S)),
}
print({name: round(value, 4) for name, value in distance.items()}, "allowed:", rho)
CLAIMS += [
    cn.Claim(
        "the identity is outside of the ball by the root of the dimension",
        distance["identity"] / rho,
        float(np.sqrt(3)),
        tolerance=1e-12,
        kind="closed form",
        source="below equation 8, as printed",
        because="rounding",
    ),
    cn.Claim(
        "the rank-one member is on its boundary",
        distance["rank one"],
        rho,
        tolerance=1e-12,
        kind="closed form",
        source="below equation 8, corrected",
        because="rounding",
    ),
    cn.Claim(
        "the adversary, left alone with the membership, finds that one",
        float(np.abs(member - rank_one).max()),
        0.0,
        tolerance=1e-5,
        kind="adversary",
        source="equation 8",
        because="an error e of the value moves the member by about the root of e",
    ),
    cn.Claim(
        "with the spectral norm the value of equation 7 is the same",
        adversary(SpectralBall(rho).centred(nominal), a).value ** 2,
        float(quadratic + rho * a @ a),
        tolerance=1e-6,
        kind="adversary",
        source="equation 7",
        because="the solver's accuracy",
    ),
]

# %% [markdown]
# ## 3. Feasible if and only if strictly below
#
# The paper says that a confidence is feasible if $\kappa(\alpha)\le\zeta-\nu$. At equality the denominator of
# equation 14, $\zeta^2-(\kappa+\nu)\zeta$, is zero. With $\bar x=(3,4)$, $\Sigma=I$ the limit is
# $\alpha=\tfrac{25}{26}$: below it the optimum grows without bound,
#
# $$
# \sqrt{a_*^\top\Sigma a_*}=\frac1{\zeta-\kappa(\alpha)}\to\infty ,
# $$
#
# and at it nothing is feasible: $a^\top\bar x-1\ge5\lVert a\rVert\ge a^\top\bar x$ would need $-1\ge0$. The second
# form, $\alpha\le\frac{(\zeta-\nu)^2}{1+(\zeta-\nu)^2}$, also forgets $\zeta>\nu$: squaring loses a sign. For
# $\zeta=1$ and $\nu=3$ it admits $\alpha=\tfrac45$.

# %%
moments = cn.Moments([3.0, 4.0], np.eye(2))
limits = {}
for name, mean, uncertainty, alpha in (
    ("at the limit", [3.0, 4.0], None, 25 / 26),
    ("zeta = 1, nu = 3", [0.6, 0.8], MeanEllipsoid(3.0), 0.8),
):
    try:
        cn.single_class_mpm(cn.Moments(mean, np.eye(2)), alpha, uncertainty).solve()
        limits[name] = 0.0
    except cn.errors.InfeasibleError as error:
        print(f"{name}: {error}")
        limits[name] = 1.0
v = cp.Variable(2)
relaxed = cp.Problem(cp.Maximize(np.array([3.0, 4.0]) @ v - 5 * cp.norm(v)))
relaxed.solve(solver=cp.CLARABEL)
CLAIMS += [
    cn.Claim(
        "at equality nothing is feasible",
        limits["at the limit"],
        1.0,
        tolerance=0.0,
        kind="theory",
        source="below equation 13, corrected",
        because="it is refused, or it is not",
    ),
    cn.Claim(
        "indeed the largest value of a'm - kappa |a| is zero there, and one is needed",
        float(relaxed.value),
        0.0,
        tolerance=1e-6,
        kind="formulation",
        source="equation 11 at the limit",
        because="CVXPY's defaults stop at 1e-8",
    ),
    cn.Claim(
        "with zeta below nu nothing is feasible, although the printed form admits 4/5",
        limits["zeta = 1, nu = 3"],
        1.0,
        tolerance=0.0,
        kind="theory",
        source="below equation 13, corrected",
        because="it is refused, or it is not",
    ),
    cn.Claim(
        "at 0.96 the optimum is 5 + 2 sqrt 6",
        cn.single_class_mpm(moments, 0.96).solve().objective,
        5 + 2 * np.sqrt(6),
        tolerance=1e-7,
        kind="closed form",
        source="equation 14",
        because="the solver's accuracy near the edge",
    ),
]

# %%
fig, axs = plt.subplots(1, 2, figsize=(9.8, 4.1), layout="constrained")
nus = np.linspace(0.05, 4, 200)
axs[0].plot(nus, nus, color="#0072B2", lw=1.8, label="right multiplier")
axs[0].plot(nus, np.sqrt(nus), "--", color="#D55E00", lw=1.8, label="printed multiplier")
axs[0].set(xlabel="ν", ylabel="radius that the point reaches", title="They meet at ν = 1 only")
axs[0].title.set_fontsize("medium")
axs[0].legend(fontsize="small")
alphas = np.linspace(0.5, 25 / 26 - 1e-5, 400)
axs[1].semilogy(alphas, 1 / (5 - np.sqrt(alphas / (1 - alphas))), color="#0072B2", lw=1.8)
axs[1].axvline(25 / 26, color="#D55E00", lw=1.2)
axs[1].annotate("25/26 ", (25 / 26, 1e2), ha="right")
axs[1].set(xlabel="confidence α", ylabel="optimum", title="No optimum at the limit itself")
axs[1].title.set_fontsize("medium")

# %% [markdown]
# ## Two questions to try
#
# 1. Above equation 13 the optimal $a$ is called "parallel to $\bar x$". For which covariances is it, and to what is
#    it parallel otherwise?
# 2. Which of the three slips would a reader notice who only ever used $\nu=1$, the plane, and round numbers for
#    $\alpha$?

# %% [markdown]
# # Six sets, four answers
#
# **You will learn**
#
# - how to compare uncertainty sets fairly, although their radii have different units,
# - why three different norm balls give one and the same program,
# - which set never turns the answer, and why it is then the most expensive of all.
#
# Source: Lanckriet, El Ghaoui and Jordan (2003), equations 7 to 14, with other sets of covariances; each set has its
# own source.
#
# ## A fair comparison
#
# A radius of 0.3 means one thing in a Frobenius norm and another in nats. So each set gets the radius at which it
# stretches the deviation along the *nominal* answer $a_0$ by the same factor $\tau$:
#
# $$
# \sup_{\Sigma\in\mathcal U}\sqrt{a_0^\top\Sigma a_0}=\tau\sqrt{a_0^\top\Sigma_0a_0},\qquad\tau=1.25 .
# $$
#
# | Set | Members | $\sup\sqrt{a^\top\Sigma a}$ |
# | --- | ------- | --------------------------- |
# | `FrobeniusBall` | $\lVert\Sigma-\Sigma_0\rVert_F\le\rho$ | $\sqrt{a^\top(\Sigma_0+\rho I)a}$ |
# | `SpectralBall` | $\lVert\Sigma-\Sigma_0\rVert_2\le\rho$ | the same |
# | `NuclearBall` | $\lVert\Sigma-\Sigma_0\rVert_*\le\rho$ | the same |
# | `BuresBall` | transport distance at most $\rho$ | $\sqrt{a^\top\Sigma_0a}+\rho\lVert a\rVert$ |
# | `WishartBall` | Stein's loss at most $\rho$ | $w(\rho)\sqrt{a^\top\Sigma_0a}$ |
# | `EntrywiseInterval` | entries within $\rho\,\sigma_i\sigma_j$ | $\sqrt{a^\top\Sigma_0a+\rho(\sum_i\sigma_i\lvert a_i\rvert)^2}$ in the plane |

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq

import convexnovelty as cn
from convexnovelty import plots
from convexnovelty.uncertainty import (
    BuresBall,
    EntrywiseInterval,
    FrobeniusBall,
    NuclearBall,
    SpectralBall,
    WishartBall,
    adversary,
    evaluate_deviation,
)

rng = np.random.default_rng(12)
X = rng.multivariate_normal([3.5, 2.5], [[1.5, -0.5], [-0.5, 0.35]], size=80)
moments = cn.Moments.estimate(X)
confidence, stretch = 0.8, 1.25
nominal = cn.single_class_mpm(moments, confidence).solve()
a0 = nominal.region.normal
deviation = np.sqrt(a0 @ moments.covariance @ a0)
CLAIMS = []

sets = {}
for kind in (FrobeniusBall, SpectralBall, NuclearBall, BuresBall, WishartBall, EntrywiseInterval):
    radius = brentq(
        lambda r, kind=kind: evaluate_deviation(kind(r).centred(moments), a0) - stretch * deviation, 1e-3, 3, xtol=1e-12
    )
    sets[kind.__name__] = kind(radius)

# %% [markdown]
# ## One loop
#
# For each set, the program is solved, and an adversary that knows only the membership confirms the worst deviation at
# the answer.

# %%


def turned(a):
    """The angle between a normal and the nominal one, in degrees."""
    cosine = a @ a0 / (np.linalg.norm(a) * np.linalg.norm(a0))
    return float(np.degrees(np.arccos(min(cosine, 1.0))))


solutions = {name: cn.single_class_mpm(moments, confidence, uncertainty).solve() for name, uncertainty in sets.items()}
print(f"{'set':18} radius   optimum   turned by")
for name, solution in solutions.items():
    a = solution.region.normal
    print(f"{name:18} {sets[name].radius:.4f}  {solution.objective:.6f}  {turned(a):6.2f}°")
    CLAIMS.append(
        cn.Claim(
            f"{name}: the adversary's worst deviation is the optimum",
            adversary(sets[name].centred(moments), a).value,
            solution.objective,
            tolerance=1e-6,
            kind="adversary",
            source="equation 10",
            because="two solvers' accuracies add up",
        )
    )

# %% [markdown]
# ## Three balls, one program
#
# The supremum of $\langle aa^\top,\Delta\rangle$ over a ball of a norm is $\rho$ times the dual norm of $aa^\top$.
# The matrix has one singular value, $\lVert a\rVert^2$, so its spectral, Frobenius and nuclear norms all agree:
#
# $$
# \sup_{\lVert\Delta\rVert\le\rho}a^\top\Delta a=\rho\lVert aa^\top\rVert_{*}=\rho\,\lVert a\rVert^2 .
# $$
#
# The sets are nested and very different; what a half-space sees of them is the same.
#
# ## The set that never turns
#
# Stein's loss does not change under linear maps $x\mapsto Ax$. The worst deviation is therefore a multiple of the
# nominal one in *every* direction: the set replaces $\kappa$ by $w\kappa$ and leaves the direction alone.
#
# At the direction $a_0$ all six programs have the same worst deviation by construction. So $a_0$, at the right
# length, is feasible for each with the value that `WishartBall` has, which cannot do better. **Every set that turns,
# turns because it pays.**

# %%
wishart = solutions["WishartBall"]
a_w = wishart.region.normal
tau_kappa = stretch * np.sqrt(confidence / (1 - confidence))
zeta = np.sqrt(moments.mean @ np.linalg.solve(moments.covariance, moments.mean))
for name in ("SpectralBall", "NuclearBall"):
    CLAIMS.append(
        cn.Claim(
            f"{name} and FrobeniusBall have one optimum",
            solutions[name].objective,
            solutions["FrobeniusBall"].objective,
            tolerance=1e-7,
            kind="closed form",
            source="the norms of a matrix of rank one",
            because="two solves, with radii found to 1e-12",
        )
    )
CLAIMS += [
    cn.Claim(
        "WishartBall does not turn the normal",
        turned(a_w),
        0.0,
        tolerance=1e-3,
        kind="theory",
        source="Stein's loss is invariant under linear maps",
        because="an angle is the root of the solver's accuracy, in degrees",
    ),
    cn.Claim(
        "its optimum is tau/(zeta - tau kappa)",
        wishart.objective,
        float(stretch / (zeta - tau_kappa)),
        tolerance=1e-7,
        kind="closed form",
        source="equation 14 with both deviations stretched by tau",
        because="the solver's accuracy, with a radius found to 1e-12",
    ),
    cn.Claim(
        "no other set costs more at the same stretch",
        max(solution.objective for solution in solutions.values()),
        wishart.objective,
        "<=",
        tolerance=1e-7,
        kind="theory",
        source="the argument above",
        because="the solver's accuracy",
    ),
]

# %%
fig, axs = plt.subplots(1, 2, figsize=(10.2, 4.5), layout="constrained")
shown = {name: sets[name] for name in ("FrobeniusBall", "BuresBall", "WishartBall", "EntrywiseInterval")}
plots.uncertainty_sets({"nominal": None, **shown}, moments, direction=-a0, kappa=2.0, ax=axs[0])
axs[0].set_title("All hulls have one support in the direction $-a_0$", fontsize="medium")
plots.decision_regions(
    {"nominal": nominal, **{name: solutions[name] for name in shown}}, nominal=X, box=(-0.5, 7.5, -0.4, 4.4), ax=axs[1]
)
axs[1].plot(0, 0, "ks")
axs[1].set_title("The planes", fontsize="medium")

# %% [markdown]
# ## Two questions to try
#
# 1. Rotate the data by 45 degrees about the origin. Which of the six planes does not simply rotate with them?
# 2. Measure the second feature in other units, a hundred times larger. Now which planes describe the same points as
#    before?

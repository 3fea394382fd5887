# %% [markdown]
# # Swap the set
#
# **You will learn**
#
# - that the uncertainty set is one argument of a method, and that nothing else changes with it,
# - how to tell a guarantee from a hope: an adversary picks the worst moments of the set, and the region must hold,
# - that a set you wrote a minute ago is treated like the ones of the library.
#
# Source: Lanckriet, El Ghaoui and Jordan, *Robust novelty detection with single-class MPM* (2003), equations 1, 9 and
# 10, with other sets in place of their own.
#
# ## One sentence, four sets
#
# The single-class machine promises, for a half-space $\{z:a^\top z\ge1\}$ and a confidence $c$,
#
# $$
# \sup_{(m,\Sigma)\in\mathcal U}\ \sup_{x\sim(m,\Sigma)}\mathbb P\{a^\top x<1\}\le1-c
# \quad\Longleftrightarrow\quad\sup_{(m,\Sigma)\in\mathcal U}\bigl(-m^\top a+\kappa(c)\sqrt{a^\top\Sigma a}\bigr)\le-1 .
# $$
#
# The supremum on the right is all that a program has to know of $\mathcal U$. Here are four:
#
# | Set | Members | Worst deviation $\sqrt{a^\top\Sigma a}$, worst mean |
# | --- | ------- | --------------------------------------------------- |
# | `None` | the nominal moments | $\sqrt{a^\top\Sigma_0a}$ |
# | `MeanEllipsoid(nu)` | $(m-m_0)^\top\Sigma^{-1}(m-m_0)\le\nu^2$ | $m_0^\top a-\nu\sqrt{a^\top\Sigma a}$ |
# | `FrobeniusBall(rho)` | $\lVert\Sigma-\Sigma_0\rVert_F\le\rho$ | $\sqrt{a^\top(\Sigma_0+\rho I)a}$ |
# | one of your own | $-\rho\,\sigma_i\sigma_j\le(\Sigma-\Sigma_0)_{ij}\le\rho\,\sigma_i\sigma_j$ | derived from the line on the left |

# %%
import matplotlib.pyplot as plt
import numpy as np

import convexnovelty as cn
from convexnovelty import plots
from convexnovelty.uncertainty import (
    Adversary,
    CovarianceSet,
    EntrywiseInterval,
    FrobeniusBall,
    MeanEllipsoid,
    as_moment_set,
)

rng = np.random.default_rng(1)
X = rng.multivariate_normal([4.0, 2.5], [[1.2, 0.4], [0.4, 0.5]], size=60)
moments = cn.Moments.estimate(X)
confidence = 0.8
kappa = np.sqrt(confidence / (1 - confidence))
CLAIMS = []


class RelativeEntries(CovarianceSet):
    """Each entry of the covariance is known up to a share of the deviations of its two features."""

    def membership(self, S):
        deviations = np.sqrt(np.diag(self.center))
        slack = self.radius * np.outer(deviations, deviations)
        return [S - self.center <= slack, self.center - S <= slack]


sets = {
    "nominal": None,
    "mean": MeanEllipsoid(0.2),
    "covariance": FrobeniusBall(0.3),
    "my own": RelativeEntries(0.3),
}

# %% [markdown]
# The loop below contains one call of a factory, and the set is its argument. For each answer an adversary, which
# knows the set by its membership constraints and has never seen a counterpart, picks the worst pair of moments; then
# the extremal distribution with those moments is built. No distribution of the set leaves more than $1-c$ outside,
# and that one leaves exactly this much.

# %%
solutions = {}
print("set         optimum    angle of a   worst probability outside")
for name, uncertainty in sets.items():
    solution = solutions[name] = cn.single_class_mpm(moments, confidence, uncertainty).solve()
    a = solution.region.normal
    worst = Adversary(as_moment_set(uncertainty).centred(moments))(-a, kappa)
    law = cn.tails.extremal_distribution(*worst.member, -a, -1.0)
    print(
        f"{name:10} {solution.objective:8.5f} {np.degrees(np.arctan2(a[1], a[0])):9.2f}° {law.probability_outside:16.6f}"
    )
    CLAIMS += [
        cn.Claim(
            f"{name}: the adversary's worst loss meets the constraint exactly",
            worst.value,
            -1.0,
            tolerance=1e-6,
            kind="adversary",
            source="equation 10 of the single-class machine",
            because="two solvers' accuracies add up",
        ),
        cn.Claim(
            f"{name}: the worst distribution of the set leaves 1 - c outside",
            law.probability_outside,
            1 - confidence,
            tolerance=1e-6,
            kind="closed form",
            source="equation 1 of the single-class machine",
            because="two solvers' accuracies add up",
        ),
    ]

# %% [markdown]
# ## What the four have in common, and what not
#
# - Every set contains the nominal moments, so no optimum is below the nominal one.
# - The ellipsoid of means replaces $\kappa$ by $\kappa+\nu$: the direction of $a$ stays.
# - The Frobenius ball replaces $\Sigma_0$ by $\Sigma_0+\rho I$: the direction turns towards the mean itself.
# - For the entrywise set, $\sup a^\top\Sigma a$ is at most $a^\top\Sigma_0a+\rho(\sum_i\sigma_i\lvert a_i\rvert)^2$.
#   The bound is reached by adding $\rho ss^\top$ with $s_i=\pm\sigma_i$, which is semidefinite, so it is the
#   supremum.

# %%
nominal = solutions["nominal"]
for name in ("mean", "covariance", "my own"):
    CLAIMS.append(
        cn.Claim(
            f"{name}: robustness is not for free",
            solutions[name].objective,
            nominal.objective,
            ">=",
            tolerance=1e-9,
            source="a larger set has a larger worst case",
            because="the solver's accuracy",
        )
    )


def direction(name):
    a = solutions[name].region.normal
    return a / np.linalg.norm(a)


ridge = np.linalg.solve(moments.covariance + 0.3 * np.eye(2), moments.mean)
sigma, a = np.sqrt(np.diag(moments.covariance)), direction("my own")
entrywise = np.sqrt(a @ moments.covariance @ a + 0.3 * (sigma @ np.abs(a)) ** 2)
derived = cn.uncertainty.evaluate_deviation(RelativeEntries(0.3).centred(moments), a)
CLAIMS += [
    cn.Claim(
        "an uncertain mean leaves the direction alone",
        float(direction("mean") @ direction("nominal")),
        1.0,
        tolerance=1e-9,
        source="remark below equation 9",
        because="the cosine is quadratic in the solver's error",
    ),
    cn.Claim(
        "the Frobenius ball leads to the direction of a ridge",
        float(direction("covariance") @ ridge / np.linalg.norm(ridge)),
        1.0,
        tolerance=1e-9,
        kind="closed form",
        source="equation 14",
        because="the cosine is quadratic in the solver's error",
    ),
    cn.Claim(
        "the library has my set under the name EntrywiseInterval, with a counterpart of its own",
        solutions["my own"].objective,
        cn.single_class_mpm(moments, confidence, EntrywiseInterval(0.3)).solve().objective,
        tolerance=1e-6,
        kind="closed form",
        source="El Ghaoui, Oks and Oustry (2003)",
        because="the accuracy of a semidefinite program",
    ),
    cn.Claim(
        "the counterpart derived from my membership is the formula",
        derived,
        float(entrywise),
        tolerance=1e-6,
        kind="closed form",
        source="the argument above",
        because="the accuracy of a semidefinite program",
    ),
]

# %%
fig, axs = plt.subplots(1, 2, figsize=(9.8, 4.3), layout="constrained")
plots.uncertainty_sets(sets, moments, kappa=kappa, ax=axs[0])
axs[0].set_title("All ellipses of radius $\\kappa$ of each set, and their hull", fontsize="medium")
plots.decision_regions(solutions, nominal=X, box=(-0.3, 8, -0.5, 5), ax=axs[1])
axs[1].plot(0, 0, "ks")
axs[1].set_title("The half-space supports the hull", fontsize="medium")

# %% [markdown]
# ## Two questions to try
#
# 1. Write a fifth set: covariances whose trace is at most $(1+\rho)\operatorname{tr}\Sigma_0$ and that are at least
#    $\Sigma_0/(1+\rho)$. Does the adversary agree with the derived counterpart?
# 2. Replace `single_class_mpm` by `two_class_mpm` and give each class a set. What has to change besides the name?

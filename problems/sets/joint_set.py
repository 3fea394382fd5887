# %% [markdown]
# # Mean and covariance in one set
#
# **You will learn**
#
# - why a mean and a covariance that are both at their worst may belong to no distribution nearby,
# - the counterpart of the Gelbrich ball, derived in four lines,
# - how much a product of two sets gives away, by a number.
#
# Source: Nguyen, Shafieezadeh-Abadeh, Kuhn and Mohajerin Esfahani (2021) and Gelbrich (1990) for the ball; Delage and
# Ye (2010) for the second set.
#
# ## Move the law, then ask for its moments
#
# Let the distribution of ordinary points be within the transport distance $\rho$ of one with the nominal moments. The
# means and covariances that can then occur satisfy
#
# $$
# \lVert m-m_0\rVert^2+\operatorname{tr}\bigl(\Sigma+\Sigma_0-2(\Sigma_0^{1/2}\Sigma\Sigma_0^{1/2})^{1/2}\bigr)\le\rho^2 .
# $$
#
# There is *one* budget: what is spent on moving the mean is missing for stretching the covariance.

# %%
import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import convexnovelty as cn
from convexnovelty import plots
from convexnovelty.uncertainty import (
    Adversary,
    BuresBall,
    DelageYe,
    GelbrichBall,
    MeanSet,
    evaluate_loss,
)

rng = np.random.default_rng(2)
X = rng.multivariate_normal([4.0, 3.0], [[1.2, -0.5], [-0.5, 0.6]], size=120)
moments = cn.Moments.estimate(X)
c, kappa, rho = 0.8, 2.0, 0.4
CLAIMS = []


class Disc(MeanSet):
    """Means within a Euclidean distance."""

    def membership(self, m):
        return [cp.norm(m - self.center) <= self.radius]


joint = GelbrichBall(rho)
product = Disc(rho) * BuresBall(rho)

# %% [markdown]
# ## Its counterpart
#
# Along a direction $a$ only the projection $a^\top x$ matters, with mean $\mu$ and deviation $\sigma$. Transport
# cannot move a projection by less than it moves the law:
# $(\mu-\mu_0)^2+(\sigma-\sigma_0)^2\le\rho^2\lVert a\rVert^2$, and this much can be reached by moving and stretching
# along $a$. So the worst loss is a linear function over a disc,
#
# $$
# \sup\ \mu+\kappa\sigma=\mu_0+\kappa\sigma_0+\rho\lVert a\rVert\sup_{s^2+t^2\le1}(s+\kappa t)
# =m_0^\top a+\kappa\sqrt{a^\top\Sigma_0a}+\rho\sqrt{1+\kappa^2}\,\lVert a\rVert .
# $$
#
# The product of two separate balls of the same radius has the square $\lvert s\rvert,\lvert t\rvert\le1$ instead of
# the disc, hence $1+\kappa$ in place of $\sqrt{1+\kappa^2}$. The ratio is largest, $\sqrt2$, at $\kappa=1$, that is
# for a confidence of one half.

# %%
a = np.array([-0.8, 0.6])
base = moments.mean @ a + kappa * np.sqrt(a @ moments.covariance @ a)
disc = base + rho * np.sqrt(1 + kappa**2) * np.linalg.norm(a)
square = base + rho * (1 + kappa) * np.linalg.norm(a)
worst = Adversary(joint.centred(moments))(a, kappa)
CLAIMS += [
    cn.Claim(
        "the adversary of the joint set reaches the disc's formula",
        worst.value,
        float(disc),
        tolerance=1e-6,
        kind="adversary",
        source="the derivation above",
        because="the accuracy of a semidefinite program",
    ),
    cn.Claim(
        "the product's worst loss is the square's",
        evaluate_loss(product.centred(moments), a, kappa),
        float(square),
        tolerance=1e-6,
        kind="closed form",
        source="the derivation above",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "derived from membership alone, the joint counterpart is the same",
        evaluate_loss(joint.centred(moments), a, kappa, route="derived"),
        float(disc),
        tolerance=1e-5,
        kind="formulation",
        source="conic duality of the membership",
        because="the accuracy of a semidefinite program with a square root of a matrix in it",
    ),
]

# %% [markdown]
# ## The worst pair of the product is no member of the joint set
#
# Take the worst mean and the worst covariance of the product and measure their distance from the nominal law: it is
# $\sqrt2\,\rho$.

# %%


def root(S):
    values, vectors = np.linalg.eigh(S)
    return (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T


def distance(m, S):
    """Gelbrich's distance from the nominal moments."""
    S0 = moments.covariance
    bures = np.trace(S + S0 - 2 * root(root(S0) @ S @ root(S0)))
    return float(np.sqrt((m - moments.mean) @ (m - moments.mean) + bures))


m, S = Adversary(product.centred(moments))(a, kappa).member
CLAIMS += [
    cn.Claim(
        "the joint set's worst member is at the distance rho",
        distance(*worst.member),
        rho,
        tolerance=1e-4,
        kind="closed form",
        source="Gelbrich (1990)",
        because="the distance is the root of a residual",
    ),
    cn.Claim(
        "the product's worst member is at the distance rho times the root of two",
        distance(m, S),
        float(np.sqrt(2) * rho),
        tolerance=1e-3,
        kind="closed form",
        source="Gelbrich (1990)",
        because="the adversary's worst covariance is known to the root of its accuracy",
    ),
]

# %% [markdown]
# ## In the machine
#
# A larger worst loss makes a more careful half-space. Both promise the same about distributions that are within the
# transport distance; the product promises it about others as well, which nobody asked for.
#
# The set of Delage and Ye shows the same effect. It bounds the second moment about the nominal mean,
# $\Sigma+(m-m_0)(m-m_0)^\top\preceq\gamma_2\Sigma_0$, and what the mean takes, $u^2$ of $\gamma_2$, is missing from
# the variance:
#
# $$
# \sup=m_0^\top a+\sqrt{a^\top\Sigma_0a}\ \max\bigl\{u+\kappa v:\ u\le\sqrt{\gamma_1},\ u^2+v^2\le\gamma_2\bigr\}.
# $$

# %%
solutions = {
    "nominal": cn.single_class_mpm(moments, c).solve(),
    "joint: Gelbrich": cn.single_class_mpm(moments, c, joint).solve(),
    "product of balls": cn.single_class_mpm(moments, c, product).solve(),
    "joint: Delage and Ye": cn.single_class_mpm(moments, c, DelageYe(0.1, 1.4)).solve(),
}
for name, solution in solutions.items():
    print(f"{name:22} {solution.objective:.5f}")
deviation = float(np.sqrt(a @ moments.covariance @ a))
parts = np.sqrt(0.1) + kappa * np.sqrt(1.4 - 0.1)
CLAIMS += [
    cn.Claim(
        "Delage and Ye: sqrt(g1) + kappa sqrt(g2 - g1) deviations",
        evaluate_loss(DelageYe(0.1, 1.4).centred(moments), a, kappa),
        float(moments.mean @ a + deviation * parts),
        tolerance=1e-6,
        kind="closed form",
        source="Rujeerapaiboon, Kuhn and Wiesemann (2016)",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "the joint set costs less than the product",
        solutions["joint: Gelbrich"].objective,
        solutions["product of balls"].objective,
        "<=",
        tolerance=0.0,
        kind="theory",
        source="the joint set is a part of the product",
        because="a strict inequality, far from equality here",
    ),
]

# %%
fig, axs = plt.subplots(1, 2, figsize=(10.2, 4.4), layout="constrained")
shown = {
    "nominal": None,
    "joint: Gelbrich": joint,
    "product of balls": product,
    "joint: Delage and Ye": DelageYe(0.1, 1.4),
}
plots.uncertainty_sets(shown, moments, kappa=kappa, ax=axs[0])
axs[0].set_title("The hull of all ellipses of radius $\\kappa$", fontsize="medium")
kappas = np.linspace(0, 6, 200)
axs[1].plot(kappas, (1 + kappas) / np.sqrt(1 + kappas**2), color="#0072B2", lw=1.8)
axs[1].plot(1, np.sqrt(2), "o", color="#D55E00")
axs[1].annotate(" √2 at κ = 1", (1, np.sqrt(2)), fontsize="small")
axs[1].set(xlabel="κ", ylabel="(1 + κ) / √(1 + κ²)", title="How much more the product allows")
axs[1].title.set_fontsize("medium")

# %% [markdown]
# ## Two questions to try
#
# 1. At confidence 0.99 the ratio of the two is near one. Which of the two budgets does the worst case then spend, and
#    why?
# 2. Build the joint set from two product sets: the hull of both, or their intersection. Which of the two has a
#    counterpart you can write down?

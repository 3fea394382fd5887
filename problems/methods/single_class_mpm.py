# %% [markdown]
# # From a chance constraint to a formula
#
# **You will learn**
#
# - why a promise about *every* distribution with a given mean and covariance is one second-order cone,
# - how the optimum is written down without a solver, and when there is none,
# - that the same answer comes out of five programs that share no line of code.
#
# Source: Lanckriet, El Ghaoui and Jordan, *Robust novelty detection with single-class MPM* (2003), equations 1 and 10
# to 16.
#
# ## The question
#
# Ordinary points $x$ have the mean $\bar x$ and the covariance $\Sigma$. Find a half-space $\{z: a^\top z\ge b\}$
# without the origin that an ordinary point enters with probability at least $\alpha$, whatever its distribution is,
# and of all these the one that is farthest from the origin in the metric of $\Sigma$:
#
# $$
# \max_{a\ne0,\,b>0}\ \frac{b}{\sqrt{a^\top\Sigma a}}\quad\text{s.t.}\quad\inf_{x\sim(\bar x,\Sigma)}\mathbb P\{a^\top x\ge b\}\ge\alpha .
# $$

# %%
import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import convexnovelty as cn
from convexnovelty import plots
from convexnovelty.methods import single_class_mpm as mpm
from convexnovelty.uncertainty import FrobeniusBall, MeanEllipsoid

rng = np.random.default_rng(3)
X = np.column_stack([2.0 + rng.exponential(1.2, 250), 3.5 - rng.exponential(0.8, 250)])  # far from Gaussian, on purpose
moments = cn.Moments.estimate(X)
mean, S, alpha = moments.mean, moments.covariance, 0.8
kappa = np.sqrt(alpha / (1 - alpha))
CLAIMS = []

# %% [markdown]
# ## Step 1: the probability becomes a distance
#
# Let $\sigma^2=a^\top\Sigma a$ and $a^\top\bar x-b=t\sigma$ with $t>0$. The variable $u=a^\top\bar x-a^\top x$ has
# mean zero and variance $\sigma^2$, so for every $s>0$
#
# $$
# \mathbb P\{u\ge t\sigma\}\le\frac{\mathbb E(u+s)^2}{(t\sigma+s)^2}=\frac{\sigma^2+s^2}{(t\sigma+s)^2},
# \qquad\text{and } s=\sigma/t \text{ gives}\qquad \mathbb P\{a^\top x\le b\}\le\frac1{1+t^2}.
# $$
#
# Two atoms attain it, one of them at $b$. Hence the promise holds for all distributions if and only if
# $1/(1+t^2)\le1-\alpha$, that is
#
# $$
# a^\top\bar x-b\ \ge\ \kappa(\alpha)\sqrt{a^\top\Sigma a},\qquad\kappa(\alpha)=\sqrt{\alpha/(1-\alpha)} .
# $$
#
# ## Step 2: a cone program
#
# Multiplying $a$ and $b$ by one number changes nothing, so $b=1$, and the largest distance is the smallest deviation:
#
# $$
# \min_a\ \sqrt{a^\top\Sigma a}\quad\text{s.t.}\quad a^\top\bar x-1\ge\kappa(\alpha)\sqrt{a^\top\Sigma a}.\qquad(\text{11})
# $$

# %%
a = cp.Variable(2)
deviation = cp.norm(np.linalg.cholesky(S).T @ a)
by_hand = cp.Problem(cp.Minimize(deviation), [mean @ a - 1 >= kappa * deviation])
by_hand.solve(solver=cp.CLARABEL)

problem = cn.single_class_mpm(moments, confidence=alpha)
solution = problem.solve()
print(problem.kind, solution.objective, solution.guarantee, sep="\n")
CLAIMS.append(
    cn.Claim(
        "the factory solves the program that is written above",
        solution.objective,
        float(by_hand.value),
        tolerance=1e-6,
        kind="formulation",
        source="equation 11",
        because="two solves by an interior-point method; CVXPY's defaults stop at 1e-8",
    )
)

# %% [markdown]
# The worst distribution can be built. It has exactly the mean and covariance of the data, and puts $1-\alpha$ on the
# boundary.

# %%
normal = solution.region.normal
worst = cn.tails.extremal_distribution(mean, S, -normal, -solution.region.offset)
spread = (worst.points - mean).T @ ((worst.points - mean) * worst.weights[:, None])
CLAIMS += [
    cn.Claim(
        "the worst distribution leaves 1 - alpha on the boundary or beyond",
        worst.probability_outside,
        1 - alpha,
        tolerance=1e-7,
        kind="closed form",
        source="equation 1",
        because="the solver's accuracy in the offset",
    ),
    cn.Claim(
        "and has the covariance of the data",
        float(np.abs(spread - S).max()),
        0.0,
        tolerance=1e-12,
        kind="closed form",
        source="equation 1",
        because="rounding",
    ),
    cn.Claim(
        "the sample itself, being one of the distributions, has at most 1 - alpha outside",
        float(np.mean(~solution.region.contains(X))),
        1 - alpha,
        "<=",
        tolerance=0.0,
        kind="theory",
        source="equation 1, for the empirical distribution",
        because="a count",
    ),
]

# %% [markdown]
# ## Step 3: a formula
#
# Write $a=\lambda\Sigma^{-1}\bar x+z$ with $z^\top\bar x=0$. The two parts are orthogonal in the metric of $\Sigma$,
# so $z$ adds to the deviation and nothing to the mean: $z=0$. With $\zeta=\sqrt{\bar x^\top\Sigma^{-1}\bar x}$ the
# constraint reads $\lambda(\zeta^2-\kappa\zeta)\ge1$, and the smallest $\lambda$ is best:
#
# $$
# a_*=\frac{\Sigma^{-1}\bar x}{\zeta^2-\kappa(\alpha)\zeta},\qquad\sqrt{a_*^\top\Sigma a_*}=\frac1{\zeta-\kappa(\alpha)},
# \qquad\text{feasible if and only if }\kappa(\alpha)<\zeta .\qquad(\text{14})
# $$
#
# At $\kappa=\zeta$ the length of $a$ is infinite. The error message knows the limit, $\alpha<\zeta^2/(1+\zeta^2)$.

# %%
zeta = float(np.sqrt(mean @ np.linalg.solve(S, mean)))
formula = np.linalg.solve(S, mean) / (zeta**2 - kappa * zeta)
try:
    problem.set(confidence=0.999).solve()
except cn.errors.InfeasibleError as error:
    print(error)
    limit = error.limit
problem.set(confidence=alpha)
CLAIMS += [
    cn.Claim(
        "the optimum is 1/(zeta - kappa)",
        solution.objective,
        1 / (zeta - kappa),
        tolerance=1e-8,
        kind="closed form",
        source="equation 14",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "the normal is the formula's",
        float(np.linalg.norm(normal - formula) / np.linalg.norm(formula)),
        0.0,
        tolerance=1e-5,
        kind="closed form",
        source="equation 14",
        because="an error e of the objective moves the solution by about the root of e",
    ),
    cn.Claim(
        "the largest feasible confidence is zeta^2/(1 + zeta^2)",
        limit,
        zeta**2 / (1 + zeta**2),
        tolerance=1e-9,
        kind="closed form",
        source="below equation 13, with a strict inequality",
        because="rounding",
    ),
]

# %% [markdown]
# ## Step 4: wrong moments
#
# The moments come from a sample. Let the mean lie anywhere in
# $(\bar x-\bar x_0)^\top\Sigma^{-1}(\bar x-\bar x_0)\le\nu^2$ and the covariance in
# $\lVert\Sigma-\Sigma_0\rVert_F\le\rho$. The worst mean lowers $a^\top\bar x$ by $\nu\sqrt{a^\top\Sigma a}$, and the
# worst covariance is $\Sigma_0+\rho\,aa^\top/\lVert a\rVert^2$, so that everything above holds with
#
# $$
# \kappa(\alpha)\to\kappa(\alpha)+\nu,\qquad\Sigma\to\Sigma_0+\rho I .
# $$
#
# The semi-infinite program, one constraint for each member of the set, is solved below without any of this: an
# adversary looks for the worst member within the constraints that define the set, the member becomes a constraint,
# and so on.

# %%
nu, rho = 0.1, 0.15
uncertainty = MeanEllipsoid(nu) * FrobeniusBall(rho)
robust = cn.single_class_mpm(moments, alpha, uncertainty)
answer = robust.solve()
zeta_r = float(np.sqrt(mean @ np.linalg.solve(S + rho * np.eye(2), mean)))
planes = mpm.semi_infinite(moments, alpha, uncertainty)
print(f"{answer.objective:.8f} by the cone, {planes.objective:.8f} by cutting planes")
CLAIMS += [
    cn.Claim(
        "with an uncertain mean and covariance the optimum is 1/(zeta - kappa - nu)",
        answer.objective,
        1 / (zeta_r - kappa - nu),
        tolerance=1e-8,
        kind="closed form",
        source="equations 9 and 14",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "cutting planes, which know the set by its membership alone, agree",
        planes.objective,
        answer.objective,
        tolerance=1e-6,
        kind="adversary",
        source="equation 10",
        because="the planes stop at a gap of 1e-7",
    ),
    cn.Claim(
        "so does the conic dual",
        robust.dual().solve().objective,
        answer.objective,
        tolerance=1e-7,
        kind="conic dual",
        source="strong duality of equation 11",
        because="two solves",
    ),
]

# %% [markdown]
# ## Step 5: feature space
#
# With a kernel, $a=\sum_i\gamma_i\varphi(x_i)$. For the Gram matrix $K$, its column means $k$ and
# $L=(K-\mathbf 1k^\top)/\sqrt N$ the program is
#
# $$
# \min_\gamma\sqrt{\gamma^\top(L^\top L+\rho K)\gamma}\quad\text{s.t.}\quad
# \gamma^\top k-1\ge(\kappa(\alpha)+\nu)\sqrt{\gamma^\top(L^\top L+\rho K)\gamma},\qquad(\text{15})
# $$
#
# with a formula like the one above. Since $L^\top L+\rho K=K(K/N+\rho I)-kk^\top$, its direction is
# $(K+N\rho I)^{-1}\mathbf 1$: the machine is kernel ridge regression of the constant one. In the library a kernel is
# a choice of coordinates, so that program 11 is solved in feature space as it stands.

# %%
features = cn.KernelFeatures(X[:120], cn.kernels.gaussian(gamma="scale"))
in_features = cn.Moments.estimate(features.training)
ball = FrobeniusBall(0.01)
coordinates = cn.single_class_mpm(in_features, alpha, ball).solve()
printed = mpm.kernel_socp(features, in_features, alpha, ball).solve()
ridge = mpm.kernel_ridge(features, in_features, alpha, ball)

fit = np.linalg.solve(features.gram + 120 * 0.01 * np.eye(120), np.ones(120))
cosine = fit @ features.gram @ ridge.values["gamma"]
cosine /= np.sqrt((fit @ features.gram @ fit) * (ridge.values["gamma"] @ features.gram @ ridge.values["gamma"]))
for name, reference, kind, source in (
    ("the paper's kernel program", printed.objective, "formulation", "equation 15"),
    (
        "equation 16",
        mpm.kernel_closed_form(features, in_features, alpha, ball).objective,
        "closed form",
        "equation 16",
    ),
    ("the ridge form", ridge.objective, "closed form", "equation 16 with L'L + rho K = K(K/N + rho I) - kk'"),
):
    CLAIMS.append(
        cn.Claim(
            f"{name} has the optimum of the program in coordinates",
            coordinates.objective,
            reference,
            tolerance=1e-6,
            kind=kind,
            source=source,
            because="a Gram matrix loses half of the digits of the smallest variances",
        )
    )
CLAIMS.append(
    cn.Claim(
        "the normal is the one of kernel ridge regression of the constant one",
        float(cosine),
        1.0,
        tolerance=1e-9,
        kind="closed form",
        source="not in the paper",
        because="two solutions of one linear system",
    )
)

# %%
fig, axs = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
plots.decision_regions(solution, nominal=X, box=(-0.3, 9, -2.2, 4.3), ax=axs[0])
circle = np.linspace(0, 2 * np.pi, 200)
axs[0].plot(*(mean[:, None] + kappa * np.linalg.cholesky(S) @ np.array([np.cos(circle), np.sin(circle)])), "k--", lw=1)
axs[0].plot(0, 0, "ks")
axs[0].annotate("origin", (0, 0), textcoords="offset points", xytext=(6, -12))
axs[0].set_title("The plane touches the ellipse of radius $\\kappa$", fontsize="medium")
plots.decision_regions(coordinates, features, nominal=X[:120], box=(0.5, 9, -2.2, 4.3), ax=axs[1])
axs[1].set_title("The same program in a Gaussian kernel's space", fontsize="medium")
# %% [markdown]
# ## All steps at once
#
# `cn.check` walks every arrow of the derivation on this very problem.

# %%
report = cn.check(robust)
print(report.summary)
CLAIMS.append(
    cn.Claim(
        "no step of the derivation fails on this problem",
        report.count("fail"),
        0,
        tolerance=0.0,
        kind="theory",
        source="the derivation graph",
        because="a count",
    )
)

# %% [markdown]
# ## Two questions to try
#
# 1. Move all points by the same vector, so that the mean comes nearer to the origin. At which confidence does the
#    problem become infeasible, and does the picture explain it?
# 2. With $\nu$ alone the direction of $a$ stays where it is, and with $\rho$ alone it turns. Towards which vector
#    does it turn as $\rho\to\infty$, and why?

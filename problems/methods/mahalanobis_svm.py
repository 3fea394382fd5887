# %% [markdown]
# # Distances measured by the scatter of the data
#
# **You will learn**
#
# - what changes in the one-class machine when distances are Mahalanobis distances,
# - how an uncertain covariance becomes a ridge, and a game becomes one quadratic program,
# - how Woodbury's identity takes an inverse covariance out of feature space.
#
# Source: Tsang, Kwok and Li, *Learning the kernel in Mahalanobis one-class support vector machines* (2006), section
# II.
#
# ## Primal, and a game
#
# The plane $\{z:w^\top z=\rho\}$ is $\rho/\sqrt{w^\top\Sigma w}$ deviations away from the origin. Pushing it away,
# with a price for points left behind, is
#
# $$
# \min_{w,\xi,\rho}\ \tfrac12w^\top\Sigma w+\frac1{\nu n}\sum_i\xi_i-\rho\quad\text{s.t.}\quad w^\top x_i\ge\rho-\xi_i,\quad\xi_i\ge0 .\qquad(\text{4})
# $$
#
# The covariance is an estimate $\Sigma^0$. Against the worst one within $\lVert\Sigma-\Sigma^0\rVert_F\le r$ the
# first term is
#
# $$
# \max_{\lVert\Sigma-\Sigma^0\rVert_F\le r}\tfrac12w^\top\Sigma w=\tfrac12w^\top(\Sigma^0+rI)w=:\tfrac12w^\top\Sigma_rw .\qquad(\text{5})
# $$

# %%
import matplotlib.pyplot as plt
import numpy as np

import convexnovelty as cn
from convexnovelty import plots
from convexnovelty.methods import mahalanobis_svm as mahalanobis
from convexnovelty.uncertainty import FrobeniusBall

rng = np.random.default_rng(0)
X = rng.multivariate_normal([2.5, 2.0], [[1.8, 1.1], [1.1, 0.9]], 60)
n, nu, r = 60, 0.15, 0.05
features = cn.LinearFeatures(X)
H = np.eye(n) - 1 / n
S0 = X.T @ H @ X / n
Sr = S0 + r * np.eye(2)
CLAIMS = []

solution = cn.mahalanobis_svm(features, nu, FrobeniusBall(r)).solve()
planes = mahalanobis.semi_infinite(features, nu, FrobeniusBall(r))
w = solution.values["w"]
print(solution)
CLAIMS.append(
    cn.Claim(
        "the game against an adversary, by cutting planes, has the value of the ridge",
        planes.objective,
        solution.objective,
        tolerance=1e-6,
        kind="adversary",
        source="equation 5",
        because="the planes stop at a gap of 1e-7",
    )
)

# %% [markdown]
# ## The dual is a machine on whitened points
#
# Stationarity gives $\Sigma_rw=\sum_i\alpha_ix_i$, and the dual is that of the one-class machine with another Gram
# matrix:
#
# $$
# \min_\alpha\ \tfrac12\alpha^\top X\Sigma_r^{-1}X^\top\alpha\quad\text{s.t.}\quad0\le\alpha_i\le\frac1{\nu n},\ \sum_i\alpha_i=1,\qquad(\text{6})
# $$
#
# with the points as rows of $X$. The same comes out if the points are whitened first, $x\mapsto\Sigma_r^{-1/2}x$.

# %%
root = np.linalg.cholesky(Sr)
whitened = cn.LinearFeatures(np.linalg.solve(root, X.T).T)
plain = cn.one_class_svm(whitened, nu).solve()
CLAIMS += [
    cn.Claim(
        "the plain machine on whitened points has minus the value",
        -plain.objective,
        solution.objective,
        tolerance=1e-8,
        kind="formulation",
        source="equation 6",
        because="two solves at 1e-10",
    ),
    cn.Claim(
        "and the same normal, taken back",
        float(np.abs(np.linalg.solve(root.T, plain.region.normal) - w).max()),
        0.0,
        tolerance=1e-5,
        kind="formulation",
        source="equation 6",
        because="an error e of the objective moves the solution by about the root of e",
    ),
]

# %% [markdown]
# ## Feature space: no covariance is ever formed
#
# In a feature space $\Sigma_r$ may have infinitely many rows. But $\Sigma^0=cX^\top HX$ with the centring
# $H=I-\frac1n\mathbf 1\mathbf 1^\top$, and Woodbury's identity turns the inverse around. With $K=XX^\top$,
#
# $$
# X\Sigma_r^{-1}X^\top=\frac1r\Bigl(K-cKH(rI+cHKH)^{-1}HK\Bigr)=\bigl(rK^{-1}+cH\bigr)^{-1},\qquad(\text{7, 8})
# $$
#
# the last form for an invertible $K$. Nothing but the Gram matrix is left.

# %%
gaussian = cn.KernelFeatures(X, cn.kernels.gaussian(width=4.0))
K, c = gaussian.gram, 1 / n
phi = np.asarray(gaussian.training)
direct = phi @ np.linalg.solve(phi.T @ H @ phi * c + r * np.eye(phi.shape[1]), phi.T)
woodbury = (K - c * K @ H @ np.linalg.solve(r * np.eye(n) + c * H @ K @ H, H @ K)) / r
in_features = cn.mahalanobis_svm(gaussian, nu, FrobeniusBall(r)).solve()
CLAIMS += [
    cn.Claim(
        "Woodbury's identity, with K alone",
        float(np.abs(woodbury - direct).max() / np.abs(direct).max()),
        0.0,
        tolerance=1e-9,
        kind="closed form",
        source="equation 7",
        because="rounding, magnified by the condition of the two systems",
    ),
    cn.Claim(
        "the program in coordinates and the dual in K agree in a kernel's space",
        -mahalanobis.kernel_dual(gaussian, nu, FrobeniusBall(r)).solve().objective,
        in_features.objective,
        tolerance=1e-7,
        kind="formulation",
        source="equations 5 and 7",
        because="two solves",
    ),
    cn.Claim(
        "so does sequential minimal optimisation",
        -mahalanobis.sequential(gaussian, nu, FrobeniusBall(r)).objective,
        in_features.objective,
        tolerance=1e-7,
        kind="algorithm",
        source="equation 7, by section 8.4 of Schölkopf and Smola (2001)",
        because="the solver's accuracy",
    ),
]

# %% [markdown]
# ## Both ends again
#
# At $c=0$ the metric is $rI$: the machine is the plain one divided by $r$. And at $\nu=1$ the only feasible
# multipliers are $1/n$, so $w=\Sigma_r^{-1}\bar x$: **the direction of the minimax probability machine**, which knows
# two moments and no points.

# %%
flat = cn.mahalanobis_svm(features, nu, FrobeniusBall(r), covariance_weight=0.0).solve()
everyone = cn.mahalanobis_svm(features, 1.0, FrobeniusBall(r)).solve()
minimax = cn.single_class_mpm(cn.Moments.estimate(X), 0.5, FrobeniusBall(r)).solve()
cosine = everyone.values["w"] @ minimax.region.normal
cosine /= np.linalg.norm(everyone.values["w"]) * np.linalg.norm(minimax.region.normal)
CLAIMS += [
    cn.Claim(
        "without the scatter it is the plain machine over r",
        -flat.objective,
        cn.one_class_svm(features, nu).solve().objective / r,
        tolerance=1e-7,
        kind="formulation",
        source="below equation 6",
        because="two solves",
    ),
    cn.Claim(
        "at nu = 1 the normal is that of the minimax probability machine",
        float(cosine),
        1.0,
        tolerance=1e-9,
        kind="closed form",
        source="equation 6, and equation 14 of Lanckriet et al. (2003)",
        because="the cosine is quadratic in the solver's error",
    ),
]

# %%
fig, axs = plt.subplots(1, 2, figsize=(9.8, 4.2), layout="constrained")
plots.decision_regions(
    {"Euclidean": cn.one_class_svm(features, nu).solve(), "Mahalanobis": solution},
    nominal=X,
    box=(-2, 6.5, -1.2, 5),
    ax=axs[0],
)
axs[0].plot(0, 0, "ks")
axs[0].set_title("The metric turns the plane along the cloud", fontsize="medium")
plots.decision_regions(
    {"Euclidean": cn.one_class_svm(gaussian, nu).solve(), "Mahalanobis": in_features},
    gaussian,
    nominal=X,
    box=(-2, 6.5, -1.2, 5),
    ax=axs[1],
)
axs[1].set_title("The same two in a Gaussian kernel's space", fontsize="medium")

# %% [markdown]
# ## Two questions to try
#
# 1. Let $r$ grow. Where does the plane of the left picture go, and why is there no further change from some size on?
# 2. Multiply one feature by a hundred. Which of the two regions of the left picture stays the same set of points if
#    $r$ is small, and why does a large $r$ spoil it?

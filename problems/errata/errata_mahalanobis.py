# %% [markdown]
# # Erratum of the Mahalanobis one-class machine
#
# **You will learn**
#
# - how to test the sentence "this reduces to that" of a paper: solve both, and let the checker compare,
# - which scaling makes an interval of covariances agree with a ball,
# - that two different sets can have one worst case.
#
# Source: Tsang, Kwok and Li (2006), section II-B and equations 6 to 9.
#
# ## The sentence
#
# Section II-A has the ball $\lVert\Sigma-\Sigma^0\rVert_F\le r$, section II-B the interval
# $0\preceq\Sigma\preceq\Sigma^0+\Delta$. "When $\Delta=\frac r{\nu n}I$, this reduces to the uncertainty model in
# Section II-A." The worst cases are
#
# $$
# \max_{\text{ball}}w^\top\Sigma w=w^\top(\Sigma^0+rI)w,\qquad\max_{\text{interval}}w^\top\Sigma w=w^\top(\Sigma^0+\Delta)w ,
# $$
#
# which agree for $\Delta=rI$. There is no $\nu n$ in either of them.

# %%
import matplotlib.pyplot as plt
import numpy as np

import convexnovelty as cn
from convexnovelty.methods import mahalanobis_svm as mahalanobis
from convexnovelty.uncertainty import FrobeniusBall, LoewnerInterval

rng = np.random.default_rng(1)
X = rng.multivariate_normal([2.0, 1.5], [[1.0, 0.4], [0.4, 0.5]], 40)
n, nu, r = 40, 0.2, 0.3
features = cn.LinearFeatures(X)
CLAIMS = []

ball = cn.mahalanobis_svm(features, nu, FrobeniusBall(r)).solve()
right = cn.mahalanobis_svm(features, nu, LoewnerInterval(r)).solve()
printed = cn.mahalanobis_svm(features, nu, LoewnerInterval(r / (nu * n))).solve()
print(f"ball {ball.objective:.6f}, interval with r I {right.objective:.6f}, with r I/(nu n) {printed.objective:.6f}")
CLAIMS += [
    cn.Claim(
        "with Delta = r I the interval has the optimum of the ball",
        right.objective,
        ball.objective,
        tolerance=1e-7,
        kind="formulation",
        source="section II-B, corrected",
        because="two solves",
    ),
    cn.Claim(
        "with the printed Delta it is off by more than a tenth",
        abs(printed.objective / ball.objective - 1),
        0.1,
        ">=",
        tolerance=0.0,
        kind="formulation",
        source="section II-B, as printed",
        because="a strict inequality, far from equality here",
    ),
    cn.Claim(
        "it is the optimum of a ball of radius r/(nu n) instead",
        printed.objective,
        cn.mahalanobis_svm(features, nu, FrobeniusBall(r / (nu * n))).solve().objective,
        tolerance=1e-7,
        kind="formulation",
        source="section II-B, as printed",
        because="two solves",
    ),
]

# %% [markdown]
# ## In the kernel forms
#
# The same slip would pass into (9), where $\tilde K=X\Delta^{-1}X^\top$ becomes $K/r$ for $\Delta=rI$, and
# $(\tilde K^{-1}+cH)^{-1}$ becomes $(rK^{-1}+cH)^{-1}$, which is (8). With the printed $\Delta$ it would be
# $\bigl(\frac r{\nu n}K^{-1}+cH\bigr)^{-1}$. The checker's arrow from (9) to (8) compares the two programs.

# %%
gaussian = cn.KernelFeatures(X[:15], cn.kernels.gaussian(width=0.1))  # narrow, so that K can be inverted
K, H, c = gaussian.gram, np.eye(15) - 1 / 15, 1 / 15
eight = np.linalg.inv(r * np.linalg.inv(K) + c * H)
nine = {
    "right": np.linalg.inv(np.linalg.inv(K / r) + c * H),
    "printed": np.linalg.inv(np.linalg.inv(K * nu * 15 / r) + c * H),
}
report = cn.check(cn.mahalanobis_svm(gaussian, nu, FrobeniusBall(r)))
arrow = [row for row in report.rows if (row.source, row.target) == ("shaped_dual_inverse", "kernel_dual_inverse")]
print(*(f"{row.claim}: {row.verdict}, gap {row.objective_gap:.1e}" for row in arrow), sep="\n")
CLAIMS += [
    cn.Claim(
        "equation 9 with Delta = r I has the matrix of equation 8",
        float(np.abs(nine["right"] - eight).max() / np.abs(eight).max()),
        0.0,
        tolerance=1e-6,
        kind="closed form",
        source="equations 8 and 9",
        because="two inverses of a Gram matrix",
    ),
    cn.Claim(
        "with the printed Delta it differs by more than its own size",
        float(np.abs(nine["printed"] - eight).max() / np.abs(eight).max()),
        0.5,
        ">=",
        tolerance=0.0,
        kind="closed form",
        source="section II-B, as printed",
        because="a strict inequality, far from equality here",
    ),
    cn.Claim(
        "the checker's arrow from (9) to (8) holds with the corrected form",
        float(sum(row.verdict == "pass" for row in arrow)),
        float(len(arrow)),
        tolerance=0.0,
        kind="theory",
        source="the derivation graph",
        because="a count",
    ),
]

# %% [markdown]
# ## "Reduces to" is about the worst case, not about the sets
#
# The interval holds the zero matrix whatever $r$ is, and the ball for small $r$ does not. They also differ above:
# $\Sigma^0+rI$ is a member of the interval and has the Frobenius distance $r\sqrt p$.
#
# One more remark in the same spirit. At $c=0$ equation 6 is said to reduce to (1). It is (1) divided by $r$: the same
# multipliers, another value.

# %%
flat = mahalanobis.kernel_dual(features, nu, FrobeniusBall(r), covariance_weight=0.0).solve()
plain = cn.one_class_svm(features, nu).solve()
corner = float(np.linalg.norm(r * np.eye(2)))
CLAIMS += [
    cn.Claim(
        "the interval's worst member is outside of the ball",
        corner,
        float(np.sqrt(2) * r),
        tolerance=1e-12,
        kind="closed form",
        source="section II-B",
        because="rounding",
    ),
    cn.Claim(
        "at c = 0 equation 6 is equation 1 over r",
        flat.objective,
        plain.objective / r,
        tolerance=1e-7,
        kind="formulation",
        source="below equation 6",
        because="two solves",
    ),
]

# %%
fig, ax = plt.subplots(figsize=(6.4, 4.3), layout="constrained")
radii = np.linspace(0.02, 1.5, 25)
problem_ball = cn.mahalanobis_svm(features, nu, FrobeniusBall(r))
problem_interval = cn.mahalanobis_svm(features, nu, LoewnerInterval(r))
for label, problem, factor, style, shade in (
    ("ball of radius r", problem_ball, 1.0, "-", "#0072B2"),
    ("interval, Δ = r I", problem_interval, 1.0, "o", "#009E73"),
    ("interval, Δ = r I/(ν n), as printed", problem_interval, 1 / (nu * n), "--", "#D55E00"),
):
    values = [-problem.set(radius=factor * value).solve().objective for value in radii]
    ax.plot(radii, values, style, color=shade, label=label, ms=4)
ax.set(xlabel="r", ylabel="minus the optimum", title="The printed scaling is another problem")
ax.title.set_fontsize("medium")
ax.legend(fontsize="small")

# %% [markdown]
# ## Two questions to try
#
# 1. For which $\nu$ and $n$ would the printed sentence be true, and could that be how it arose?
# 2. Let $\Delta$ be diagonal with one large entry. Which direction does the machine avoid now?

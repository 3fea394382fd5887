# %% [markdown]
# # Exercise 8.10: negative data in the mirror
#
# **You will learn**
#
# - how novel examples enter a one-class machine: reflected at the origin,
# - a missing sign in the chapter's formula for the offset, found by trying it,
# - how the machine treats unbalanced classes, and why a binary machine does it differently.
#
# Source: Schölkopf and Smola, *Learning with Kernels* (2001), problem 8.10, equations 8.42 to 8.46.
#
# ## Derivation
#
# Let $y_i=1$ for ordinary points and $-1$ for novel ones. A novel point shall lie beyond the origin:
# $\langle w,\Phi(x_i)\rangle\le-\rho+\xi_i$. Both kinds of constraints are one, on the *reflected* point
# $y_i\Phi(x_i)$:
#
# $$
# \langle w,y_i\Phi(x_i)\rangle\ge\rho-\xi_i .
# $$
#
# So the problem is the one-class machine on $y_i\Phi(x_i)$, whose Gram matrix is $y_iy_jk(x_i,x_j)$. This is (8.42)
# to (8.44); the normal is $w=\sum_i\alpha_iy_i\Phi(x_i)$, which gives the decision function (8.45). With all $y_i=1$
# it is (8.13).
#
# *The offset.* For $0<\alpha_i<\frac1{\nu m}$ the constraint is an equation, so
# $\rho=y_i\langle w,\Phi(x_i)\rangle=y_i\sum_j\alpha_jy_jk(x_j,x_i)$. **Equation (8.46) is printed without the factor
# $y_i$**, which is right for ordinary points only.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

import convexnovelty as cn
from convexnovelty import plots
from convexnovelty.algorithms import smo

rng = np.random.default_rng(3)
ordinary = rng.multivariate_normal([1.6, 0.6], [[0.5, 0.2], [0.2, 0.4]], 45)
novel = rng.multivariate_normal([-1.0, -0.6], [[0.6, -0.1], [-0.1, 0.5]], 15)
X, y = np.vstack([ordinary, novel]), np.r_[np.ones(45), -np.ones(15)]
m, nu = len(X), 0.3
features = cn.LinearFeatures(X)
K = X @ X.T
CLAIMS = []

solution = cn.negative_data(features, y, nu).solve()
mirror = cn.one_class_svm(cn.LinearFeatures(y[:, None] * X), nu).solve()
signed = smo.smo(K * np.outer(y, y), upper=1 / (nu * m))
CLAIMS += [
    cn.Claim(
        "the one-class machine on reflected points has the same value",
        mirror.objective,
        solution.objective,
        tolerance=1e-8,
        kind="formulation",
        source="problem 8.10, equation 8.42",
        because="two solves at 1e-10",
    ),
    cn.Claim(
        "and the same normal",
        float(np.abs(mirror.region.normal - solution.region.normal).max()),
        0.0,
        tolerance=1e-5,
        kind="formulation",
        source="problem 8.10, equation 8.45",
        because="an error e of the objective moves the solution by about the root of e",
    ),
    cn.Claim(
        "without novel points it is the machine of equation 8.13",
        cn.negative_data(cn.LinearFeatures(ordinary), np.ones(45), nu).solve().objective,
        cn.one_class_svm(cn.LinearFeatures(ordinary), nu).solve().objective,
        tolerance=1e-8,
        kind="formulation",
        source="problem 8.10, the special case",
        because="two solves at 1e-10",
    ),
]

# %% [markdown]
# ## The sign of 8.46
#
# Take the points on their margins, and compute the offset by the printed and by the corrected formula.

# %%
alpha = signed.multipliers
on_margin = (alpha > 1e-8) & (alpha < 1 / (nu * m) - 1e-8)
printed = K @ (alpha * y)
corrected = y * printed
print(
    "margin points:", y[on_margin], "printed:", printed[on_margin].round(4), "corrected:", corrected[on_margin].round(4)
)
negative = on_margin & (y < 0)
CLAIMS += [
    cn.Claim(
        "with the sign every point on its margin gives the same offset",
        float(np.ptp(corrected[on_margin])),
        0.0,
        tolerance=1e-8,
        kind="algorithm",
        source="equation 8.46, corrected",
        because="SMO stops at a relative KKT gap of 1e-10",
    ),
    cn.Claim(
        "as printed a novel point on its margin gives minus the offset",
        float(printed[negative].max()),
        -float(solution.offset.used),
        tolerance=1e-6,
        kind="algorithm",
        source="equation 8.46, as printed",
        because="the solver's accuracy",
    ),
]

# %% [markdown]
# ## Unbalanced classes
#
# The dual of the binary machine has the constraint $\sum_i\alpha_iy_i=0$, from its free threshold: **both classes
# carry the same total weight**, however few points one of them has. Here there is no threshold that could move; the
# plane in the middle passes through the origin, and the dual only says $\sum_i\alpha_i=1$. The weight goes where the
# points are: with $\nu$ close to one it is proportional to the sizes of the classes. A rare class has little to say,
# and that is the difference which the exercise asks for.

# %%
crowded = cn.negative_data(features, y, 0.9).solve().values["alpha"]
binary = SVC(kernel="linear", C=0.2).fit(X, y)
weight = np.zeros(m)
weight[binary.support_] = np.abs(binary.dual_coef_[0])
shares = {
    "this machine, ν = 0.3": alpha[y < 0].sum(),
    "this machine, ν = 0.9": crowded[y < 0].sum(),
    "binary machine": weight[y < 0].sum() / weight.sum(),
}
print({name: round(float(value), 3) for name, value in shares.items()}, "share of points:", 15 / 60)
CLAIMS += [
    cn.Claim(
        "the binary machine gives both classes half of the weight",
        float(shares["binary machine"]),
        0.5,
        tolerance=1e-6,
        kind="other library",
        source="the dual of the binary machine, chapter 7",
        because="libsvm's tolerance",
    ),
    cn.Claim(
        "at nu = 0.9 the rare class has about its share of the points",
        float(shares["this machine, ν = 0.9"]),
        0.25,
        tolerance=0.05,
        kind="theory",
        source="problem 8.10: the box leaves each multiplier at most 1/(nu m)",
        because="the box allows the share of a class to differ by at most (1 - nu)/nu",
    ),
]

# %%
fig, axs = plt.subplots(1, 2, figsize=(10, 4.3), layout="constrained")
plots.decision_regions(solution, nominal=ordinary, novel=novel, ax=axs[0])
w, rho = solution.region.normal, solution.offset.used
for level, dash in ((0, "-"), (-rho, ":")):
    axs[0].axline(level * w / (w @ w), slope=-w[0] / w[1], color="k", linestyle=dash, lw=1)
axs[0].plot(0, 0, "ks")
axs[0].set_title("Two margins, one on each side of the origin", fontsize="medium")
axs[1].barh(list(shares), [float(value) for value in shares.values()], color=["#0072B2", "#56B4E9", "#D55E00"])
axs[1].axvline(0.25, color="k", lw=1)
axs[1].annotate(" share of points", (0.25, 2.42), fontsize="small")
axs[1].set(xlabel="weight of the novel points", xlim=(0, 0.6))

# %% [markdown]
# ## Two questions to try
#
# 1. Give novel points five copies each. What happens to their total weight, and to the plane?
# 2. Move all points by the same vector. The binary machine's plane moves along. What does this one do, and when is
#    that what you want?

# %% [markdown]
# # Exercise 8.9: one recogniser for each class
#
# **You will learn**
#
# - how to build a classifier of machines that have never seen another class,
# - why raw outputs must not be compared, and two ways that can be,
# - what such a classifier knows that a binary machine does not: when to say "none of these".
#
# Source: Schölkopf and Smola, *Learning with Kernels* (2001), problem 8.9.
#
# ## The construction
#
# For each class $c$ train a one-class machine on its points alone and obtain $w_c$ and $\rho_c$. A new point gets the
# class with the largest output. Of which output? Three candidates:
#
# $$
# \langle w_c,\Phi(x)\rangle-\rho_c,\qquad\frac{\langle w_c,\Phi(x)\rangle-\rho_c}{\lVert w_c\rVert},\qquad\frac{\langle w_c,\Phi(x)\rangle}{\rho_c}-1 .
# $$
#
# The first has no unit. By problem 8.4, $\rho_c\ge\lVert w_c\rVert^2$, and $\lVert w_c\rVert$ is the distance of a
# reduced hull from the origin: it is small for a class that is spread out, and with it all of its outputs. A tight
# class wins wherever both say yes and loses where both say no, whatever the point. The second is a distance in
# feature space, in which all classes share one unit. The third is measured in the class's own margin.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import convexnovelty as cn
from convexnovelty import plots

images, digit = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
order = rng.permutation(len(images))
train, test = order[:500], order[500:1200]
kernel = cn.kernels.gaussian(gamma=0.0015)
features = cn.KernelFeatures(images[train], kernel, rank=200)
new = features.coordinates(images[test])
CLAIMS = []

accuracy = {}
for comparison in ("raw", "distance", "ratio"):
    region = cn.class_recognisers(features, digit[train], 0.2, comparison=comparison).solve().region
    accuracy[comparison] = float(np.mean(region.classify(new) == digit[test]))
binary = float(SVC(gamma=0.0015, C=10).fit(images[train], digit[train]).score(images[test], digit[test]))
print({name: round(value, 4) for name, value in accuracy.items()}, "binary machines:", round(binary, 4))
CLAIMS += [
    cn.Claim(
        "comparing distances beats comparing raw outputs",
        accuracy["distance"],
        accuracy["raw"],
        ">=",
        tolerance=0.0,
        kind="simulation",
        source="problem 8.9",
        because="a count over 700 images with a fixed seed",
    ),
    cn.Claim(
        "recognisers that never saw another class reach 94 %",
        accuracy["distance"],
        0.94,
        ">=",
        tolerance=0.0,
        kind="simulation",
        source="problem 8.9",
        because="a count over 700 images with a fixed seed",
    ),
    cn.Claim(
        "machines that did see the others are better at telling these classes apart",
        binary,
        accuracy["distance"],
        ">=",
        tolerance=0.0,
        kind="other library",
        source="problem 8.9",
        because="a count over 700 images with a fixed seed",
    ),
]

# %% [markdown]
# ## Raw outputs go wrong in a picture
#
# Two Gaussian clouds, one tight and one wide. Along the line between them the raw output of the tight class is steep
# and that of the wide class flat, so the boundary lies far inside the wide class.

# %%
tight = rng.normal([0.0, 0.0], 0.25, (80, 2))
wide = rng.normal([3.0, 0.5], 1.0, (80, 2))
both = cn.KernelFeatures(np.vstack([tight, wide]), cn.kernels.gaussian(width=2.0))
names = np.repeat(["tight", "wide"], 80)
regions = {
    comparison: cn.class_recognisers(both, names, 0.1, comparison=comparison).solve().region
    for comparison in ("raw", "distance", "ratio")
}
machine = {
    name: cn.one_class_svm(cn.KernelFeatures(Z, cn.kernels.gaussian(width=2.0)), 0.1).solve()
    for name, Z in (("tight", tight), ("wide", wide))
}
lengths = {name: float(np.linalg.norm(solved.region.normal)) for name, solved in machine.items()}
fresh = np.vstack([rng.normal([0.0, 0.0], 0.25, (2000, 2)), rng.normal([3.0, 0.5], 1.0, (2000, 2))])
labels = np.repeat(["tight", "wide"], 2000)
share = {name: float(np.mean(region.classify(both.coordinates(fresh)) == labels)) for name, region in regions.items()}
print(lengths, share)
CLAIMS += [
    cn.Claim(
        "the wide class has the shorter normal",
        lengths["wide"],
        lengths["tight"],
        "<=",
        tolerance=0.0,
        kind="theory",
        source="problem 8.9: |w| is the distance of a reduced hull from the origin",
        because="a strict inequality, far from equality here",
    ),
    cn.Claim(
        "training all at once or one by one is the same",
        float(np.linalg.norm(regions["raw"].normals, axis=1).max()),
        max(lengths.values()),
        tolerance=1e-5,
        kind="formulation",
        source="problem 8.9: the classes do not know of each other",
        because="an error e of the objective moves the solution by about the root of e",
    ),
]

# %% [markdown]
# ## None of these
#
# A binary machine puts every point into one of its classes. Recognisers have a region each, and a point outside of
# all of them is unknown. Train on the digits 0 to 7 and show the machine 8 and 9. With fifty images a class the
# regions are too small: the fraction $\nu$ is about training points, and half of the new images fall outside. So the
# threshold on the largest output is set where a tenth of the *held-out* known images fall below it.

# %%
known = train[digit[train] < 8]
seen = cn.KernelFeatures(images[known], kernel, rank=200)
union = cn.class_recognisers(seen, digit[known], 0.1).solve().region
ordinary, unknown = test[digit[test] < 8], test[digit[test] >= 8]
scores = {
    name: union.scores(seen.coordinates(images[rows])).max(axis=1)
    for name, rows in (("known", ordinary), ("unknown", unknown))
}
held_out, rest = scores["known"][::2], scores["known"][1::2]
threshold = float(np.quantile(held_out, 0.1))
rejected = {"known": float(np.mean(rest < threshold)), "unknown": float(np.mean(scores["unknown"] < threshold))}
print(f"outside of all regions: known {np.mean(scores['known'] < 0):.3f}; below the threshold: {rejected}")
CLAIMS += [
    cn.Claim(
        "most of the unknown digits fall below the threshold",
        rejected["unknown"],
        0.7,
        ">=",
        tolerance=0.0,
        kind="simulation",
        source="problem 8.9",
        because="a count with a fixed seed",
    ),
    cn.Claim(
        "and about a tenth of the known ones that did not set it",
        rejected["known"],
        0.1,
        tolerance=0.05,
        kind="simulation",
        source="problem 8.9, with a threshold from held-out points",
        because="two standard errors of 280 points, twice",
    ),
]

# %%
fig, axs = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
x, y = np.meshgrid(np.linspace(-1.5, 6, 150), np.linspace(-2.5, 3.5, 150))
grid = both.coordinates(np.column_stack([x.ravel(), y.ravel()]))
for (name, region), shade, dash in zip(
    regions.items(), ("#D55E00", "#0072B2", "#009E73"), ("--", "-", ":"), strict=True
):
    difference = region.scores(grid)[:, 0] - region.scores(grid)[:, 1]
    axs[0].contour(x, y, difference.reshape(x.shape), levels=[0], colors=[shade], linestyles=[dash], linewidths=1.8)
    axs[0].plot([], [], color=shade, linestyle=dash, label=f"{name}: {share[name]:.1%} right")
axs[0].scatter(*tight.T, s=10, color="k")
axs[0].scatter(*wide.T, s=14, color="k", marker="x", linewidths=0.8)
axs[0].legend(fontsize="small", loc="lower left")
axs[0].set_title("Where the two classes meet, by three comparisons", fontsize="medium")
plots.roc(rest, scores["unknown"], threshold=threshold, ax=axs[1])
axs[1].set_title("Digits that were never seen", fontsize="medium")

# %% [markdown]
# ## Two questions to try
#
# 1. Choose $\nu$ differently for each class so that all regions have the same held-out share outside. Does "raw" get
#    better?
# 2. Turn each output into the rank that it would have among the class's own training outputs. Why is this the most
#    honest comparison, and what does it need?

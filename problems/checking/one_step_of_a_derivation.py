# %% [markdown]
# # An arrow is a test
#
# **You will learn**
#
# - what a step of a derivation consists of: a claim, a condition, and maps for value and solution,
# - how to run one by hand,
# - that a wrong factor, planted on purpose, is found.
#
# Source: Schölkopf and Smola, *Learning with Kernels* (2001), equations 8.17 to 8.20; the method is the soft ball.
#
# ## The graph
#
# A method declares its programs, formulas and algorithms as nodes, and what relates them as arrows. From dual to
# primal, for the soft ball:
#
# $$
# \text{value}\mapsto-\text{value},\qquad\alpha\mapsto\Bigl(c=\sum_i\alpha_i\Phi(x_i),\ R^2,\ \xi_i=\max(0,\lVert\Phi(x_i)-c\rVert^2-R^2)\Bigr).
# $$
#
# The checker solves both ends, sends the value through the first map and the solution through the second, and tries
# the mapped solution in the other end's own constraints.

# %%
from dataclasses import replace

import matplotlib.pyplot as plt

import convexnovelty as cn
from convexnovelty import datasets, derivation, plots
from convexnovelty.checking.checker import check_instance, standard_of
from convexnovelty.declare import Instance, call
from convexnovelty.solvers import profile

X = datasets.blob(n=30).nominal
features = cn.LinearFeatures(X)
owner = derivation.method("soft_ball")
instance = Instance("thirty points", {"features": features, "outlier_fraction": 0.2}, X + 0.5, "soft_ball")
CLAIMS = []

for number, step in enumerate(owner.steps, start=1):
    print(f"{number}. {step.source_node} -> {step.target_node}: {step.claim} ({step.equation})")

# %% [markdown]
# ## One arrow by hand

# %%
step = next(step for step in owner.steps if (step.source_node, step.target_node) == ("dual", "primal"))
source = cn.soft_ball(features, 0.2, form="dual").solve()
target = cn.soft_ball(features, 0.2, form="primal")
reached = target.solve()
expected = call(step.objective, instance.arguments, source.objective)
letters = call(step.values, instance.arguments, source)
value, violation = target.evaluate(letters)
print(f"dual {source.objective:.8f} -> expected {expected:.8f}, primal {reached.objective:.8f}")
print(f"mapped solution: letters {sorted(letters)}, violation {violation:.1e}")
CLAIMS += [
    cn.Claim(
        "the mapped value is the value at the other end",
        float(expected),
        reached.objective,
        tolerance=1e-7,
        kind="formulation",
        source="equations 8.17 and 8.18",
        because="two solves",
    ),
    cn.Claim(
        "the mapped solution satisfies the other end's constraints",
        float(violation),
        0.0,
        tolerance=1e-6,
        kind="formulation",
        source="equation 8.20",
        because="the solver's accuracy in the multipliers",
    ),
    cn.Claim(
        "and costs what the optimum costs",
        float(value),
        reached.objective,
        tolerance=1e-6,
        kind="formulation",
        source="equation 8.20",
        because="the solver's accuracy in the multipliers",
    ),
]

# %% [markdown]
# ## Plant a fault
#
# Three wrong versions of the same arrow: the value off by one per cent, the centre not a convex combination, the
# slacks forgotten. Each turns the row red.

# %%
standard = standard_of(profile())
faults = {
    "as declared": step,
    "value off by 1 %": replace(step, objective=lambda value: -1.01 * value),
    "centre off by 1 %": replace(
        step,
        values=lambda solution, features: {**call(step.values, instance.arguments, solution), "c": 1.01 * letters["c"]},
    ),
    "slacks forgotten": replace(
        step,
        values=lambda solution, features: {**call(step.values, instance.arguments, solution), "xi": 0 * letters["xi"]},
    ),
}
verdicts = {}
for name, tried in faults.items():
    (row,) = check_instance(owner, instance, standard, [tried])
    verdicts[name] = row.verdict
    print(f"{name:18} {row.verdict:5} {row.reason}")
for name, verdict in verdicts.items():
    CLAIMS.append(
        cn.Claim(
            f"the checker's verdict, {name}",
            float(verdict == "pass"),
            float(name == "as declared"),
            tolerance=0.0,
            kind="theory",
            source="the derivation graph",
            because="it passes, or it does not",
        )
    )

# %% [markdown]
# ## Conditions
#
# An arrow may hold for some instances only. That the ball is the half-space needs a constant $k(x,x)$; for the linear
# kernel the row says so, and is *not* counted as passed.

# %%
report = cn.check(cn.soft_ball(features, 0.2))
gaussian = cn.check(cn.soft_ball(cn.KernelFeatures(X, cn.kernels.gaussian(width=4.0)), 0.2))
reasons = [row.reason for row in report.rows if row.verdict == "not checked"]
print(report.summary, *reasons, sep="\n  ")
print(gaussian.summary)
CLAIMS += [
    cn.Claim(
        "nothing fails, for either kernel",
        float(report.count("fail") + gaussian.count("fail")),
        0.0,
        tolerance=0.0,
        kind="theory",
        source="the derivation graph",
        because="a count",
    ),
    cn.Claim(
        "with the Gaussian kernel more arrows apply",
        float(gaussian.count("pass")),
        float(report.count("pass") + 1),
        ">=",
        tolerance=0.0,
        kind="theory",
        source="section 8.3: constant k(x, x)",
        because="a count",
    ),
]

# %%
fig, axs = plt.subplots(1, 2, figsize=(12, 4.0), layout="constrained")
plots.derivation_graph("soft_ball", report, ax=axs[0])
axs[0].set_title("Linear kernel", fontsize="medium", loc="right")
plots.derivation_graph("soft_ball", gaussian, ax=axs[1])
axs[1].set_title("Gaussian kernel", fontsize="medium", loc="right")

# %% [markdown]
# ## Two questions to try
#
# 1. Draw the graph of `single_class_mpm` and find an arrow whose two ends share no line of code. Why is that worth
#    more than a dual?
# 2. Plant a fault that no row can find. What would have to be added to the arrow?

# %% [markdown]
# # Do not believe a solver
#
# **You will learn**
#
# - that three solvers can agree on a wrong answer, and call it optimal,
# - what to compare with instead: an interval that is proved to hold the optimum,
# - how the unit of the data decides who is right, and what a library can do about it.
#
# Source: Schölkopf and Smola, *Learning with Kernels* (2001), equations 8.13 to 8.15, on four points; the argument is
# about any program.
#
# ## Four points in millionths
#
# The points $1,2,3,4$, in units of $10^{-6}$, and the dual of the one-class machine at $\nu=\tfrac12$:
#
# $$
# \min_\alpha\ \tfrac12\Bigl(\sum_i\alpha_ix_i\Bigr)^2\quad\text{s.t.}\quad0\le\alpha_i\le\tfrac12,\ \sum_i\alpha_i=1 .
# $$
#
# All weight belongs on the two smallest points: the optimum is $\tfrac12(1.5\cdot10^{-6})^2=1.125\cdot10^{-12}$.

# %%
import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import convexnovelty as cn
from convexnovelty.algorithms import smo
from convexnovelty.checking.certificate import certify
from convexnovelty.formulation import Formulation

CLAIMS = []
SOLVERS = ("CLARABEL", "SCS", "OSQP")


def plain(x):
    """The program as one would type it, and its variable."""
    alpha = cp.Variable(4, nonneg=True)
    return cp.Problem(cp.Minimize(cp.sum_squares(x @ alpha) / 2), [cp.sum(alpha) == 1, alpha <= 0.5]), alpha


tiny = 1e-6 * np.arange(1.0, 5.0)
answers = {}
for solver in SOLVERS:
    program, alpha = plain(tiny)
    program.solve(solver=solver)
    answers[solver] = float(program.value)
    print(f"{solver:9} {program.status}: {program.value:.3e}, weights {np.round(alpha.value, 2)}")
CLAIMS.append(
    cn.Claim(
        "three solvers at their own tolerances agree to a hundredth",
        max(answers.values()) / min(answers.values()),
        1.0,
        tolerance=0.01,
        kind="other library",
        source="equations 8.13 to 8.15",
        because="they return nearly the same point",
    )
)

# %% [markdown]
# They agree on $3.125\cdot10^{-12}$, nearly three times the optimum. A tolerance is an absolute number: from the
# start the objective is below all of them, so the first feasible point passes.
#
# ## A judge that is no solver
#
# The certificate proves an interval for the optimum: a point that is *exactly* feasible bounds it from above, an
# exactly feasible multiplier from below, and both are evaluated with their rounding errors carried along. A solver
# can make such an interval wide, never wrong.

# %%
program, alpha = plain(tiny)
typed = Formulation(program, {"alpha": alpha}, name="four points, as typed")
certificate = certify(typed)
print(certificate)
print(
    f"reported {answers['CLARABEL']:.3e}, which is {certificate.enclosure.distance(answers['CLARABEL']):.1e} outside of the interval"
)
CLAIMS += [
    cn.Claim(
        "the optimum is in the proved interval",
        float(certificate.enclosure.contains(1.125e-12)),
        1.0,
        tolerance=0.0,
        kind="closed form",
        source="the two smallest points",
        because="it is, or it is not",
    ),
    cn.Claim(
        "what the solvers agree on is not",
        float(certificate.enclosure.contains(answers["CLARABEL"])),
        0.0,
        tolerance=0.0,
        kind="theory",
        source="weak duality",
        because="it is, or it is not",
    ),
    cn.Claim(
        "an algorithm without absolute tolerances finds it",
        smo.smo(np.outer(tiny, tiny), upper=0.5).objective / 1.125e-12,
        1.0,
        tolerance=1e-9,
        kind="algorithm",
        source="section 8.4",
        because="SMO measures its gap relative to the terms of the gradient",
    ),
]

# %% [markdown]
# ## Pose the program in the data's own unit
#
# Divide the points by their size, solve, and multiply back: the same program with the same solvers. The library does
# this in every formulation, so that a user never meets the problem.

# %%
features = cn.LinearFeatures(tiny[:, None])
for solver in SOLVERS:
    solved = cn.one_class_svm(features, 0.5).solve(solver=solver)
    found = certify(cn.one_class_svm(features, 0.5), solver=solver)
    print(f"{solver:9} {solved.objective:.6e}, off by {found.error:.1e} relative to the proved interval")
    CLAIMS.append(
        cn.Claim(
            f"{solver} is right once the unit is right",
            solved.objective / 1.125e-12,
            1.0,
            tolerance=1e-4,
            kind="closed form",
            source="equation 8.13",
            because="the accuracy of a first-order method",
        )
    )

# %% [markdown]
# ## How small is too small?
#
# The error of each solver against the unit of the data, as typed and as posed by the library. Above $10^{-3}$ nobody
# would have noticed.

# %%
units = np.logspace(0, -7, 8)
typed_errors = {solver: [] for solver in SOLVERS}
posed_errors = {solver: [] for solver in SOLVERS}
for unit in units:
    x = unit * np.arange(1.0, 5.0)
    truth = 1.125 * unit**2
    for solver in SOLVERS:
        program, alpha = plain(x)
        program.solve(solver=solver)
        typed_errors[solver].append(abs(program.value / truth - 1))
        value = cn.one_class_svm(cn.LinearFeatures(x[:, None]), 0.5).solve(solver=solver).objective
        posed_errors[solver].append(abs(value / truth - 1))
CLAIMS += [
    cn.Claim(
        "as typed, the worst error over all units is more than the optimum itself",
        float(max(map(max, typed_errors.values()))),
        1.0,
        ">=",
        tolerance=0.0,
        kind="closed form",
        source="equation 8.13",
        because="a strict inequality, far from equality here",
    ),
    cn.Claim(
        "in the data's own unit no error exceeds 1e-4",
        float(max(map(max, posed_errors.values()))),
        1e-4,
        "<=",
        tolerance=0.0,
        kind="closed form",
        source="equation 8.13",
        because="the accuracy of a first-order method",
    ),
]

# %%
fig, ax = plt.subplots(figsize=(6.6, 4.4), layout="constrained")
for solver, shade, marker in zip(SOLVERS, ("#0072B2", "#D55E00", "#009E73"), "os^", strict=True):
    ax.loglog(units, np.maximum(typed_errors[solver], 1e-16), marker + "-", color=shade, label=f"{solver}, as typed")
    ax.loglog(
        units, np.maximum(posed_errors[solver], 1e-16), marker + ":", color=shade, mfc="w", label="in its own unit"
    )
ax.invert_xaxis()
ax.axhline(1, color="k", lw=0.8)
ax.set(xlabel="unit of the points", ylabel="relative error of the optimum")
ax.legend(fontsize="x-small", ncols=3)

# %% [markdown]
# ## Two questions to try
#
# 1. Multiply the points by $10^{6}$ instead. Which solvers fail now, and with which status?
# 2. `convexnovelty check --solver all --method one_class_svm` tries every installed solver on many problems. Which
#    words does it use for the answers above?

# %% [markdown]
# # Read a certificate
#
# **You will learn**
#
# - what proves that a point is optimal, and what each residual of it means,
# - how an exactly feasible dual point becomes a proved lower bound, in exact arithmetic,
# - how infeasibility is proved: by a multiplier, too.
#
# Source: conic duality; the program is equation 11 of Lanckriet, El Ghaoui and Jordan (2003).
#
# ## Every program in one form
#
# Whatever you typed, CVXPY hands the solver
#
# $$
# \min_x\ c^\top x\quad\text{s.t.}\quad Ax+s=b,\quad s\in\mathcal K ,
# $$
#
# with a product $\mathcal K$ of simple cones. Its dual is $\max-b^\top z$ subject to $A^\top z+c=0$,
# $z\in\mathcal K^*$. For any feasible pair
#
# $$
# c^\top x-(-b^\top z)=z^\top s\ge0 ,
# $$
#
# so the pair proves itself optimal if $z^\top s=0$. A certificate is this pair, with five numbers: how far $Ax+s$ is
# from $b$, $s$ from $\mathcal K$, $A^\top z$ from $-c$, $z$ from $\mathcal K^*$, and $z^\top s$ from zero.

# %%
from dataclasses import asdict
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np

import convexnovelty as cn
from convexnovelty.checking.certificate import certify
from convexnovelty.conic import ConicProgram

moments = cn.Moments(mean=[3.0, 4.0], covariance=np.eye(2))
problem = cn.single_class_mpm(moments, confidence=0.5)  # kappa = 1 and zeta = 5: the optimum is 1/(5 - 1)
CLAIMS = []

program = ConicProgram.from_problem(problem.problem)
print(program.cones)
point = program.solve(tol_feas=1e-10, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
x, z, s = point.x, point.z, program.b - program.A @ point.x
residuals = program.residuals(x, z)
print({name: f"{value:.1e}" for name, value in residuals.absolute.items()})
CLAIMS += [
    cn.Claim(
        "primal value, in the user's unit",
        float(program.c @ x) * problem.objective_unit,
        0.25,
        tolerance=1e-8,
        kind="closed form",
        source="equation 14: 1/(zeta - kappa)",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "dual value",
        float(-program.b @ z) * problem.objective_unit,
        0.25,
        tolerance=1e-8,
        kind="closed form",
        source="strong duality",
        because="the solver's accuracy",
    ),
    cn.Claim(
        "the gap is the product of slack and multiplier",
        float(program.c @ x + program.b @ z),
        float(z @ s),
        tolerance=1e-8,
        kind="closed form",
        source="weak duality, as above",
        because="the residual of stationarity",
    ),
    cn.Claim(
        "no relative residual exceeds 1e-8",
        residuals.worst,
        1e-8,
        "<=",
        tolerance=0.0,
        kind="closed form",
        source="optimality conditions",
        because="what the solver was asked for",
    ),
]

# %% [markdown]
# ## A bound without rounding
#
# Residuals are small, not zero, so the pair above proves nothing to the last digit. For this problem a dual point can
# be written with whole numbers. Weak duality by hand: for $\lVert q\rVert\le1$, $\lVert r\rVert\le1$ and
# $\lambda\ge0$,
#
# $$
# \lVert a\rVert\ge\langle q,a\rangle,\qquad0\ge1-\langle m,a\rangle+\kappa\lVert a\rVert\ge1-\langle m,a\rangle+\kappa\langle r,a\rangle ,
# $$
#
# and if $q=\lambda(m-\kappa r)$ then every feasible $a$ has
# $\lVert a\rVert\ge\lambda\langle m-\kappa r,a\rangle\ge\lambda$. So $\lambda$ is a lower bound. With $m=(3,4)$,
# $\kappa=1$, take $r=(\tfrac35,\tfrac45)$ and $\lambda=\tfrac14$: then
# $q=\tfrac14(\tfrac{12}5,\tfrac{16}5)=(\tfrac35,\tfrac45)$, of length one *exactly*. The point $a=\tfrac1{20}(3,4)$
# has length $\tfrac14$ and is feasible with equality. In fractions there is nothing left to doubt.

# %%
m = [Fraction(3), Fraction(4)]
r = [Fraction(3, 5), Fraction(4, 5)]
lower = Fraction(1, 4)
q = [lower * (mi - ri) for mi, ri in zip(m, r, strict=True)]
a = [Fraction(3, 20), Fraction(4, 20)]
length_squared = sum(ai**2 for ai in a)
CLAIMS += [
    cn.Claim(
        "q has length one, in fractions",
        float(sum(qi**2 for qi in q)),
        1.0,
        tolerance=0.0,
        kind="closed form",
        source="weak duality by hand",
        because="whole numbers",
    ),
    cn.Claim(
        "a is feasible with equality: m'a - 1 is its length, squared",
        float((sum(mi * ai for mi, ai in zip(m, a, strict=True)) - 1) ** 2 - length_squared),
        0.0,
        tolerance=0.0,
        kind="closed form",
        source="equation 11",
        because="whole numbers",
    ),
    cn.Claim(
        "its length is the lower bound",
        float(length_squared - lower**2),
        0.0,
        tolerance=0.0,
        kind="closed form",
        source="weak duality by hand",
        because="whole numbers",
    ),
]

# %% [markdown]
# ## The same by machine
#
# `certify` does this for any formulation. It looks for points a little inside of the cones, solves the equations
# exactly, checks membership with rounding errors carried along, and reports an interval.

# %%
certificate = certify(problem, solver="CLARABEL")
print(certificate)
careless = certify(problem, candidate=(1.001 * x, z))
print(careless)
for block in certificate.blocks:
    print({key: value for key, value in asdict(block).items() if key in ("kind", "size", "cone", "dual_cone")})
CLAIMS += [
    cn.Claim(
        "the interval holds the optimum",
        float(certificate.enclosure.contains(0.25)),
        1.0,
        tolerance=0.0,
        kind="closed form",
        source="the fractions above",
        because="it does, or it does not",
    ),
    cn.Claim(
        "and is narrow",
        certificate.enclosure.width,
        1e-7,
        "<=",
        tolerance=0.0,
        kind="closed form",
        source="certify",
        because="how far inside of the cones the points lie",
    ),
    cn.Claim(
        "a pair that is off by a thousandth is found out by its residuals",
        float(careless.residuals.worst),
        1e-5,
        ">=",
        tolerance=0.0,
        kind="theory",
        source="optimality conditions",
        because="a thousandth is lost, and the residuals are relative to numbers of the order of one",
    ),
]

# %% [markdown]
# ## A proof that there is no solution
#
# Farkas: if some $z\in\mathcal K^*$ has $A^\top z=0$ and $b^\top z<0$, then $Ax+s=b$ with $s\in\mathcal K$ would give
# $0>b^\top z=x^\top A^\top z+s^\top z\ge0$. For our machine beyond the largest confidence, $\kappa\ge\zeta$: take $r$
# along $m$, and $\langle m-\kappa r,a\rangle\ge1$ cannot hold where $m-\kappa r$ points the other way.

# %%
beyond = cn.single_class_mpm(moments, confidence=0.97)  # kappa = 5.69 > zeta = 5
verdict = certify(beyond)
print(verdict)
multiplier = np.sqrt(0.97 / 0.03)
direction = np.array([3.0, 4.0]) * (1 - multiplier / 5)
CLAIMS += [
    cn.Claim(
        "the library proves that nothing is feasible at 0.97",
        float(verdict.enclosure.infeasible),
        1.0,
        tolerance=0.0,
        kind="theory",
        source="Farkas, for cones",
        because="it does, or it does not",
    ),
    cn.Claim(
        "by hand: m - kappa r points away from m",
        float(direction @ [3.0, 4.0]),
        0.0,
        "<=",
        tolerance=0.0,
        kind="closed form",
        source="below equation 13",
        because="a strict inequality, far from equality here",
    ),
]

# %%
fig, axs = plt.subplots(1, 2, figsize=(9.8, 4.2), layout="constrained")
names = [name for name in ("primal", "cone", "dual", "dual_cone", "complementarity") if name in residuals.absolute]
for position, (label, item, shade) in enumerate(
    (("as solved", certificate.residuals, "#0072B2"), ("off by a thousandth", careless.residuals, "#D55E00"))
):
    values = [max(getattr(item, name), 1e-17) for name in names]
    axs[0].bar(
        np.arange(len(names)) + 0.4 * position,
        values,
        0.38,
        color=shade,
        hatch="//" * position,
        edgecolor="w",
        label=label,
    )
axs[0].set_yscale("log")
axs[0].set_xticks(np.arange(len(names)) + 0.2, [name.replace("_", "\n") for name in names], fontsize="small")
axs[0].set(ylabel="relative residual")
axs[0].legend(fontsize="small")
lambdas = np.linspace(0.05, 0.45, 200)
axs[1].axvspan(0, 0.25, color="#DCEAF4", label="lower bounds λ: |q| ≤ 1")
axs[1].plot(lambdas, lambdas * 4, color="#0072B2", label="|q| = λ |m − κ r|")
axs[1].axhline(1, color="k", lw=0.8)
axs[1].axvline(0.25, color="#D55E00", lw=1.4, label="length of a = (3, 4)/20")
axs[1].set(xlabel="λ", ylabel="|q|", xlim=(0.05, 0.45))
axs[1].legend(fontsize="small")

# %% [markdown]
# ## Two questions to try
#
# 1. Change one entry of the multiplier in its fifth digit and measure again. Which of the five residuals notices?
# 2. Write the dual point by hand for a covariance that is not the identity. Where does its square root enter?

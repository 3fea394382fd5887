# %% [markdown]
# # Swap the tail
#
# **You will learn**
#
# - that the shape of the distributions enters a minimax machine through one number, $\kappa$,
# - which $\kappa$ belongs to which assumption, and who attains the bound,
# - what an assumption is worth, and what it costs when it is wrong.
#
# Source: Lanckriet, El Ghaoui and Jordan (2003), equation 1; Gauss (1823) and Vysochanskij and Petunin (1985) for the
# others.
#
# ## One number
#
# A family $\mathcal F$ of distributions has a tail bound $\beta(t)=\sup_{\mathcal F}\mathbb P\{u\ge t\}$ for
# variables with mean 0 and variance 1. The chance constraint of the machine is
#
# $$
# \inf_{\mathcal F(\bar x,\Sigma)}\mathbb P\{a^\top x\ge1\}\ge c\iff a^\top\bar x-1\ge\kappa(c)\sqrt{a^\top\Sigma a},\qquad\kappa(c)=\beta^{-1}(1-c),
# $$
#
# so the assumption is a second object that one swaps:
#
# | Family | $\beta(t)$ for large $t$ |
# | ------ | ------------------------ |
# | any distribution | $1/(1+t^2)$ |
# | symmetric | $1/(2t^2)$ |
# | unimodal | $4/(9(1+t^2))$ |
# | symmetric and unimodal | $2/(9t^2)$ |
# | Gaussian | $\Phi(-t)$ |

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

import convexnovelty as cn
from convexnovelty.tails import Chebyshev, Gaussian, Symmetric, SymmetricUnimodal, Unimodal

rng = np.random.default_rng(0)
X = rng.multivariate_normal([4.0, 3.0], [[1.0, 0.3], [0.3, 0.7]], size=400)
moments = cn.Moments.estimate(X)
mean, S, c = moments.mean, moments.covariance, 0.9
zeta = float(np.sqrt(mean @ np.linalg.solve(S, mean)))
tails = (Chebyshev(), Symmetric(), Unimodal(), SymmetricUnimodal(), Gaussian())
closed = {
    "chebyshev": 3.0,
    "symmetric": np.sqrt(5),
    "unimodal": np.sqrt(40 / 9 - 1),
    "symmetric_unimodal": np.sqrt(20) / 3,
    "gaussian": norm.ppf(0.9),
}
CLAIMS = []

print("tail                 kappa    optimum  outside in the sample")
for tail in tails:
    solution = cn.single_class_mpm(moments, c, tail=tail).solve()
    outside = float(np.mean(~solution.region.contains(X)))
    print(f"{tail.name:18} {tail.kappa(c):7.4f}  {solution.objective:.6f}  {outside:.4f}")
    CLAIMS += [
        cn.Claim(
            f"{tail.name}: kappa(0.9) by hand",
            tail.kappa(c),
            float(closed[tail.name]),
            tolerance=1e-12,
            kind="closed form",
            source="the inverse of the bound",
            because="rounding",
        ),
        cn.Claim(
            f"{tail.name}: the optimum is 1/(zeta - kappa)",
            solution.objective,
            1 / (zeta - tail.kappa(c)),
            tolerance=1e-8,
            kind="closed form",
            source="equation 14 with this kappa",
            because="the solver's accuracy",
        ),
    ]

# %% [markdown]
# ## Who attains the bounds
#
# - Any distribution: two atoms, at $t$ with probability $1/(1+t^2)$ and at $-1/t$.
# - Symmetric: three atoms, $\pm t$ with probability $1/(2t^2)$ each and the rest at 0.
# - Symmetric and unimodal: spread each outer atom evenly over $[0,\tfrac32t]$, and a third of its mass lies beyond
#   $t$:
#
# $$
# \tfrac12\cdot q\cdot\tfrac13\ \text{ with } q\cdot\tfrac13\bigl(\tfrac32t\bigr)^2=1\quad\Longrightarrow\quad\beta(t)=\frac q6=\frac{2}{9t^2} .
# $$
#
# Unimodal distributions are mixtures of such uniform pieces, and this is how all of these bounds are proved: over
# mixtures a linear function is largest at one piece.

# %%
t = 2.5
two = np.array([[t, 1 / (1 + t**2)], [-1 / t, t**2 / (1 + t**2)]])
three = np.array([[t, 1 / (2 * t**2)], [-t, 1 / (2 * t**2)], [0.0, 1 - 1 / t**2]])
q = 3 / (1.5 * t) ** 2  # the share of the uniform law on [-1.5 t, 1.5 t]; the rest sits at zero
for name, atoms, tail in (("two atoms", two, Chebyshev()), ("three atoms", three, Symmetric())):
    value, probability = atoms.T
    CLAIMS += [
        cn.Claim(
            f"{name}: mean 0",
            float(value @ probability),
            0.0,
            tolerance=1e-12,
            kind="closed form",
            source="the atoms above",
            because="rounding",
        ),
        cn.Claim(
            f"{name}: variance 1",
            float(value**2 @ probability),
            1.0,
            tolerance=1e-12,
            kind="closed form",
            source="the atoms above",
            because="rounding",
        ),
        cn.Claim(
            f"{name}: the bound is attained",
            float(probability[value >= t].sum()),
            tail.bound(t),
            tolerance=1e-12,
            kind="closed form",
            source="the tail bound",
            because="rounding",
        ),
    ]
CLAIMS += [
    cn.Claim(
        "the uniform piece has variance 1",
        q * (1.5 * t) ** 2 / 3,
        1.0,
        tolerance=1e-12,
        kind="closed form",
        source="the variance of a uniform law",
        because="rounding",
    ),
    cn.Claim(
        "and leaves the bound of Gauss beyond t",
        q * (1.5 * t - t) / (3 * t),
        SymmetricUnimodal().bound(t),
        tolerance=1e-12,
        kind="closed form",
        source="Gauss (1823)",
        because="rounding",
    ),
]

# %% [markdown]
# ## What a wrong assumption costs
#
# Take the region of the Gaussian tail and the distribution that attains Chebyshev's bound for its offset. It has the
# same mean and covariance, and leaves $1/(1+\kappa_G^2)=38\,\%$ outside where $10\,\%$ were promised.

# %%
gaussian = cn.single_class_mpm(moments, c, tail=Gaussian()).solve()
law = cn.tails.extremal_distribution(mean, S, -gaussian.region.normal, -gaussian.region.offset)
print(f"promised {1 - c:.2f}, and a distribution with these moments leaves {law.probability_outside:.4f}")
CLAIMS.append(
    cn.Claim(
        "the Gaussian promise fails for a distribution with the same moments",
        law.probability_outside,
        1 / (1 + norm.ppf(c) ** 2),
        tolerance=1e-6,
        kind="closed form",
        source="equation 1",
        because="the solver's accuracy",
    )
)

# %%
fig, axs = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
grid = np.linspace(0.01, 6, 400)
styles = zip(("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"), ("-", "--", ":", "-.", (0, (9, 3))), strict=True)
for tail, (shade, dash) in zip(tails, styles, strict=True):
    axs[0].semilogy(grid, [tail.bound(x) for x in grid], color=shade, linestyle=dash, label=tail.name.replace("_", " "))
    levels = np.linspace(0.5, 0.995, 200)
    axs[1].plot(levels, [tail.kappa(x) for x in levels], color=shade, linestyle=dash)
axs[0].axhline(1 - c, color="k", lw=0.8)
axs[0].set(xlabel="standard deviations t", ylabel="largest probability beyond t", ylim=(1e-4, 1.2))
axs[0].legend(fontsize="small")
axs[1].axvline(c, color="k", lw=0.8)
axs[1].axhline(zeta, color="k", lw=0.8)
axs[1].annotate(" ζ: nothing is feasible above", (0.5, zeta), va="bottom", fontsize="small")
axs[1].set(xlabel="confidence c", ylabel="κ(c)", ylim=(0, 8))

# %% [markdown]
# ## Two questions to try
#
# 1. For $c$ below one half the Gaussian $\kappa$ would be negative. Why does the library answer 0, and what would the
#    program be otherwise?
# 2. Write a tail for distributions bounded in $[m-3\sigma,m+3\sigma]$. What is $\beta(t)$ for $t$ near 3?

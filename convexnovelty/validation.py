"""What every public door checks of its arguments, with one wording for all of them."""

from __future__ import annotations

import decimal
import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexnovelty.columns import in_places, is_category, refuse_dates, rows_as_columns, types_of
from convexnovelty.errors import InputError

__all__ = [
    "EPS",
    "Array",
    "choice",
    "dimensions",
    "flag",
    "fraction",
    "generator",
    "in_order",
    "integer",
    "labels",
    "listed",
    "nonnegative",
    "number",
    "numeric",
    "points",
    "positive",
    "rounding_of",
    "scores",
    "shown",
    "squarable",
    "square",
    "symmetric",
    "vector",
]

Array = NDArray[np.float64]

LARGEST, SMALLEST = 1e150, 1e-150  # entries of points whose squares, and sums of many of them, are numbers

EXACT = 2**53  # the largest whole number up to which float64 holds every one

SYMMETRY_TOLERANCE = 1e-8  # relative to the largest entry: what rounding in a product K = X X' can leave

EPS = float(np.finfo(np.float64).eps)
COARSE = {"float32": 2.0**-23, "float": 2.0**-23, "float16": 2.0**-10, "half": 2.0**-10, "halffloat": 2.0**-10}

SHOWN = 200  # letters of a value in a message


def shown(value: Any) -> str:
    """A value for a message: its representation, shortened where it is a table or a book, and its type where it has none."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # whatever an object's own representation raises, as a whole number of 5000 digits does
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}... of type {type(value).__name__}"


def _numeric(value: Any, name: str) -> Array:
    """``value`` as a float64 array of its own shape, or an error that says which kind it is."""
    refuse_dates(value, name)
    if hasattr(value, "to_numpy") and not isinstance(value, np.ndarray):
        # Numbers may be what categories are called by: as values they would come out of the table like any other.
        if any(map(is_category, types_of(value))):
            raise InputError(f"{name}: categories were found, which numbers may be names of; give numbers")
        value = value.to_numpy()
    if hasattr(value, "toarray") and hasattr(value, "nnz"):
        raise InputError(
            f"{name}: a sparse matrix of shape {value.shape} was given where a dense array is needed; "
            f"pass {name}.toarray()"
        )
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        masked = int(np.ma.getmaskarray(value).sum())
        raise InputError(f"{name}: {masked} entries are masked; drop or fill these rows first")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise _ragged(name, error) from error
    refuse_dates(array, name)
    if array.dtype.kind == "c":
        raise InputError(f"{name}: complex numbers (dtype {array.dtype}) were found; give real numbers")
    if array.dtype.kind == "O":
        array = _unboxed(array, name)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name}: entries of type {array.dtype} were found; give real numbers")
    # Integers are converted before any product, since uint8 arithmetic wraps around.
    return np.asarray(array, dtype=np.float64)


def _unboxed(array: NDArray[Any], name: str) -> Array:
    """Numbers out of an object array, as frames with columns of several types give it; strings are not parsed."""
    for where, entry in np.ndenumerate(array):
        if isinstance(entry, (numbers.Real, decimal.Decimal, np.bool_)):
            continue
        found = f"{shown(entry)} of type {type(entry).__name__} was found"
        raise InputError(f"{name}: {found}{_place(where)}; give real numbers")
    try:
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name}: entries that are not float64 numbers were found ({error})") from error


def _finite(array: Array, name: str) -> Array:
    # A finite sum shows that every entry is, in one pass that stores nothing; a sum may overflow where no entry does.
    with np.errstate(over="ignore", invalid="ignore"):
        total = array.sum()
    if not (np.isfinite(total) or np.isfinite(array).all()):
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InputError(
            f"{name}: {array[where]} was found{_place(where)}; all entries must be finite, drop or fill it first"
        )
    return array


def dimensions(value: Any, name: str) -> int:
    """How many dimensions a number or an array has, or an error for rows of unequal length."""
    try:
        return np.ndim(value)
    except ValueError as error:
        raise _ragged(name, error) from error


def _ragged(name: str, error: ValueError) -> InputError:
    return InputError(f"{name}: not a rectangular array ({error}); give rows of equal length")


def _place(where: tuple[int, ...]) -> str:
    if len(where) == 2:
        return f" at row {where[0]}, column {where[1]}"
    return f" at position {', '.join(map(str, where))}" if where else ""


def numeric(value: Any, name: str, *, finite: bool = True) -> Array:
    """Real numbers as a float64 array of their own shape; infinities pass, and NaN with them, where ``finite`` is False."""
    array = _numeric(value, name)
    return _finite(array, name) if finite else array


def points(X: Any, name: str = "X", *, minimum: int = 1) -> Array:
    """Rows of points as a dense float64 array of shape (n, p).

    Raises InputError for anything that is not a finite real matrix with at least ``minimum`` rows.
    """
    in_places(X, name)
    array = _numeric(X, name)
    if array.ndim != 2:
        hint = f"{name}.reshape(-1, 1) for one feature" if array.ndim == 1 else "one row a point"
        raise InputError(f"{name}: shape {array.shape} was found; give a matrix of shape (points, features), {hint}")
    if array.shape[0] < minimum or array.shape[1] < 1:
        raise InputError(f"{name}: shape {array.shape} was found; at least {minimum} row(s) and one column are needed")
    return _finite(array, name)


def rounding_of(X: Any) -> float:
    """The rounding of the numbers of an array or a frame, as a share of them: that of the coarsest type that they are given in."""
    kinds = (str(kind).lower().rpartition(".")[2] for kind in types_of(X) if kind is not float)
    return max((COARSE.get(kind, EPS) for kind in kinds), default=EPS)


def squarable(X: Any, name: str, *, new: bool = False) -> Any:
    """The same points, dense or sparse, refused where squares of their entries are no numbers or all vanish.

    Lengths, variances and kernels are made of squares, which float64 holds for entries from 1e-150 to 1e150: beyond, a
    distance would be infinite, and below, a sample would pass for one point. ``new`` points may be as small as they like
    beside a sample that is not.
    """
    sparse = hasattr(X, "nnz")
    entries = X.data if sparse else X
    largest = max(float(entries.max(initial=0.0)), -float(entries.min(initial=0.0)))  # without a copy of the signs
    if largest > LARGEST:
        if sparse:
            found = X.tocoo()
            k = int(np.abs(found.data).argmax())
            i, j, value = int(found.row[k]), int(found.col[k]), found.data[k]
        else:
            i, j = (int(k) for k in np.unravel_index(int(np.abs(X).argmax()), X.shape))
            value = X[i, j]
        raise InputError(
            f"{name}: {value:.6g} was found at row {i}, column {j}, whose square is beyond float64; give points in a "
            f"unit in which no entry exceeds {LARGEST:.0e}"
        )
    if 0 < largest < SMALLEST and not new:
        raise InputError(
            f"{name}: no entry is larger than {largest:.6g}, and squares of such numbers vanish in float64; give points "
            f"in a unit in which the largest entry exceeds {SMALLEST:.0e}"
        )
    return X


def vector(v: Any, name: str, size: int | None = None) -> Array:
    """A vector as a float64 array of shape (size,); a single row or column is ravelled, a matrix refused."""
    array = _numeric(v, name)
    wanted = "give a vector" + (f" of length {size}" if size else "")
    if array.ndim == 0 or array.size == 0 or (array.ndim >= 2 and max(array.shape) != array.size):
        raise InputError(f"{name}: shape {array.shape} was found; {wanted}")
    array = array.ravel()
    if size is not None and array.size != size:
        raise InputError(f"{name}: length {array.size} was found where {size} is needed")
    return _finite(array, name)


def scores(v: Any, name: str) -> Array:
    """A vector of which the order counts: whole numbers that float64 would turn into ties are refused."""
    found = vector(v, name)
    in_order(v, name)
    return found


def in_order(v: Any, name: str) -> None:
    """Raises InputError for whole numbers that float64 does not hold: rounding hurts no sum, but makes ties of an order."""
    array = np.asarray(v)
    if array.dtype.kind not in "iuO":
        return
    large = array if array.dtype.kind == "O" else array[(array > EXACT) | (array < -EXACT)]
    lost = next(filter(_rounded, large.flat), None)
    if lost is not None:
        raise InputError(
            f"{name}: {lost} was found, which float64 does not hold, so that it would tie with its neighbours; subtract "
            f"from all scores what they have in common"
        )


def square(S: Any, name: str, size: int | None = None) -> Array:
    """A square float64 matrix."""
    array = _numeric(S, name)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.size == 0:
        raise InputError(f"{name}: shape {array.shape} was found; give a square matrix")
    if size is not None and array.shape[0] != size:
        raise InputError(f"{name}: shape {array.shape} was found where ({size}, {size}) is needed")
    return _finite(array, name)


def symmetric(S: Any, name: str, size: int | None = None, rounding: float | None = None) -> Array:
    """A symmetric float64 matrix; asymmetry beyond rounding is refused, what rounding left is averaged out.

    ``rounding`` is that of the type it was given in, where ``S`` does not tell.
    Rows of a frame that have the names of its columns are taken in the order of these.
    """
    array = square(rows_as_columns(S), name, size)
    allowed = max(SYMMETRY_TOLERANCE, len(array) * (rounding_of(S) if rounding is None else rounding))
    scale = float(np.abs(array).max())
    skew = float(np.abs(array - array.T).max())
    if skew > allowed * scale:
        i, j = (int(k) for k in np.unravel_index(int(np.abs(array - array.T).argmax()), array.shape))
        raise InputError(
            f"{name}: not symmetric, entry ({i}, {j}) is {array[i, j]:.6g} and entry ({j}, {i}) is {array[j, i]:.6g}; "
            f"give a symmetric matrix, for example ({name} + {name}.T) / 2"
        )
    return np.asarray((array + array.T) / 2.0)


def real(x: Any, name: str) -> float:
    """A real number as a float, which may be infinite or none."""
    if isinstance(x, np.ndarray) and x.size == 1 and x.dtype.kind in "biuf" and not np.ma.is_masked(x):
        x = x.item()
    # NumPy registers spans of time among the integers.
    if isinstance(x, (bool, np.bool_, np.timedelta64)) or not isinstance(x, numbers.Real):
        raise InputError(f"{name}: {shown(x)} was found; give a real number")
    try:
        return float(x)
    except OverflowError as error:
        raise InputError(f"{name}: a number beyond the range of float64 was found") from error


def number(x: Any, name: str) -> float:
    """A finite real number as a float."""
    value = real(x, name)
    if not math.isfinite(value):
        raise InputError(f"{name}: {value} was found; give a finite number")
    return value


def nonnegative(x: Any, name: str, *, squared: bool = False) -> float:
    """A finite number that is at least zero; ``squared`` as for :func:`positive`."""
    value = number(x, name)
    if value < 0:
        raise InputError(f"{name}: {value:.6g} was found; give a number that is not negative")
    return positive(value, name, squared=True) if squared and value > 0 else value


def positive(x: Any, name: str, *, squared: bool = False) -> float:
    """A finite number above zero; where its square is needed, ``squared`` refuses numbers whose square is none."""
    value = number(x, name)
    if value <= 0:
        raise InputError(f"{name}: {value:.6g} was found; give a number above zero")
    if squared and not SMALLEST <= value <= LARGEST:
        raise InputError(
            f"{name}: {value:.6g} was found, whose square float64 cannot hold; give a number from {SMALLEST:.0e} to "
            f"{LARGEST:.0e}"
        )
    return value


def fraction(x: Any, name: str, *, zero: bool = False, one: bool = False) -> float:
    """A number between 0 and 1; ``zero`` and ``one`` say whether that end belongs to the interval."""
    value = number(x, name)
    interval = f"{'[' if zero else '('}0, 1{']' if one else ')'}"
    if value < 0 or value > 1 or (value == 0 and not zero) or (value == 1 and not one):
        raise InputError(f"{name}: {value:.12g} was found; give a number in {interval}")
    return value


def integer(x: Any, name: str, minimum: int | None = None) -> int:
    """A whole number that is at least ``minimum``."""
    value = number(x, name)
    if value != int(value) or (minimum is not None and value < minimum) or abs(value) > EXACT:
        bound = "" if minimum is None else f" of at least {minimum}"
        if abs(value) > EXACT:
            bound += f" and at most {EXACT}"
        raise InputError(f"{name}: {x!r} was found; give a whole number{bound}")
    return int(value)


def choice(value: Any, name: str, options: Sequence[str]) -> str:
    """One of the words that an argument knows."""
    if not isinstance(value, str) or value not in options:
        known = f"{options[0]!r} or {options[1]!r}" if len(options) == 2 else f"one of {', '.join(options)}"
        raise InputError(f"{name}: {shown(value)} was found; give {known}")
    return value


def flag(value: Any, name: str) -> bool:
    """True or False; what merely counts as one of them, as the word "False" counts as true, is refused."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name}: {shown(value)} was found; give True or False")
    return bool(value)


def listed(value: Any, name: str, wanted: str) -> list[Any]:
    """What an argument of several things holds, or an error that says what is ``wanted``; a string is one thing."""
    try:
        if isinstance(value, (str, bytes, type, Mapping)):
            raise TypeError
        return list(value)
    except TypeError as error:  # of an array without dimension as well, which calls itself iterable
        raise InputError(f"{name}: {shown(value)} was found; give {wanted}") from error


def labels(value: Any, name: str) -> Any:
    """Labels as they were given, which are compared and never computed with; hidden ones are refused, and complex ones, which have no order.

    scikit-learn makes floats of the whole numbers and truth values that pandas holds beside a mask, and NumPy of whole numbers
    that no integer type holds together; floats do not tell whole numbers above 2**53 apart.
    """
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise InputError(f"{name}: {int(np.ma.getmaskarray(value).sum())} labels are masked; give a label to every row")
    if getattr(getattr(value, "dtype", None), "kind", "") == "c":
        raise InputError(
            f"{name}: Complex data not supported, since it has no order; give real numbers or words for labels"
        )
    if hasattr(value, "iloc") and value.ndim == 2 and value.shape[1] == 1:
        return np.reshape(np.asarray(labels(value.iloc[:, 0], name)), (-1, 1))
    _refuse_gaps(value, name)
    if isinstance(value, (list, tuple)):
        return _listed_labels(value, name)
    plain = getattr(getattr(value, "dtype", None), "numpy_dtype", None)
    if plain is not None and plain.kind in "iub":
        return value.to_numpy(dtype=plain)
    return value


def _refuse_gaps(value: Any, name: str) -> None:
    """Raise InputError where pandas, polars or None leave a label out, which NumPy compares with no other."""
    asked = getattr(value, "isna", getattr(value, "is_null", None))
    if callable(asked) and getattr(value, "ndim", 1) == 1:
        gaps = np.asarray(asked())
    else:
        boxed = isinstance(value, (list, tuple)) or getattr(getattr(value, "dtype", None), "kind", "") == "O"
        gaps = np.array([entry is None for entry in value] if boxed else [])
    if gaps.any():
        raise InputError(
            f"{name}: no label was found at position {int(np.argmax(gaps))}, of {int(gaps.sum())} such rows; give a label to every row"
        )


def _listed_labels(value: Any, name: str) -> Any:
    dimensions(value, name)
    kinds = set(map(type, value))
    truths = {kind for kind in kinds if issubclass(kind, (bool, np.bool_))}
    if truths and kinds != truths and all(issubclass(kind, (numbers.Real, np.bool_)) for kind in kinds):
        raise InputError(f"{name}: truth values were found among numbers, as which they count; give labels of one type")
    whole = bool(kinds) and all(issubclass(kind, numbers.Integral) for kind in kinds)
    if np.asarray(value).dtype.kind == "f" and (whole or any(map(_rounded, value))):
        return np.asarray(value, dtype=object)
    return value


def _rounded(entry: Any) -> bool:
    """Whether it is a whole number that float64 does not hold."""
    return isinstance(entry, numbers.Integral) and int(float(entry)) != entry


def generator(random_state: Any, name: str = "random_state") -> np.random.Generator:
    """A generator from a seed, or the generator itself; None draws a seed of its own."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    whole = isinstance(random_state, numbers.Integral) and not isinstance(random_state, (bool, np.timedelta64))
    if random_state is None or (whole and random_state >= 0):
        return np.random.default_rng(random_state)
    raise InputError(f"{name}: {shown(random_state)} was found; give a whole number of at least 0 or a numpy Generator")

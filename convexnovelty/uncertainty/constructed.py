"""What a set's constructor makes of its arguments, made again where a number changes.

A class may compute matrices, lists or functions from its radius when it is made, and keep nothing of the arguments. So the
arguments of each set are remembered, and where one of its numbers becomes another, the constructor is asked again.
"""

from __future__ import annotations

import copy
import inspect
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from convexnovelty.errors import ConvexNoveltyError, InputError
from convexnovelty.owned import owned

__all__ = ["beside", "computed", "contained", "is_alike", "is_container", "is_number", "remembered", "signature_of"]

ENROLS_NOTHING = "the making of sets"

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def remembered(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Arguments:
    """A constructor's arguments as they were given, whatever becomes of the caller's arrays."""
    return tuple(map(owned, args)), {name: owned(value) for name, value in kwargs.items()}


def signature_of(kind: type[Any]) -> inspect.Signature:
    """What the constructor of a class takes. Early releases of Python 3.11 give the class the signature of a ``__new__`` above it."""
    made = inspect.signature(kind.__init__)
    return made.replace(parameters=list(made.parameters.values())[1:])


def is_number(value: Any) -> bool:
    """Whether something is a real number, and no truth value."""
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def beside(present: Any) -> tuple[Any, Any]:
    """A larger and a smaller value of a number, at which a class is tried: whole where the number is, as a column or a seed has to be."""
    return present + abs(present) + 1, present // 2 if isinstance(present, numbers.Integral) else present / 2


def is_container(value: Any) -> bool:
    """Whether something is one of Python's own containers that change in place."""
    return isinstance(value, (dict, list, set))


def contained(value: Any) -> Any:
    """A container of the same things, in which the containers within are others too; anything else as it is."""
    if not is_container(value):
        return value
    made = copy.copy(value)
    if isinstance(made, dict):
        made.update({key: contained(held) for key, held in value.items()})
    elif isinstance(made, list):
        made[:] = map(contained, value)
    return made


def is_alike(one: Any, other: Any) -> bool:
    """Whether two things are known to be equal."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return type(one) is type(other) and np.array_equal(one, other)
    if isinstance(one, (list, tuple)) and type(one) is type(other):
        return len(one) == len(other) and all(map(is_alike, one, other))
    try:
        return one is other or bool(one == other)
    except Exception:  # a class of a user's, or of another library, raises what it raises at the question
        return False


def computed(
    uncertainty: Any, given: Arguments | None, managed: frozenset[str], new: Mapping[str, Any]
) -> dict[str, Any]:
    """The attributes of a set that its constructor would make otherwise with the numbers ``new``, and ``_made_with``.

    ``given`` are the arguments that it was made with, and ``managed`` the names that are not the class's own. What was assigned
    since it was made stays. Raises InputError where something was computed, and no argument is found that the number comes from.
    """
    held = {name: value for name, value in vars(uncertainty).items() if name not in managed}
    if given is None:
        return {}
    kind = type(uncertainty)
    try:
        bound = signature_of(kind).bind(*given[0], **given[1])
    except (TypeError, ValueError):
        return {}
    bound.apply_defaults()
    arguments: dict[str, Any] = dict(bound.arguments)
    if all(
        name in new or any(is_alike(value, argument) for argument in arguments.values()) for name, value in held.items()
    ):
        return {}  # the constructor keeps its arguments, and nothing else
    before = vars(_again(uncertainty, arguments))
    since = {name for name, value in held.items() if name not in before or not is_alike(before[name], value)}
    for name in since & arguments.keys() - new.keys():
        arguments[name] = held[name]
    for name, value in new.items():
        found = _with_number(uncertainty, arguments, name, value)
        if found is None:
            if all(is_number(value) for value in held.values()) and before.keys() >= held.keys():
                continue
            raise InputError(
                f"{uncertainty!r}: {name} comes from no argument of its constructor that is a number, and whether anything else was "
                f"computed from it cannot be told; let the constructor take {name!r}, and keep it under that name"
            )
        arguments = found
    after = vars(_again(uncertainty, arguments))
    kept = {name for name in since if _was_assigned(before.get(name), held[name])}
    made = {name: after[name] for name in held.keys() & after.keys() - new.keys() - kept}
    return {**made, "_made_with": _given(kind, arguments)}


def _again(uncertainty: Any, arguments: Mapping[str, Any]) -> Any:
    args, kwargs = _given(type(uncertainty), arguments)
    try:
        return type(uncertainty)(*args, **kwargs)
    except ConvexNoveltyError:
        raise
    except Exception as error:
        raise InputError(
            f"{uncertainty!r}: its constructor, asked again for a set with another number, failed ({type(error).__name__}: {error}); "
            "let it take its arguments as often as it is given them"
        ) from error


def _given(kind: type, arguments: Mapping[str, Any]) -> Arguments:
    bound = signature_of(kind).bind_partial()
    bound.arguments.update(arguments)
    return bound.args, bound.kwargs


def _with_number(uncertainty: Any, arguments: Mapping[str, Any], name: str, value: Any) -> dict[str, Any] | None:
    """The arguments with which the constructor gives the attribute ``name`` that value; of its own name first."""
    for key in sorted((key for key, held in arguments.items() if is_number(held)), key=lambda key: key != name):
        tried = {**arguments, key: value}
        if is_alike(vars(_again(uncertainty, tried)).get(name), value):
            return tried
    return None


def _was_assigned(before: Any, now: Any) -> bool:
    """Whether what differs from what the constructor made was assigned later, and is no cache and no function, which it makes anew."""
    return is_number(now) or (isinstance(now, np.ndarray) and np.shape(before) == now.shape and before is not None)

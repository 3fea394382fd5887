"""The names that users type exist, and the list of them is the truth."""

from __future__ import annotations

import convexnovelty as cn


def test_every_public_name_exists():
    for name in cn.__all__:
        assert getattr(cn, name) is not None
    assert set(cn.__all__) == {*cn._NAMES, *cn._MODULES, "__version__"}


def test_factories_bear_the_names_of_their_methods():
    for name in cn.derivation.methods():
        assert callable(getattr(cn, name))
    assert "single_class_mpm" in dir(cn)


def test_a_star_imports_the_classes_of_the_catalogue():
    found: dict[str, object] = {}
    exec("from convexnovelty.uncertainty import *", found)
    assert cn.uncertainty.catalogue().keys() <= found.keys()

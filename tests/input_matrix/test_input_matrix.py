"""Parameters and commands: no cell of the input matrix fails, and none is missing."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from input_cells import door_cells, faults
from input_commands import COMMAND_CASES, command_cell
from input_doors import DOORS, Door
from input_kinds import KINDS
from input_numbers import VALUES, domain_of
from input_store import store
from input_subjects import POINT_SUBJECTS, missing

import convexnovelty as cn
from convexnovelty import derivation, estimators, uncertainty


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_parameters(door: Door, matrix_folder: Path | None) -> None:
    cells = list(door_cells(door))
    store(matrix_folder, f"parameters {door.name}", cells)
    assert len(cells) == len(door.parameters) * len(VALUES)
    assert not faults(cells)


@pytest.mark.parametrize("name", COMMAND_CASES)
def test_commands(name: str, tmp_path) -> None:
    assert not command_cell(name, tmp_path).fault


def test_every_public_part_has_its_row() -> None:
    assert missing() == []
    rows = {subject.name for subject in POINT_SUBJECTS} | {door.name for door in DOORS}
    assert {f"cn.{name}" for name in derivation.methods()} <= rows
    assert set(estimators.__all__) <= rows
    assert {f"uncertainty.{name}" for name in uncertainty.catalogue()} <= rows


def test_every_parameter_has_cells_or_a_reason() -> None:
    for door in DOORS:
        for name, optional in door.parameters.items():
            assert domain_of(name, optional, door.name).words
    for name in derivation.methods():
        (door,) = [door for door in DOORS if door.name == f"cn.{name}"]
        assert set(inspect.signature(getattr(cn, name)).parameters) == set(door.parameters) | set(door.absent)


def test_the_matrix_is_as_large_as_it_should_be() -> None:
    cells = len(POINT_SUBJECTS) * len(KINDS) + sum(len(door.parameters) for door in DOORS) * len(VALUES)
    assert cells >= 300


def test_a_door_that_lets_anything_in_is_found() -> None:
    door = Door("planted", "factory", {}, lambda given: [1.0], {"outlier_fraction": False})
    assert {cell.kind for cell in door_cells(door) if cell.fault} >= {
        "NaN",
        "negative",
        "0",
        "1.5",
        "string of a number",
    }


def test_a_foreign_error_is_found() -> None:
    def fails(given):
        raise TypeError("outlier_fraction: give something else")

    door = Door("planted", "factory", {}, fails, {"outlier_fraction": False})
    assert all(cell.fault for cell in door_cells(door))

"""Cells that a run of the tests has computed, kept for the page that shows them, as long as no line of code changes."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from functools import cache
from pathlib import Path

from input_cells import Cell

__all__ = ["kept", "store"]

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "convexnovelty"


@cache
def _code() -> str:
    """What the cells follow from: the package and the declarations of this folder."""
    found = hashlib.sha256()
    for file in sorted([*PACKAGE.rglob("*.py"), *HERE.glob("*.py")]):
        found.update(file.read_bytes())
    return found.hexdigest()


def _file(folder: Path, name: str) -> Path:
    return folder / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.json"


def store(folder: Path | None, name: str, cells: list[Cell]) -> None:
    """Keep the cells of one row, where there is a folder to keep them in."""
    if folder is not None:
        rows = [dataclasses.asdict(cell) for cell in cells]
        _file(folder, name).write_text(json.dumps({"code": _code(), "cells": rows}), encoding="utf-8")


def kept(folder: Path, name: str) -> list[Cell] | None:
    """The cells of one row, or None where they were not computed with this code."""
    try:
        found = json.loads(_file(folder, name).read_text(encoding="utf-8"))
        return [Cell(**row) for row in found["cells"]] if found["code"] == _code() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None

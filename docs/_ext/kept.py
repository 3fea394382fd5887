"""What a run of the tests has computed for a page, kept until the site is built, as long as no line of code changes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


@cache
def _package() -> bytes:
    return _digest(sorted((ROOT / "convexnovelty").rglob("*.py"))).digest()


def _digest(files: Iterable[Path]) -> Any:
    found = hashlib.sha256()
    for file in files:
        found.update(file.read_bytes())
    return found


def code(others: Iterable[Path]) -> str:
    """A digest of the package and of the other files that a page follows from."""
    found = _digest(sorted(others))
    found.update(_package())
    return found.hexdigest()


def store(file: Path, others: Iterable[Path], content: Any) -> None:
    """Keep plain data, with the digest of the code that it was computed with; the file appears whole or not at all."""
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps({"code": code(others), "content": content}), encoding="utf-8")
    partial.replace(file)


def load(file: Path, others: Iterable[Path]) -> Any:
    """What was kept, or None where there is nothing that was computed with this code."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return found["content"] if found["code"] == code(others) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None

"""Lets the tests of this folder share ``set_laws`` with those of the sets."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "uncertainty"))

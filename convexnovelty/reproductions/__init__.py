"""One file a table or figure of the papers: what was printed, how it was made, and how to make it again.

``convexnovelty reproduce --list`` walks this folder. A file takes part by defining ``REPRODUCTION``; its docstring says
what the paper leaves open and what was chosen.
"""

from __future__ import annotations

from convexnovelty.reproductions._catalogue import catalogue, named
from convexnovelty.reproductions._data import Data, Table
from convexnovelty.reproductions._declare import Claim, Printed, Reproduction
from convexnovelty.reproductions._result import Answer, Cell, Result

__all__ = ["Answer", "Cell", "Claim", "Data", "Printed", "Reproduction", "Result", "Table", "catalogue", "named"]

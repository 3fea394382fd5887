"""The printed cells of table 1 of Lanckriet, El Ghaoui and Jordan (2003)."""

from __future__ import annotations

__all__ = ["PROBLEMS", "ROWS", "cells_of"]

# For each method its parameter, FP and FN in percent, as printed; the third row of "wisconsin +1" prints alpha = 0.2.
TABLE = """
sonar +1     | 0.2 24.7 64.0    | 0.6 26.9 65.4    | 0.1 23.8 68.6
sonar +1     | 0.8 44.6 39.6    | 0.2 47.3 42.1    | 0.2 48.3 42.3
sonar +1     | 0.95 69.3 17.3   | 0.0005 75.4 16.2 | 1 75.2 16.0
sonar -1     | 0.6 5.4 51.7     | 0.4 8.5 53.7     | 0.1 9.7 70.0
sonar -1     | 0.9 10.0 37.4    | 0.001 15.7 41.3  | 0.2 34.6 40.6
sonar -1     | 0.95 19.1 29.7   | 0.0006 36.1 28.4 | 0.35 47.7 26.0
sonar -1     | 0.99 56.1 5.7    | 0.0003 82.6 6.3  | 1 67.9 6.1
wisconsin +1 | 0.6 0.0 8.8      | 0.14 0.0 14.6    | 0.005 0.4 8.0
wisconsin +1 | 0.8 1.8 5.9      | 0.001 2.4 6.1    | 0.1 0.9 4.3
wisconsin +1 | 0.2 10.5 2.7     | 0.0003 11.5 3.1  | 10 12.3 3.1
wisconsin -1 | 0.01 2.4 26.5    | 0.4 2.5 41.4     | 0.8 0.9 47.9
wisconsin -1 | 0.03 2.9 13.5    | 0.2 2.8 25.0     | 1 11.0 45
wisconsin -1 | 0.05 3.0 8.3     | 0.1 3.1 11.3     | 2 89.2 38.2
wisconsin -1 | 0.14 5.9 1.9     | 0.0005 9.2 3.4   | 100 98.0 23.5
twonorm +1   | 0.01 6.3 43.2    | 0.4 6.2 42.8     | 0.13 6.8 37.3
twonorm +1   | 0.2 13.9 22.5    | 0.2 12.7 22.8    | 0.17 12.0 24.2
twonorm +1   | 0.4 22.5 11.9    | 0.0008 23.3 9.6  | 5 25.9 10.5
twonorm +1   | 0.6 36.9 4.5     | 0.0003 33.4 4.5  |
twonorm -1   | 0.1 5.6 43.7     | 0.4 6.0 44.1     | 0.35 6.1 49.8
twonorm -1   | 0.4 11.3 23.1    | 0.15 11.8 24.6   | 0.5 24.5 23.7
twonorm -1   | 0.6 16.9 12.1    | 0.0005 35.9 12.0 | 10 30.1 10.0
twonorm -1   | 0.8 30.1 6.9     | 0.0003 39.3 6.9  |
heart +1     | 0.46 13.4 46.2   | 0.4 13.5 47.8    | 0.05 11.9 46.4
heart +1     | 0.52 24.0 30.9   | 0.05 24.8 36.7   | 0.07 22.1 30.3
heart +1     | 0.54 33.5 22.6   | 0.0008 38.8 27.0 | 0.1 35.8 22.9
heart -1     | 0.0001 15.9 41.3 | 0.4 20.8 50.7    | 0.08 13.9 43.8
heart -1     | 0.0006 21.2 37.2 | 0.002 26.3 43.8  | 0.09 21.0 37.5
heart -1     | 0.003 36.3 27.2  | 0.0007 43.7 29.2 | 0.11 39.2 31.8
heart -1     | 0.01 56.9 15.9   | 0.0005 58.4 18.09 | 0.2 68.6 16.7
"""
LINES = [[cell.split() for cell in line.split("|")] for line in TABLE.strip().splitlines()]
ROWS = [(" ".join(line[0]), [tuple(map(float, cell)) for cell in line[1:]]) for line in LINES]
PROBLEMS = tuple(dict.fromkeys(problem for problem, _ in ROWS))


def cells_of(problem: str) -> list[list[tuple[float, ...]]]:
    """The rows of a problem: for each method its parameter, FP and FN in percent, or nothing."""
    return [cells for name, cells in ROWS if name == problem]

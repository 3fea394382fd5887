"""The picture of a derivation: nothing is left out, every part is a link, and arrows point down."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import networkx
import pytest

import drawing
from convexnovelty import derivation

METHODS = derivation.methods()
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", METHODS)
def test_every_node_and_step_is_a_link(name: str) -> None:
    graph = derivation.graph(name)
    html = drawing.draw(METHODS[name], lambda node: f"#{node.key}", lambda owner, step: f"#{owner.steps.index(step)}")
    assert "\n\n" not in html
    links = [link.attrib["href"] for link in ElementTree.fromstring(html).iter(f"{SVG}a")]
    steps = [f"#{number}" for number in range(len(METHODS[name].steps))]
    assert sorted(links) == sorted([*(f"#{key}" for key in graph.nodes), *steps])


@pytest.mark.parametrize("name", METHODS)
def test_boxes_of_a_row_do_not_meet(name: str) -> None:
    layout, _ = drawing.places(derivation.graph(name))
    for layer in layout:
        edges = [(place.x - place.width / 2, place.x + place.width / 2) for place in layer]
        assert all(left[1] < right[0] for left, right in pairwise(edges))


@pytest.mark.parametrize("name", METHODS)
def test_arrows_point_down(name: str) -> None:
    graph = networkx.DiGraph(derivation.graph(name))
    row = drawing.rows(graph)
    up = [arrow for arrow in graph.edges if row[arrow[0]] >= row[arrow[1]]]
    # Two nodes that lead to each other cannot both stand above the other.
    graph.remove_edges_from(up)
    assert all(networkx.has_path(graph, target, source) for source, target in up)


def test_a_cycle_is_cut_at_one_arrow() -> None:
    row = drawing.rows(networkx.DiGraph([("a", "b"), ("b", "a"), ("c", "b")]))
    assert sum(row[source] >= row[target] for source, target in (("a", "b"), ("b", "a"), ("c", "b"))) == 1

"""Cleaning: keep the connected components of the fluid that take part in the flow and report what was dropped."""

from dataclasses import dataclass

import numpy as np
from numba import prange

from muphy_lb.base.kept.functions import njit
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.neighbours import FIRST_OPENING_LINK, is_opening_link, neighbour_table
from muphy_lb.geometry.nodes import NodeList, regroup

MODES = ("openings", "largest", "all")
FORWARD_FACES = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
ALL_FACES = (*FORWARD_FACES, (-1, 0, 0), (0, -1, 0), (0, 0, -1))

NODES_PER_TASK = 1 << 18  # nodes of many layers: few links leave them


@dataclass(frozen=True)
class CleanReport:
    """Result of cleaning: nodes kept and dropped, the number of face-connected components found, and the names of the
    openings from which no component leads to another one, if there are several."""

    mode: str
    n_kept: int
    n_dropped: int
    n_components: int
    alone: tuple[str, ...] = ()

    def __str__(self):
        total = self.n_kept + self.n_dropped
        return (
            f"keep = {self.mode}: {self.n_kept} of {total} fluid nodes kept, {self.n_dropped} dropped"
            f" ({self.n_components} connected component{'s' if self.n_components != 1 else ''} found)"
        )


def clean(nodes: NodeList, keep: str) -> tuple[NodeList, CleanReport]:
    """Keep the nodes of the wanted face-connected components. ``keep``: ``"openings"`` (components that touch an
    opening), ``"largest"`` or ``"all"``. Raises GeometryError: unknown mode; ``"openings"`` without openings; an
    opening left without fluid."""
    if keep not in MODES:
        raise GeometryError(f"keep is {keep!r}; allowed: {', '.join(MODES)}")
    component = component_labels(nodes)
    n_components = int(component.max()) + 1
    kept = nodes
    if keep != "all":
        wanted = _open_components(nodes, component) if keep == "openings" else [np.argmax(np.bincount(component))]
        kept = regroup(nodes, np.sort(nodes.voxel[np.isin(component, wanted)]))
    present = np.unique(kept.label_number)
    for number, opening in enumerate(kept.openings):
        if number not in present:
            raise GeometryError(
                f"opening {opening.name!r} (centre {opening.centre_m} m) touches no fluid;"
                " move its plane into the vessel or remove it"
            )
    alone = _alone(nodes, component) if n_components > 1 else ()
    return kept, CleanReport(keep, kept.n_nodes, nodes.n_nodes - kept.n_nodes, n_components, alone)


def _alone(nodes: NodeList, component: np.ndarray) -> tuple[str, ...]:
    """Names of the openings from which none of the components of nodes leads to another one."""
    first = int(nodes.group_start[1])
    codes = neighbour_table(nodes, ALL_FACES, slice(first, None))
    face, node = np.nonzero(is_opening_link(codes))
    pairs = np.unique(np.column_stack((FIRST_OPENING_LINK - codes[face, node], component[first + node])), axis=0)
    n_openings = np.bincount(pairs[:, 1])
    joined = pairs[n_openings[pairs[:, 1]] > 1, 0]
    return tuple(
        opening.name for k, opening in enumerate(nodes.openings) if len(nodes.openings) > 1 and k not in joined
    )


def component_labels(nodes: NodeList, stretch: int = NODES_PER_TASK) -> np.ndarray:
    """(n,) int64 number of the face-connected component of each node, counted from 0. ``stretch``: nodes whose links
    among themselves one thread follows."""
    parent = np.arange(nodes.n_nodes)
    _unite(parent, neighbour_table(nodes, FORWARD_FACES), stretch)
    _renumber_roots(parent)
    return parent


def _open_components(nodes: NodeList, component: np.ndarray) -> np.ndarray:
    """Numbers of the components that touch an opening: all nodes beyond group 0 do."""
    wanted = np.unique(component[nodes.group_start[1] :])
    if wanted.size == 0:
        raise GeometryError(
            "keep = 'openings', but no fluid touches an opening; give openings that cut the fluid,"
            " or keep = 'largest' or 'all'"
        )
    return wanted


@njit(cache=True)
def root(parent, n):
    """The smallest known node of the component of node n in a union-find; shortens the way to it."""
    while parent[n] != n:
        parent[n] = parent[parent[n]]
        n = parent[n]
    return n


@njit(parallel=True, cache=True, usually="(int64[::1], int32[:,::1], int64)")
def _unite(parent, table, stretch):
    """Union-find over the links of the table; afterwards parent[n] is the smallest node of n's component. Links inside
    a stretch of nodes are followed side by side with those of others, then links between stretches."""
    n_tasks = (parent.size + stretch - 1) // stretch
    for task in prange(n_tasks):
        _unite_stretch(parent, table, task * stretch, stretch, True)
    for task in range(n_tasks):
        _unite_stretch(parent, table, task * stretch, stretch, False)
    for n in range(parent.size):
        parent[n] = root(parent, n)


@njit(cache=True)
def _unite_stretch(parent, table, first, stretch, inside):
    """Follow the links from a stretch of nodes that end inside it, or those that end elsewhere."""
    last = min(parent.size, first + stretch)
    for n in range(first, last):
        for q in range(table.shape[0]):
            other = table[q, n]
            if other >= 0 and (first <= other < last) == inside:
                a, b = root(parent, n), root(parent, other)
                parent[max(a, b)] = min(a, b)


@njit(cache=True, usually="void(int64[::1])")
def _renumber_roots(parent):
    """Replace the root (smallest node) of each component by the number of the component, counted from 0. In one
    ascending pass: a root precedes all other nodes of its component and already holds the number."""
    n_components = 0
    for n in range(parent.size):
        if parent[n] == n:
            parent[n] = n_components
            n_components += 1
        else:
            parent[n] = parent[parent[n]]

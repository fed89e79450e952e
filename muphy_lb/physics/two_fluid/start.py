"""A start at a given saturation, in the widest pores or from another state.

The fluid that does not wet the walls fills the widest pores.

A pore is as wide as the largest sphere that covers it without touching a wall: pores wider than r are the opening of
the fluid by spheres of radius r, which is where a fluid that does not wet is found behind drainage to the capillary
pressure 2 sigma / r (Hilpert, Miller, Adv. Water Resour. 24, 243 (2001)).

From another state one fluid advances from where it is: if it does not wet, through pores that are at least as wide as
they must be for it to find enough, else through those that are as narrow; in these, nearest pores first. Connected
fluid stays connected, and a throat is passed when its turn has come, as in invasion percolation (Wilkinson, Willemsen,
J. Phys. A 16, 3365 (1983)), but for trapped fluid, of which nothing is known here.
"""

from bisect import bisect_left
from dataclasses import replace

import numpy as np
from scipy.ndimage import distance_transform_edt

from muphy_lb.base.errors import InputError
from muphy_lb.geometry.clean import component_labels
from muphy_lb.geometry.neighbours import links_from, neighbour_table
from muphy_lb.geometry.nodes import NodeList, chosen_nodes
from muphy_lb.geometry.porous.pores import pore_widths
from muphy_lb.geometry.wall_areas import AXES


def widest_pores(nodes: NodeList, n_wanted: int, entry: np.ndarray | None = None) -> np.ndarray:
    """(n,) whether each node is one of ``n_wanted`` in the widest pores; of pores as wide as each other those nearest
    to wider ones, of these the first. ``entry``: (n,) nodes from which alone spheres come, through throats as wide as
    they are (Hilpert, Miller, section 3)."""
    box = np.zeros(nodes.shape, dtype=bool)
    box.reshape(-1)[nodes.voxel] = True
    if box.all():
        return np.arange(nodes.n_nodes) < n_wanted
    widths = [(0, 0)] * 3
    for axis, repeats in enumerate(nodes.periodic[::-1]):
        if repeats and box.shape[axis] > 1:
            beyond = min(box.shape[axis], int(distance_transform_edt(box).max()) + 1)
            widths[axis] = (beyond, beyond)
    inside = tuple(slice(low, low + size) for (low, _), size in zip(widths, box.shape, strict=True))
    depth = distance_transform_edt(np.pad(box, widths, mode="wrap"))[inside].reshape(-1)[nodes.voxel]
    radii = np.unique(depth)

    def beyond_spheres(radius: float) -> np.ndarray:
        """(n,) distances from the nearest centre of a sphere; below ``radius`` it covers the node."""
        centres = depth >= radius
        if entry is not None:
            centres = _reached(nodes, centres & entry, centres) | (centres & entry)
        if not centres.any():
            return np.full(nodes.n_nodes, np.inf)
        empty = np.ones(nodes.shape, dtype=bool)
        empty.reshape(-1)[nodes.voxel[centres]] = False  # walls beyond what is padded are near what lies there
        return distance_transform_edt(np.pad(empty, widths, mode="wrap"))[inside].reshape(-1)[nodes.voxel]

    low, high = 0, radii.size  # pores as wide as radii[low] are enough, those as wide as radii[high] are too few
    while high - low > 1:
        middle = (low + high) // 2
        if np.count_nonzero(beyond_spheres(radii[middle]) < radii[middle]) >= n_wanted:
            low = middle
        else:
            high = middle
    covered = beyond_spheres(radii[low]) < radii[low]
    from_wider = np.zeros(nodes.n_nodes) if high == radii.size else beyond_spheres(radii[high])
    if entry is not None:
        wider = np.zeros(nodes.n_nodes, dtype=bool) if high == radii.size else from_wider < radii[high]
        from_wider = links_from(neighbour_table(nodes, AXES), wider | (entry & covered), covered)
    order = np.argsort(np.where(covered, from_wider, np.inf), kind="stable")
    chosen = np.zeros(nodes.n_nodes, dtype=bool)
    chosen[order[:n_wanted]] = True
    return chosen


def exchanged(nodes: NodeList, phase: np.ndarray, saturation: float, first_wets: bool) -> np.ndarray:
    """(n,) phase with another saturation of the second fluid, from that of a state (n,). Raises InputError: the fluid
    that gains is nowhere, or too little of the other is within its reach."""
    missing = saturation * nodes.n_nodes - (0.5 - 0.5 * phase).sum()
    sign = 1.0 if missing < 0.0 else -1.0  # of the fluid that gains
    gaining, phase, missing = sign * phase > 0.0, phase.copy(), abs(missing)
    x, y, z = (repeats or size == 1 for repeats, size in zip(nodes.periodic, nodes.shape[::-1], strict=True))
    width = pore_widths(replace(nodes, periodic=(x, y, z)))
    turn = np.where(gaining, -np.inf, width if first_wets == (sign > 0.0) else -width)
    gains = 0.5 - 0.5 * sign * phase
    turns = np.unique(turn[~gaining])
    last = bisect_left(turns, missing, key=lambda limit: gains[_reached(nodes, gaining, turn <= limit)].sum())
    if last == turns.size:
        raise InputError(
            f"two_fluid.second_saturation is {saturation:.4g}, which cannot be reached from the state of"
            " two_fluid.initial_file; give a saturation nearer to that of the file"
        )
    before, allowed = _reached(nodes, gaining, turn < turns[last]), turn <= turns[last]
    missing -= gains[before].sum()
    gaining, phase[before] = gaining | before, sign
    links = links_from(neighbour_table(nodes, AXES), gaining, allowed)
    near = np.flatnonzero(~gaining & np.isfinite(links))
    near = near[np.lexsort((turn[near], links[near]))]
    phase[near[: np.searchsorted(np.cumsum(gains[near]), missing) + 1]] = sign
    return phase


def _reached(nodes: NodeList, begin: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """(n,) whether each node is connected along axes to one of ``begin`` by nodes that are allowed, and is none."""
    inside = np.flatnonzero(begin | allowed)
    order = inside[np.argsort(nodes.voxel[inside])]
    part = component_labels(chosen_nodes(nodes, nodes.voxel[order]))
    is_met = np.zeros(nodes.n_nodes + 1, dtype=bool)
    is_met[part[begin[order]]] = True
    found = np.zeros(nodes.n_nodes, dtype=bool)
    found[order] = is_met[part]
    return found & ~begin

"""Shape of both fluids in the rock: their parts, Euler numbers, and the areas in which they meet each other and the
walls. Reservoirs do not count.

**Parts** are components connected by links along axes, those that amounts of fluid cross. A part is *connected* if it
reaches an opening, through a reservoir if there is one, or leads round a periodic box to its own image, along the force
if there is one; else trapped.

**Euler numbers** are those of the complex with a vertex for every node of a fluid, an edge for every link along an axis
between two of them, a face for every square, a body for every cube of them: parts - handles + cavities.

**Area of the interface**: by the coarea formula, the integral of n . grad F(phi), F' = 15 / 16 (1 - phi^2)^2, is the
mean of the areas of all surfaces of constant phi, weighted by F' with its peak at the interface, phi = 0. It is summed
over links along axes, the difference of F by the mean of n at both ends: the sum across an interface is exactly 1.
Links into a reservoir count half.

**Area of walls**: the sum over links along axes into walls of the projection of the face of a voxel on the wall's
tangential plane, -n . c, with the normal n half a link beyond the node, as the curvatures of the wall turn it. It is
the flux of n through the staircase, that of a wall of any slope.
"""

from functools import partial, reduce
from itertools import combinations

import numpy as np

from muphy_lb.domain.links import is_wall
from muphy_lb.domain.wall_shapes import BEND, WALL_NORMAL
from muphy_lb.geometry.neighbours import NeighbourSearch
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.porous.pores import find_pores
from muphy_lb.geometry.voxels import FLUID, Voxels
from muphy_lb.geometry.wall_areas import AXES
from muphy_lb.measure.flow_view import FlowView, on_root, whole_nodes
from muphy_lb.measure.permeability import nodes_in_rock
from muphy_lb.physics.two_fluid.operators import NORMAL, PHASE, normal_or_0

FLUIDS = ("first", "second")
INTERFACE_AREA = "interface_area_m2"
COLUMNS = (
    INTERFACE_AREA,
    *(f"{fluid}_{name}" for fluid in FLUIDS for name in ("wall_area_m2", "parts", "connected_share", "euler_number")),
)
"""Areas; number of the parts of a fluid; share of its nodes in connected ones; Euler number."""

EVERY_AXIS = np.ones(3, dtype=bool)


def structure(view: FlowView) -> dict[str, float] | None:
    """The numbers by column, on rank 0; collective."""
    fields = [view.model_field(name) for name in (PHASE, *NORMAL, *WALL_NORMAL, *BEND)]
    if view.communicator.rank:
        return None
    nodes, (phase, *normals) = whole_nodes(view), np.stack([on_root(each) for each in fields]).astype(np.float64)
    face_m2, codes, inside = nodes.spacing_m**2, NeighbourSearch(nodes).table(AXES), np.zeros(nodes.n_nodes, dtype=bool)
    inside[nodes_in_rock(view)] = True
    driven = np.array(view.case.flow.acceleration_m_s2) + np.array(view.case.flow.pressure_drop_pa) != 0.0
    wall_area = wall_areas(codes, np.stack(normals[3:6]), np.stack(normals[6:])) * inside
    found = {INTERFACE_AREA: interface_area(codes, phase, normal_or_0(np.stack(normals[:3])), inside) * face_m2}
    for fluid, sign in zip(FLUIDS, (1.0, -1.0), strict=True):
        chosen = phase >= 0.0 if fluid == FLUIDS[0] else phase < 0.0
        n_parts, share = parts_of(nodes, chosen, driven if driven.any() else EVERY_AXIS, counted=inside)
        wetted = float((wall_area * (0.5 + 0.5 * sign * phase)).sum()) * face_m2
        box = _box(nodes, chosen & inside) == FLUID
        numbers = wetted, n_parts, share, euler_number(box, nodes.periodic[::-1])
        found |= zip((name for name in COLUMNS if name.startswith(fluid)), numbers, strict=True)
    return found


def interface_area(codes: np.ndarray, phase: np.ndarray, normal: np.ndarray, inside: np.ndarray) -> float:
    """Area [voxel faces] where the phase (n,) is 0, from the normals (3, n) of the interface; ``codes``: (6, n)
    neighbours along ``AXES``; ``inside``: (n,) nodes that count, links between these and others half."""
    level = 15.0 / 16.0 * phase * (1.0 - 2.0 / 3.0 * phase**2 + 0.2 * phase**4)
    found = 0.0
    for axis, near in enumerate(codes[::2]):
        here = np.flatnonzero(near >= 0)
        there = near[here]
        counted = 0.5 * (inside[here].astype(np.float64) + inside[there])
        across = 0.5 * (normal[axis, here] + normal[axis, there])
        found += float((counted * across * (level[there] - level[here])).sum())
    return found


def wall_areas(codes: np.ndarray, normal: np.ndarray, bend: np.ndarray) -> np.ndarray:
    """(n,) area of the walls beside each node [voxel faces], from their normals (3, n) into the fluid and their
    curvatures (3, n) :data:`muphy_lb.domain.wall_shapes.BEND`; ``codes``: (6, n) neighbours along ``AXES``."""
    across, least = AXES @ normal, (bend * normal).sum(axis=0)
    turned = least * (1.0 - across**2) + (AXES @ (bend - least * normal)) ** 2
    return -np.where(is_wall(codes), across + 0.5 * turned, 0.0).sum(axis=0)


def parts_of(
    nodes: NodeList,
    chosen: np.ndarray,
    along: np.ndarray = EVERY_AXIS,
    connected_by: str = "faces",
    counted: np.ndarray | None = None,
) -> tuple[int, float]:
    """Number of the parts of some nodes, and share of these in connected ones, which reach an opening or lead round the
    box along some axes; 0 without any. ``connected_by``: as of :func:`muphy_lb.geometry.porous.pores.find_pores`;
    ``counted``: (n,) nodes to which number and share are confined."""
    pores = find_pores(Voxels(_box(nodes, chosen), periodic=nodes.periodic), connected_by)
    leads_round = along & np.array(nodes.periodic) & (np.array(nodes.shape[::-1]) > 1)
    connected = np.asarray(pores.percolates[:, leads_round].any(axis=1))
    of_voxel = np.repeat(pores.label, pores.spans[:, 1] - pores.spans[:, 0])
    at_openings, place = np.arange(nodes.n_nodes) >= nodes.group_start[1], np.sort(nodes.voxel[chosen])
    connected[of_voxel[np.searchsorted(place, nodes.voxel[chosen & at_openings])]] = True
    if counted is None or counted.all():
        return len(connected), float(pores.n_voxels[connected].sum() / max(1, of_voxel.size))
    own, confined = np.searchsorted(place, nodes.voxel[chosen & counted]), _box(nodes, chosen & counted)
    n_parts = len(find_pores(Voxels(confined, periodic=nodes.periodic), connected_by).n_voxels)
    return n_parts, float(np.count_nonzero(connected[of_voxel[own]]) / max(1, own.size))


def _box(nodes: NodeList, chosen: np.ndarray) -> np.ndarray:
    """(nz, ny, nx) flags of a box whose fluid are some nodes."""
    box = np.zeros(nodes.shape, dtype=np.uint8)
    box.reshape(-1)[nodes.voxel[chosen]] = FLUID
    return box


def euler_number(box: np.ndarray, periodic) -> int:
    """Euler number of some voxels of a box (nz, ny, nx), connected by faces, which is periodic along some axes."""
    axes = [axis for axis in range(3) if box.shape[axis] > 1]
    found = 0
    for size in range(len(axes) + 1):
        cells = (reduce(partial(_with_next, periodic), chosen, box) for chosen in combinations(axes, size))
        found += (-1) ** size * sum(int(np.count_nonzero(each)) for each in cells)
    return found


def _with_next(periodic, box: np.ndarray, axis: int) -> np.ndarray:
    """Whether a voxel and the next one along an axis are both in the box."""
    beside = np.roll(box, -1, axis=axis)
    if not periodic[axis]:
        beside[(slice(None),) * axis + (-1,)] = False
    return box & beside

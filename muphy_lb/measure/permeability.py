"""Permeability of a flow that a uniform body force drives, and indicators of its reliability.

A flow loses its pressure in the throats. The width w of a pore at a node is the shortest chord through it
(:mod:`muphy_lb.geometry.porous.pores`), and what the flow dissipates there goes as u^2 / w^2: with these weights the
distribution of w is that of the throats, and m = <1 / w> one over their mean width.

Half-way walls on voxels make a permeability too large by about EXPECTED m of itself, against the same voxels on an
infinitely fine grid. EXPECTED and its bounds were fitted to flows on voxels divided into up to 6^3 (``muphy-lb validate
permeability-error`` repeats the comparison): cubes of 26 and 40 voxels of Ketton limestone along each axis, cubes of
Finney's pack with 3 to 10 voxels across a radius, body-centred spheres in cells of 8 to 24 voxels. It holds for pores
of rocks and packs, whose walls are stairs: straight ducts along the axes err by an eighth of it.

Darcy: U_i = k_ij g_j / nu with the mean velocity U over the whole rock, solid included, and the force per mass g; a
flow gives the column of k along its force. Reservoirs are no rock (:class:`Rock`). The mean pore size is the hydraulic
diameter 4 V / S of the pores, S the faces between fluid and solid voxels (on smooth walls they are 1.5 times the true
area). The Reynolds number takes it and the mean velocity in the pores, Re = (|U| / porosity) (4 V / S) / nu.
"""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.narrow import triple
from muphy_lb.base.registry import packages
from muphy_lb.case.case import Case
from muphy_lb.domain.links import is_wall
from muphy_lb.domain.local import CHUNK_NODES
from muphy_lb.geometry.axes import AXES
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.nodes import GeometryHeader, NodeList, voxel_coordinates
from muphy_lb.geometry.porous.pores import leads_through, pore_widths
from muphy_lb.measure.flow_view import FlowView, whole_nodes
from muphy_lb.measure.rounding import rounding_warnings
from muphy_lb.setup.force import uniform_acceleration_m_s2


@dataclass(frozen=True)
class Rock:
    """The part of a box that is rock."""

    #: low, high: first voxel (x, y, z), and the first beyond the last
    low: tuple[int, int, int]
    high: tuple[int, int, int]
    size: tuple[int, int, int]  #: voxels of the whole box along x, y, z

    @property
    def is_all(self) -> bool:
        """Whether there are no reservoirs."""
        return self.high == self.size and not any(self.low)

    @property
    def n_voxels(self) -> int:
        """Number of voxels, solid ones included."""
        return int(np.prod(self.extent))

    @property
    def extent(self) -> tuple[int, int, int]:
        """Voxels along x, y, z."""
        x, y, z = (b - a for a, b in zip(self.low, self.high, strict=True))
        return x, y, z

    @property
    def concentration(self) -> np.ndarray:
        """(3,) length of the box over that of the rock: reservoirs have no resistance, so that the force on the whole
        box drives the flow through the rock."""
        return np.array(self.size) / np.array(self.extent)

    def holds(self, voxel: np.ndarray, shape: tuple[int, int, int]) -> np.ndarray | slice:
        """(n,) bool: which of some voxels of a box of ``shape`` (nz, ny, nx) are in the rock; without reservoirs all,
        as a slice."""
        if self.is_all:
            return slice(None)
        place = voxel_coordinates(voxel, shape)
        return np.all((place >= self.low) & (place < self.high), axis=1)


def rock_of(header: GeometryHeader) -> Rock:
    """The rock of a geometry: its box without reservoirs, and without what lies beyond their openings."""
    size, reservoirs = header.shape[::-1], header.reservoirs
    low, high = [0, 0, 0], list(size)
    if reservoirs:
        axis, added = AXES.index(reservoirs.axis), reservoirs.both
        openings = header.openings if reservoirs.ends != "periodic" else ()
        ends = [(each.centre_m[axis] - header.origin_m[axis]) / header.spacing_m + 0.5 for each in openings]
        low[axis] = round(min(ends, default=0)) + added[0]
        high[axis] = round(max(ends, default=size[axis])) - added[1]
    return Rock(triple(low), triple(high), size)


def nodes_in_rock(view) -> np.ndarray | slice:
    """Which of all nodes lie in the rock, (n,) bool, or all as a slice without reservoirs; on rank 0. ``view``: of a
    flow, or of one that is prepared."""
    return rock_of(view.header).holds(whole_nodes(view).voxel[:], view.header.shape)


EXPECTED = 1.3
LEAST, MOST = 0.6, 2.0  # of the error over m: nine in ten of the flows lie between them

SHARES = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class Throats:
    """Widths of the throats."""

    #: those below which a tenth, half and nine tenths of the pressure are lost
    widths_voxels: tuple[float, float, float]
    mean_width_voxels: float  #: 1 / <1 / w>; infinite where nothing is between walls

    @property
    def expected_error(self) -> float:
        """Expected relative error of the permeability, by which it is too large."""
        return EXPECTED / self.mean_width_voxels

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and largest relative error that are likely."""
        return LEAST / self.mean_width_voxels, MOST / self.mean_width_voxels

    def record(self) -> dict:
        """All numbers by name, for files."""
        return asdict(self) | {"expected_error": self.expected_error, "error_bounds": self.bounds}


def squared_widths(nodes: NodeList) -> np.ndarray:
    """(n,) int64 square of the width of the pore at each node, a chord's and hence a whole number; 0 where nothing is
    between walls. Raises GeometryError: too little memory for the box."""
    width = pore_widths(nodes)
    return np.rint(np.where(np.isfinite(width), width, 0.0).astype(np.float64) ** 2).astype(np.int64)


def squares_beside(view: FlowView) -> Callable[[NodeList], np.ndarray]:
    """:func:`squared_widths`, which on rank 0 of a flow on a GPU computes that of its nodes, from now on, beside the
    steps."""
    if view.communicator.rank or view.backend_name != "cuda":
        return squared_widths
    nodes, thread = whole_nodes(view), ThreadPoolExecutor(1)
    found = thread.submit(squared_widths, nodes)
    thread.shutdown(wait=False)
    return lambda asked: found.result() if asked is nodes else squared_widths(asked)


def throats(square: np.ndarray, velocity: np.ndarray) -> Throats | None:
    """The throats of a flow; None where none of it is between walls. ``square``: (n,) of :func:`squared_widths`;
    ``velocity``: (n, 3), any unit."""
    by_square = np.bincount(square, np.einsum("ij,ij->i", velocity, velocity, dtype=np.float64), minlength=1)
    by_square[0] = 0.0
    squares = np.flatnonzero(by_square)
    if not squares.size:
        return None
    widths, loss = np.sqrt(squares), by_square[squares] / squares
    below = np.cumsum(loss)
    at = np.minimum(np.searchsorted(below, np.array(SHARES) * below[-1]), widths.size - 1)
    narrow, middle, wide = widths[at].tolist()
    return Throats((narrow, middle, wide), float(below[-1] / (loss / widths).sum()))


def throat_lines(record: dict) -> list[str]:
    """A record of :class:`Throats` in lines for people."""
    narrow, middle, wide = record["widths_voxels"]
    least, most = record["error_bounds"]
    return [
        f"throats: half of the pressure is lost where pores are up to {middle:.3g} voxels across (a tenth:"
        f" {narrow:.3g}, nine tenths: {wide:.3g})",
        f"grid: k is expected to be {100 * record['expected_error']:.0f} % too high (between {100 * least:.0f} and"
        f" {100 * most:.0f} %, by the widths of the throats alone); --refine 1,2 measures it",
    ]


LOG = logging.getLogger(__name__)

DARCY_M2 = 9.869233e-13  # one darcy [m2]: 1 cm3/s of a fluid of 1 cP through 1 cm2 under 1 atm/cm

CREEPING = 1.0
"""Reynolds number beyond which inertia is felt and k depends on the force (Bear, Dynamics of Fluids in Porous Media
(1972), sect. 5.11: between 1 and 10)."""

FEWEST_VOXELS = 5.0  # across a mean pore, below which half-way walls err by tens of percent
GOOD_VOXELS = 10.0  # across a mean pore, below which k is some 5 to 40 percent too high
OF_EDGES = 0.01  # share of the flow that passes where voxels touch at edges alone, above which a warning is given
WIDEST_PORE_M = 0.1  # mean pore of a rock or a packing, beyond which its unit is doubted
FEWEST_PORES = 5.0  # mean pore sizes along the shortest edge of the box, below which it is hardly representative

N_BINS = 80

FACE_VECTORS = np.vstack((np.eye(3, dtype=int), -np.eye(3, dtype=int)))


@dataclass(frozen=True)
class Permeability:
    """Permeability and related quantities of a rock, from one flow."""

    along: str  #: direction of the force, as text
    #: permeability_m2, permeability_darcy, permeability_voxel2: k along the force
    permeability_m2: float
    permeability_darcy: float
    permeability_voxel2: float
    column_m2: tuple[float, float, float]  #: (x, y, z) the column of k that belongs to the force's direction
    darcy_velocity_m_s: tuple[float, float, float]  #: (x, y, z) mean over the whole rock
    acceleration_m_s2: tuple[float, float, float]  #: (x, y, z) body force per mass
    porosity: float  #: of the nodes in the flow, reservoirs left out as in all that follows
    tortuosity: float  #: mean speed over mean velocity along the force, in the pores
    pore_size_m: float  #: hydraulic diameter 4 V / S
    pore_size_voxels: float  #: the same in voxel edges: the resolution
    box_in_pores: float  #: shortest edge of the rock in pore sizes: how representative it is
    reynolds: float  #: as at the top of the module
    warnings: tuple[str, ...]  #: reasons to doubt the value
    distribution: dict  #: see :func:`velocity_distribution`
    #: record of :class:`Throats`, with the error that is expected of the grid; None where there are none, or too little
    #: memory to look for them
    throats: dict | None = None

    def record(self) -> dict:
        """The attributes by name."""
        return asdict(self)


def measured_permeability(view: FlowView, squares: Callable = squared_widths) -> Permeability | None:
    """Permeability of the present flow, on rank 0 (None elsewhere); collective. It does not depend on the ranks.
    ``squares``: of :func:`squares_beside`. Raises InputError: nothing but a uniform, constant body force may drive the
    flow, and there must be one."""
    header, rock = view.header, rock_of(view.header)
    acceleration = driving_acceleration(view.case, header) * rock.concentration
    pore_size = mean_pore_size(view)
    velocity = view.velocity_m_s()
    if velocity is None:
        return None
    of_rounding = rounding_warnings(view)
    strength, of_throats = float(np.linalg.norm(acceleration)), _throats(view, rock, velocity, squares)
    of_edges = _edge_warnings(whole_nodes(view), velocity @ acceleration, acceleration != 0.0)
    if not rock.is_all:
        velocity = velocity[rock.holds(whole_nodes(view).voxel[:], header.shape)]
    direction, in_pores = acceleration / strength, velocity.mean(axis=0, dtype=np.float64)
    porosity = len(velocity) / float(rock.n_voxels)
    nu = view.case.fluid.viscosity_m2_s
    column = nu * porosity * in_pores / strength
    k, along = float(column @ direction), float(in_pores @ direction)
    lengths = {
        "pore_size_m": pore_size * header.spacing_m,
        "pore_size_voxels": pore_size,
        "box_in_pores": min(n for n in rock.extent if n > 1 or max(rock.extent) == 1) / pore_size,
    }
    reynolds = float(np.linalg.norm(in_pores)) * lengths["pore_size_m"] / nu
    return Permeability(
        along=direction_text(direction),
        permeability_m2=k,
        permeability_darcy=k / DARCY_M2,
        permeability_voxel2=k / header.spacing_m**2,
        column_m2=tuple(column.tolist()),
        darcy_velocity_m_s=tuple((porosity * in_pores).tolist()),
        acceleration_m_s2=tuple((acceleration / rock.concentration).tolist()),
        porosity=porosity,
        tortuosity=float(np.linalg.norm(velocity, axis=1).mean(dtype=np.float64)) / along if along > 0.0 else np.inf,
        **lengths,
        reynolds=reynolds,
        warnings=of_rounding
        + of_edges
        + _unit_warnings(view, lengths)
        + _warnings(0.0 if view.fluid.equilibrium.is_linear else reynolds, lengths),
        distribution=velocity_distribution(velocity @ direction.astype(velocity.dtype)),
        throats=of_throats,
    )


def _throats(view: FlowView, rock: Rock, velocity: np.ndarray, squares: Callable) -> dict | None:
    nodes = whole_nodes(view)
    try:
        square = squares(nodes)
    except GeometryError as error:
        LOG.warning("warning: throats are not analysed: %s", error)
        return None
    inside = rock.holds(nodes.voxel[:], view.header.shape)
    found = throats(square[inside], velocity[inside])
    return found.record() if found else None


def _edge_warnings(nodes: NodeList, along: np.ndarray, axes: np.ndarray) -> tuple[str, ...]:
    """A warning where much of the flow, ``along`` (n,) the force, which has a component along ``axes``, passes where
    voxels touch at edges alone, or where no pore leads through."""
    try:
        aside = ~leads_through(nodes, axes)
        by_edges = leads_through(nodes, axes, "edges") if aside.any() else ~aside
    except GeometryError as error:
        LOG.warning("warning: flow across edges of voxels is not analysed: %s", error)
        return ()
    if not by_edges.any():
        return (
            "no pore leads from end to end along the force: nothing flows, k is 0, and the reported numbers are"
            " rounding errors",
        )
    moved, total = along[aside & by_edges].sum(dtype=np.float64), along.sum(dtype=np.float64)
    if not moved > OF_EDGES * total > 0.0:
        return ()
    return (
        f"{moved / total:.0%} of the flow is in pores that lead from end to end only where voxels touch at an edge: a"
        " throat without a width, through which the lattice lets pass what falls with finer voxels; leave these pores"
        " out with geometry.options.drop_unconnected and connected_by = 'faces', or take a finer image",
    )


def velocity_distribution(along: np.ndarray) -> dict:
    """Distribution of the velocity along the force over the pores.

    Args:
        along: (n,) velocity along the force, any unit.

    Returns:
        ``velocity_over_mean``: (k,) middles of bins of the velocity over its mean, and ``probability_density`` there;
        empty if nothing flows. Half a percent of the nodes at each end is left out.
    """
    mean = along.mean()
    if not mean > 0.0:
        return {}
    bounds = np.percentile(along / mean, (0.5, 99.5))
    if not bounds[1] > bounds[0]:
        return {}
    counts, edges = np.histogram(along / mean, N_BINS, bounds)
    middle, density = 0.5 * (edges[1:] + edges[:-1]), counts / (along.size * np.diff(edges))
    return {"velocity_over_mean": middle.tolist(), "probability_density": density.tolist()}


def driving_acceleration(case: Case, header: GeometryHeader) -> np.ndarray:
    """(3,) the uniform body force per mass [m/s2] of a case. Raises InputError: there is none, or something else also
    drives the flow."""
    acceleration = uniform_acceleration_m_s2(case, header)
    refuse_other_drives(case, header.openings)
    if not acceleration.any():
        raise InputError(_no_permeability("here there is no force"))
    closed = [axis for axis, repeats, g in zip("xyz", header.periodic, acceleration, strict=True) if g and not repeats]
    if closed:
        raise InputError(
            f"permeability: the force has a component along {', '.join(closed)}, where the box is closed and nothing"
            " can flow; make it periodic (geometry.periodic; mirror or pad an image that does not repeat)"
        )
    return acceleration


def has_permeability(case: Case, header: GeometryHeader) -> bool:
    """Whether a case is one of which :func:`driving_acceleration` knows."""
    try:
        driving_acceleration(case, header)
    except InputError:
        return False
    return True


def other_forces(case: Case) -> list[str]:
    """Causes of a flow beside openings and a uniform force, whatever its fluid."""
    motions = [motion for wall in case.walls for motion in (wall.velocity_m_s, wall.rotation_rad_s) if motion]
    return ["a moving wall"] * any(map(any, motions)) + list(case.flow.not_uniform)


def other_drives(case: Case) -> list[str]:
    """Causes of a flow, and of its change, beside openings and a uniform force, as far as they are known without a
    geometry."""
    fluid = case.fluid
    others: dict[str, object] = {"a viscosity law": fluid.power_law or fluid.carreau_yasuda or fluid.casson}
    others |= {f"[{kind.name}]": not kind.follows_darcy for kind in packages(case)}
    return [*(name for name, value in others.items() if value), *other_forces(case)]


def refuse_other_drives(case: Case, openings) -> None:
    """Refuse what drives or changes the flow beside a force; ``openings``: those of the case, or of its geometry.
    Raises InputError: there is something."""
    if found := ["openings"] * bool(openings) + other_drives(case):
        raise InputError(_no_permeability(f"here it is also driven, or changed, by {', '.join(found)}"))


def _no_permeability(why: str) -> str:
    return (
        f"permeability is measured in a flow that a uniform body force drives through a periodic box; {why}: give"
        " flow.acceleration_m_s2 or flow.pressure_drop_pa alone (mirror or pad an image that does not repeat)"
    )


def mean_pore_size(view: FlowView) -> float:
    """Hydraulic diameter 4 V / S of the pores [voxels], infinite without walls; collective, on every rank."""
    domain, rock, faces, n_nodes = view.domain, rock_of(view.header), 0, 0
    for first in range(0, domain.n_nodes, CHUNK_NODES):
        chunk = slice(first, min(first + CHUNK_NODES, domain.n_nodes))
        walls = is_wall(domain.neighbours(FACE_VECTORS, chunk))[:, rock.holds(domain.voxel[chunk], view.header.shape)]
        faces, n_nodes = faces + int(np.count_nonzero(walls)), n_nodes + walls.shape[1]
    faces, n_nodes = view.communicator.total(faces), view.communicator.total(n_nodes)
    if view.lattice.dimension == 2:
        faces -= 0 if view.header.periodic[2] else 2 * n_nodes
    return 4.0 * n_nodes / faces if faces else np.inf


def direction_text(direction: np.ndarray) -> str:
    """``"x"`` for an axis, otherwise the components."""
    aligned = np.flatnonzero(np.abs(direction) > 1.0 - 1e-12)
    if aligned.size:
        return ("" if direction[aligned[0]] > 0 else "-") + "xyz"[aligned[0]]
    return "(" + ", ".join(f"{component:.4g}" for component in direction) + ")"


def _unit_warnings(view: FlowView, lengths: dict) -> tuple[str, ...]:
    """A warning where pores are as wide as no rock has them, unless the units are of the case's own."""
    size_m, edge_m = lengths["pore_size_m"], view.header.spacing_m
    if not WIDEST_PORE_M < size_m < np.inf or 1.0 in (edge_m, view.case.fluid.density_kg_m3):
        return ()
    return (
        f"a mean pore is {size_m:.3g} m wide: check geometry.spacing_m = {edge_m:g}, which is in metres; in micrometres"
        f" it is '{edge_m:g} um'",
    )


def _warnings(reynolds: float, lengths: dict) -> tuple[str, ...]:
    if lengths["pore_size_voxels"] == np.inf:  # no walls: a porous medium all over
        return ()
    texts = []
    if reynolds > CREEPING:
        texts.append(
            f"the Reynolds number is {reynolds:.3g}, above {CREEPING:g}: inertia counts, and the number depends on the"
            " force; use a weaker one, or lattice.equilibrium = 'stokes'"
        )
    if lengths["pore_size_voxels"] < FEWEST_VOXELS:
        texts.append(
            f"a mean pore is {lengths['pore_size_voxels']:.3g} voxels wide: too coarse for more than an estimate"
        )
    elif lengths["pore_size_voxels"] < GOOD_VOXELS:
        texts.append(
            f"a mean pore is {lengths['pore_size_voxels']:.3g} voxels wide: with fewer than {GOOD_VOXELS:g}, k usually"
            " comes out 5 to 40 % too high; muphy-lb permeability --refine 1,2 tells by how much"
        )
    if lengths["box_in_pores"] < FEWEST_PORES:
        texts.append(f"the box is {lengths['box_in_pores']:.3g} mean pores wide, too few to represent a rock")
    return tuple(texts)

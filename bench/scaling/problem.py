"""The kinds of scaling. The problem on a number of ranks: the same flow (strong scaling), or one that grows with the
ranks (weak scaling)."""

from collections.abc import Mapping
from dataclasses import replace
from math import cbrt

from muphy_lb.base.errors import InputError
from muphy_lb.base.narrow import triple
from muphy_lb.bench.jobs import Job, tile_nodes
from muphy_lb.case.case import Case
from muphy_lb.setup.geometry import load_nodes

STRONG, WEAK, WEAK_ROW = "strong", "weak", "weak-row"
MEANING: Mapping[str, str] = {
    STRONG: "the same nodes on every number of ranks",
    WEAK: "the nodes grow with the ranks, in a box as compact as possible",
    WEAK_ROW: "the nodes grow with the ranks, in a row of copies along z, like a longer core",
}


# A grown geometry has about as many times more nodes as there are ranks; with less than this of it, it has not grown.
LEAST_GROWTH = 0.6


def problem(base: Job, mode: str, communicator) -> Job:
    """The job of some ranks; collective.

    A geometry that can be tiled is repeated, any other gets finer voxels. ``base``: the job of one rank; ``mode``: key
    of :data:`muphy_lb.bench.scaling.problem.MEANING`. Raises InputError: the geometry can neither be tiled nor refined,
    or not be tiled in a row; GeometryError: the refined geometry cannot be made.
    """
    if mode == STRONG or communicator.size == 1:
        return base
    job = _grown(base, communicator.size, mode) if communicator.rank == 0 else base
    return replace(job, case=communicator.broadcast(job.case))


def copies_for(shape: tuple[int, int, int], n_copies: int) -> tuple[int, int, int]:
    """Copies along (x, y, z) that make ``n_copies`` and keep a box of ``shape`` (nz, ny, nx) as compact as they can."""
    edges, copies = list(shape[::-1]), [1, 1, 1]
    for factor in _prime_factors(n_copies):
        shortest = min(range(3), key=lambda i: edges[i])
        edges[shortest] *= factor
        copies[shortest] *= factor
    return triple(copies)


def refined(case: Case, factor: float) -> Case:
    """The case with ``factor`` times as many nodes; a given time step shrinks so that the relaxation time stays."""
    finer = 1.0 / cbrt(factor)
    geometry = case.geometry.model_copy(update={"spacing_m": case.geometry.spacing_m * finer})
    lattice = case.lattice
    if lattice.time_step_s is not None:
        lattice = lattice.model_copy(update={"time_step_s": lattice.time_step_s * finer**2})
    return case.model_copy(update={"geometry": geometry, "lattice": lattice})


def _grown(base: Job, n_ranks: int, mode: str) -> Job:
    if not base.nodes.openings and not base.nodes.walls and base.nodes.cuts is None:
        copies = (1, 1, n_ranks) if mode == WEAK_ROW else copies_for(base.nodes.shape, n_ranks)
        return replace(base, nodes=tile_nodes(base.nodes, copies))
    if mode == WEAK_ROW:
        raise InputError(
            "scaling: --mode weak-row sets copies in a row; this geometry has openings, labelled walls or cut links, so"
            " that it cannot be tiled; use --mode weak (finer voxels) or --mode strong"
        )
    if base.case.geometry.spacing_m is None:
        raise InputError(_cannot_grow("its voxel edge is fixed and cannot be changed"))
    case = refined(base.case, n_ranks)
    nodes = load_nodes(case)[0]
    if nodes.n_nodes < LEAST_GROWTH * n_ranks * base.nodes.n_nodes:
        sizes = f"{base.nodes.n_nodes:,} nodes at {base.case.geometry.spacing_m:g} m, {nodes.n_nodes:,} at"
        raise InputError(_cannot_grow(f"finer voxels do not add nodes ({sizes} {case.geometry.spacing_m:g} m)"))
    return replace(base, case=case, nodes=nodes)


def _cannot_grow(reason: str) -> str:
    return (
        "scaling: --mode weak needs a geometry that grows with the ranks; this one has openings, labelled walls or cut"
        f" links, so that it cannot be tiled, and {reason}; give a surface or a shape sized in metres with"
        " geometry.spacing_m, or a geometry without openings, or --mode strong"
    )


def _prime_factors(number: int):
    """Prime factors, the largest first."""
    factors, divisor = [], 2
    while number > 1:
        while number % divisor == 0:
            factors.append(divisor)
            number //= divisor
        divisor += 1
    return reversed(factors)

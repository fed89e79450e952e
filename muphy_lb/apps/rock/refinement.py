"""The same rock on finer voxels: the cases, and which of them fit into memory."""

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from muphy_lb.apps.grids import geometry_on
from muphy_lb.backends import free_memory, resolve_backend
from muphy_lb.base.errors import InputError
from muphy_lb.case.case import Case
from muphy_lb.geometry.axes import AXES
from muphy_lb.geometry.limits import BYTES_PER_NODE, GIB, free_bytes
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.lattice import lattice_named
from muphy_lb.measure.permeability import rock_of
from muphy_lb.setup.advice.costs import bytes_per_node

MOST_GRIDS, MOST_PARTS = 4, 16
BYTES_PER_VOXEL = 7  # of the box on rank 0: flags while they are divided, and the widths of the pores
FINER_TOLERANCE = 5e-4
"""Of the change of k on divided voxels, if the case gives none: far less than what the grid leaves."""
MARGIN = 1.15  # memory that a flow takes over what is estimated
SHARE = 0.8  # of what fits that a crop takes: pores of a part may be wider than those of the whole
FEWEST_VOXELS = 12  # edge of a crop [voxels of the image] below which it is no sample of a rock
PLACES = (0.5, 0.0, 1.0)  # where crops lie on the diagonal of the box


@dataclass(frozen=True)
class Refinement:
    """The finer grids of a permeability."""

    #: ascending numbers of parts into which a voxel is divided along each axis, 1 among them or not
    parts: tuple[int, ...]
    memory_bytes: float | None = None  #: most that the flow may take on each rank; None for what is free

    @classmethod
    def read(cls, text: str, memory_gib: float | None) -> "Refinement":
        """From the options of the command. Raises InputError: they are not two to four ascending whole numbers, or no
        memory."""
        try:
            parts = tuple(int(part) for part in text.split(","))
        except ValueError:
            parts = ()
        ascends = all(a < b for a, b in zip(parts, parts[1:], strict=False))
        if not (2 <= len(parts) <= MOST_GRIDS and ascends and 1 <= parts[0] and parts[-1] <= MOST_PARTS):
            raise InputError(
                f"permeability: --refine is {text!r}; give two to {MOST_GRIDS} ascending whole numbers up to"
                f" {MOST_PARTS}, into how many parts voxels are divided, such as 1,2 or 1,2,3"
            )
        if memory_gib is not None and not 0.0 < memory_gib < np.inf:
            raise InputError(
                f"permeability: --memory is {memory_gib:g}; give the GiB that a flow may take on each rank"
            )
        return cls(parts, None if memory_gib is None else memory_gib * GIB)


def on_grid(case: Case, parts: int) -> Case:
    """A case on voxels divided into ``parts`` along each axis, with the same relaxation time.

    Spheres and surfaces are voxelised again with the finer spacing; voxels of anything else are divided as they are.

    Raises InputError: a prepared geometry, whose voxels are final.
    """
    finer = geometry_on(case, parts, "permeability: --refine")
    if parts == 1:
        return case
    return case.model_copy(update={"geometry": finer, **_in_time(case, parts)})


def _in_time(case: Case, parts: int) -> dict:
    lattice, run = case.lattice, case.run
    tolerance = run.steady_tolerance or FINER_TOLERANCE
    scaled = {"time_step_s": parts**2, "lattice_velocity": parts}
    shorter = {key: value / scale for key, scale in scaled.items() if (value := getattr(lattice, key)) is not None}
    longer = {"steady_tolerance": tolerance} | ({} if run.steps is None else {"steps": run.steps * parts**2})
    return {"lattice": lattice.model_copy(update=shorter), "run": run.model_copy(update=longer)}


def largest_share(case: Case, n_nodes: int, n_voxels: int, communicator, memory_bytes: float | None) -> float:
    """Share of a flow's nodes that fits into memory; 1 or more if all do; collective. ``memory_bytes``: see
    :class:`Refinement`."""
    gc.collect()  # the flow before this one is over
    backend = resolve_backend(case.compute.backend)
    lattice = lattice_named(case.lattice.name)
    on_device = MARGIN * bytes_per_node(case, lattice) * ceil(n_nodes / communicator.size)
    on_host = BYTES_PER_NODE * n_nodes + BYTES_PER_VOXEL * n_voxels if communicator.rank == 0 else 0
    if backend != "cuda":
        on_device, on_host = on_device + on_host, 0
    free = free_memory(backend) if memory_bytes is None else memory_bytes
    share = min(free / on_device, free_bytes() / on_host if on_host else np.inf)
    return -communicator.maximum(-share)


def crops(case: Case, header: GeometryHeader, share: float, force_axis: str) -> tuple[Case, ...]:
    """Cubic parts of a case, of which each has at most ``share`` of the nodes; closed at their sides, mirrored along
    the force unless reservoirs are at its ends. Raises InputError: they would be too small to be distinguished from a
    single pore."""
    options = dict(case.geometry.options)
    low, size = _image_box(options, header, case)
    is_thick = size > 1  # of a plane image, parts have its only layer
    edge = np.where(is_thick, np.floor(size * (SHARE * share) ** (1.0 / max(1, int(np.sum(is_thick))))), 1).astype(int)
    least = edge.min(where=is_thick, initial=size.max())
    if least < FEWEST_VOXELS:
        raise InputError(
            f"permeability: voxels divided so finely fit into memory for {least} voxels of the image along an edge"
            f" only, too few for a sample; at least {FEWEST_VOXELS} are needed: leave out the last number of --refine,"
            " use more ranks, or give a larger --memory if there is more"
        )
    mirrored = {} if options.get("reservoir_layers") else {"mirror": force_axis}
    found = []
    for place in dict.fromkeys(PLACES if share < SHARE else PLACES[:1]):
        first = low + np.floor(place * (size - edge)).astype(int)
        own = {"crop": [first.tolist(), (first + edge).tolist()], "drop_unconnected": force_axis, **mirrored}
        section = case.geometry.model_copy(update={"periodic": (), "options": {**options, **own}})
        found.append(case.model_copy(update={"geometry": section}))
    return tuple(found)


def _image_box(options: dict, header: GeometryHeader, case: Case) -> tuple[np.ndarray, np.ndarray]:
    """First voxel (x, y, z) and size of what is left of an image after its crop."""
    if "crop" in options:
        low, high = np.array(options["crop"])
        return low, high - low
    doubled = np.array([2 if axis in options.get("mirror", "") else 1 for axis in AXES])
    extent = np.array(rock_of(header).extent)
    return np.zeros(3, dtype=int), np.maximum(1, extent // doubled // options.get("divide", 1))


def force_axis_of(acceleration_m_s2: Sequence[float]) -> str:
    """The axis along which a force points. Raises InputError: it points between axes."""
    along = np.flatnonzero(acceleration_m_s2)
    if along.size != 1:
        raise InputError(
            "permeability: --refine needs crops here, and these a force along one axis; give --axis x, y or z"
        )
    return AXES[along[0]]

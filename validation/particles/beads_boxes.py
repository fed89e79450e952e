"""Flows with beads of the validation cases, in lattice units, and what is read of the beads.

SI units are lattice units: voxel edge, time step and density are 1.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from muphy_lb.base.units import BOLTZMANN_J_K
from muphy_lb.measure.flow_view import on_root
from muphy_lb.physics.particles.beads.motion import OFFSET, TRAVELLED, VELOCITY, VOXEL
from muphy_lb.physics.particles.beads.start import unfolded
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Settings, Skipped
from muphy_lb.validation.flows import lattice_simulation
from muphy_lb.validation.limits import refuse_half

KT, VISCOSITY, N_SIGMA = 1e-4, 1 / 6, 5.0


def refuse(settings: Settings) -> None:
    """Raises Skipped: a precision or a streaming that beads refuse."""
    refuse_half(settings, "fp16 has too few digits for the forces of beads")
    if settings.streaming != "pull":
        raise Skipped("beads need the velocity of arriving populations before collisions: compute.streaming = 'pull'")


def bead_flow(geometry: Mapping, particles: Sequence[Mapping], settings: Settings, **more) -> Solver:
    """A fluid at rest with beads in it. ``geometry``: the table ``[geometry]`` of a case, without spacing;
    ``particles``: the tables ``[[particles]]``, without their kind; ``more``: ``kt``, 0 for none; ``fluctuates``,
    whether the fluid does; further tables of the case."""
    kt, fluctuates = more.pop("kt", KT), more.pop("fluctuates", True)
    tables = {"lattice": {"name": "D3Q19", "collision": "bgk"}, **more}
    if kt:
        tables["fluid"] = {"temperature_k": kt / BOLTZMANN_J_K}
    if kt and fluctuates:
        tables["fluctuating"] = {"seed": 1}
    beads = [{"kind": "beads", **table} for table in particles]
    return lattice_simulation(settings, geometry, VISCOSITY, particles=beads, **tables)


def box(shape_zyx: Sequence[int]) -> dict:
    """The table ``[geometry]`` of a periodic box without walls."""
    return {"shape": "random_solid", "options": {"shape_zyx": list(shape_zyx), "porosity": 1.0}}


def columns_of(simulation: Solver, name: str, names: Sequence[str] = VELOCITY) -> np.ndarray:
    """(n, 3) columns of the beads of a set by ascending id."""
    found = on_root(simulation.particles())[name]
    return np.stack([found[column] for column in names], axis=1)


def place_beads(simulation: Solver, name: str, position: np.ndarray, velocity: np.ndarray | None = None) -> None:
    """Put beads at positions (n, 3) [voxels], at rest or with velocities (n, 3)."""
    voxel = np.floor(position + 0.5).astype(np.int64)
    velocity = np.zeros(position.shape) if velocity is None else velocity
    columns = {"id": np.arange(len(position))}
    for names, values in ((VOXEL, voxel), (OFFSET, position - voxel), (VELOCITY, velocity)):
        columns |= dict(zip(names, values.T, strict=True))
    simulation.engine.particle_sets.set(name, columns)


def start_of_chains(simulation: Solver, name: str, length: int) -> np.ndarray:
    """(chains, length, 3) places before all displacements, each bead beside the one before it."""
    columns = on_root(simulation.particles())[name]
    chains = unfolded(columns, np.arange(len(columns["id"])).reshape(-1, length), simulation.header)
    return chains - columns_of(simulation, name, TRAVELLED).reshape(chains.shape)


def samples(simulation: Solver, n_samples: int, interval: int) -> Iterator[dict[str, np.ndarray]]:
    """(2, n, 3) velocities and displacements of every set by name, ``n_samples`` times."""
    for _ in range(n_samples):
        simulation.step(interval)
        yield {
            name: np.stack([np.stack([found[column] for column in names], axis=1) for names in (VELOCITY, TRAVELLED)])
            for name, found in on_root(simulation.particles()).items()
        }

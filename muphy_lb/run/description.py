"""What a simulation will compute, for people."""

import os
from typing import TYPE_CHECKING

import numpy as np

from muphy_lb.boundaries.opening_geometry import PRESSURE
from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.case.toml import toml_lines
from muphy_lb.setup.numerics import describe
from muphy_lb.setup.plausibility import plausibility
from muphy_lb.setup.resolution import resolution_warnings

if TYPE_CHECKING:
    from muphy_lb.run.solver import Solver


def described(simulation: "Solver") -> str:
    """Title, geometry, backend, method, and the numbers of the run; collective."""
    case, backend, communicator = simulation.case, simulation.engine.backend, simulation.communicator
    bytes_per_node = communicator.maximum(backend.allocated_bytes / simulation.domain.n_nodes)
    table = describe(simulation.numerics, simulation.header.n_nodes, communicator.size, bytes_per_node)
    how = f"{simulation.backend_name} on {simulation.device}, {case.compute.precision}, {case.compute.streaming}"
    method = [f"{simulation.lattice.name}, {simulation.collision_name}", f"walls: {_walls(simulation)}"]
    method += [text for physics in simulation.physics if (text := physics.describe())]
    head = [case.title, simulation.geometry.report, f"backend: {how}", f"method: {'; '.join(method)}", *_start(case)]
    told = plausibility(case, simulation.header, simulation.frames, simulation.numerics)
    header = simulation.header
    coarse = resolution_warnings(header.openings, simulation.frames, header.spacing_m)
    expected = [text for physics in simulation.physics for text in physics.warnings()]
    advice = [f"warning: {text}" for text in (*coarse, *expected)]
    crowded = more_ranks_than_cores(communicator, simulation.backend_name)
    return "\n".join((*head, table, *told, *advice, *crowded)).lstrip()


def _start(case) -> list[str]:
    """What the flow starts from, if not from rest."""
    given = case.initial.model_dump(exclude_none=True) if case.initial is not None else {}
    return [f"start: {', '.join(toml_lines(given))}"] if given else []


def cores_here() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def more_ranks_than_cores(communicator, backend: str) -> list[str]:
    """A warning where this machine has fewer cores than ranks that compute on them."""
    n_cores, n_ranks = cores_here(), len(communicator.machine_ranks) if communicator.size > 1 else 1
    if backend == "cuda" or n_ranks <= n_cores:
        return []
    return [
        f"warning: {n_ranks} ranks share {n_cores} cores of this machine and wait for each other; start at most"
        f" {n_cores} ranks here"
    ]


def short(simulation: "Solver") -> str:
    """One line for notebooks; not collective."""
    header, title = simulation.header, simulation.case.title
    return (
        f"<Simulation {title!r}: {header.n_nodes:,} nodes of {header.spacing_m:.4g} m, {simulation.lattice.name} on"
        f" {simulation.backend_name}, step {simulation.step_number:,} (t = {simulation.time_s:.4g} s)>"
    )


def _walls(simulation: "Solver") -> str:
    """The rule of the walls and what it cannot do here; collective."""
    rule, total = simulation.case.lattice.walls, simulation.communicator.total
    text: list[str] = [rule]
    if rule != HALF_WAY:
        text.append(f"{total(simulation.n_fallback_links):,} links beside two walls fell back to half-way")
    if rule != HALF_WAY and not any(condition.kind == PRESSURE for condition in simulation.conditions):
        text.append("without a pressure opening the mean density drifts slowly")
    if any(motion.slips for motion in simulation.motions):
        slips = np.array([motion.slips for motion in simulation.motions])
        n_links = total(int(slips[simulation.domain.in_table.boundary].sum()))
        n_mirrored = total(simulation.domain.n_specular)
        text.append(f"slip: {n_mirrored:,} of {n_links:,} links are mirrored, straight ones reflect anyway")
    return "; ".join(text)

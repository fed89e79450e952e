"""Where a flow broke, in words."""

from math import sqrt

import numpy as np

from muphy_lb.geometry.nodes import voxel_coordinates
from muphy_lb.measure.flow_view import FlowView


def divergence_message(view: FlowView, velocity: np.ndarray) -> str:
    """What is wrong and where: collective, the same text on every rank.

    Args:
        view: the flow.
        velocity: (3, n) of the local nodes, lattice units.
    """
    velocity = velocity.astype(np.float64)
    speed = np.sqrt(sum(component**2 for component in velocity))
    speed[~np.isfinite(speed)] = np.inf
    worst = int(np.argmax(speed))
    communicator, domain = view.communicator, view.domain
    place = int(domain.number[worst]), int(domain.voxel[worst])
    found = communicator.gather((float(speed[worst]), *place, communicator.rank))
    return communicator.broadcast(None if found is None else _describe(view, *max(found)))


def _describe(view: FlowView, speed: float, _number: int, voxel: int, rank: int) -> str:
    header, case = view.header, view.case
    xyz = voxel_coordinates(np.array([voxel]), header.shape)[0]
    x, y, z = xyz
    place = ", ".join(f"{value:.4g}" for value in header.origin_m + header.spacing_m * xyz)
    mach = speed / sqrt(float(view.lattice.cs2))
    what = (
        f"the Mach number is {mach:.2g} (allowed: {case.run.max_mach:g})"
        if np.isfinite(speed)
        else "a population is not finite"
    )
    whose = f", on rank {rank}" if view.communicator.size > 1 else ""
    return (
        f"the run diverged at step {view.step_number}: {what} at voxel ({x}, {y}, {z}), x = ({place}) m{whose};"
        f" relaxation time {view.numerics.relaxation_time:.4g}. Use a smaller lattice_velocity or time_step_s,"
        " a finer spacing_m, or a longer run.ramp_steps"
    )

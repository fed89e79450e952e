"""Where a flow broke, in words."""

from math import sqrt

import numpy as np

from muphy_lb.geometry.nodes import voxel_coordinates
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.setup.advice.stability import cause_and_remedy

NEAR = 3.0  # voxels from an opening within which it is named


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
        f" relaxation time {view.numerics.relaxation_time:.5g}{_beside_opening(view, xyz)}. The likely cause:"
        f" {_cause(view)}"
    )


def _cause(view: FlowView) -> str:
    """What made the flow unstable, and the remedy; first what a physics has warned of."""
    numerics, cs2 = view.numerics, float(view.lattice.cs2)
    fastest = numerics.mach * sqrt(cs2) if numerics.mach else None
    warned = [text for physics in view.physics for text in physics.warnings()]
    general = cause_and_remedy(view.case, numerics.units, fastest, numerics.reference_velocity_m_s, cs2)
    return "; or ".join((*warned, general))


def _beside_opening(view: FlowView, xyz: np.ndarray) -> str:
    """Which opening lies next to a voxel (x, y, z), as an addition to its place; empty for a voxel inside the flow."""
    header = view.header
    for opening in header.openings:
        away = (np.asarray(header.origin_m) - opening.centre_m) / header.spacing_m + xyz
        along = float(np.dot(away, opening.normal))
        across = float(np.linalg.norm(away - along * np.asarray(opening.normal)))
        if abs(along) <= NEAR and across <= opening.radius_m / header.spacing_m + NEAR:
            return f", next to opening {opening.name!r}"
    return ""

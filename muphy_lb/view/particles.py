"""Particles in a picture: as many as can be told apart, the same ones from one picture to the next."""

import numpy as np

from muphy_lb.measure.monitor import MonitoredFlow
from muphy_lb.model.model import POSITION
from muphy_lb.view.messages import CUT, Demand

MOST_POINTS = 8000
REACH = 1.0
"""Distance from a cut up to which particles are drawn with it [voxels]."""


def drawn_points(simulation: MonitoredFlow, demand: Demand) -> np.ndarray | None:
    """(3, m) voxel coordinates (x, y, z) of the particles of a picture, on rank 0; None without any sets. Collective.

    Of more than ``MOST_POINTS`` those whose id is a multiple of some number are drawn, so it is always the same ones.
    """
    sets = [(name, drawn) for physics in simulation.physics for name, drawn in physics.drawn_particles.items()]
    if not sets:
        return None
    found = [_of_set(simulation, name, drawn, demand) for name, drawn in sets]
    identity, place = (np.concatenate(parts, axis=-1) for parts in zip(*found, strict=True))
    spacing = -(-simulation.communicator.total(identity.size) // MOST_POINTS)
    chosen = identity % max(spacing, 1) == 0
    gathered = simulation.communicator.gather(place[:, chosen].astype(np.float32))
    return None if gathered is None else np.concatenate(gathered, axis=1)[:, : 2 * MOST_POINTS]


def _of_set(simulation: MonitoredFlow, name: str, drawn, demand: Demand) -> tuple[np.ndarray, np.ndarray]:
    """Ids and (3, n) voxel coordinates of this rank's particles of a set that a demand shows."""
    columns = simulation.engine.particle_sets.columns(name, ("id", *POSITION[0], *POSITION[1], *drawn.columns))
    identity = columns["id"]
    place = np.stack([columns[voxel] + columns[offset] for voxel, offset in zip(*POSITION, strict=True)])
    is_shown = np.ones(identity.size, dtype=bool)
    if drawn.are_drawn is not None:
        is_shown &= drawn.are_drawn(*(columns[column] for column in drawn.columns))
    if demand.place == CUT:
        is_shown &= np.abs(place[demand.axis] - demand.index) <= REACH
    return identity[is_shown], place[:, is_shown]

"""Particles at one moment of a run, as they are written to files."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

NO_BONDS = np.empty((0, 2), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Particles of one time step, in any order.

    Attributes:
        step: time step.
        time_s: physical time [s].
        id: (n,) integers, each once.
        position_m: (n, 3) positions [m]; wrapped into a periodic box or not, as the caller likes.
        velocity_m_s: (n, 3) velocities [m/s], or None.
        kind: (n,) numbers of the kinds, or None.
        bonds: (m, 2) ids; a bond of a particle that is not here is not written.
        scalars: further (n,) or (n, 3) values by name.
    """

    step: int
    time_s: float
    id: np.ndarray
    position_m: np.ndarray
    velocity_m_s: np.ndarray | None = None
    kind: np.ndarray | None = None
    bonds: np.ndarray = field(default_factory=lambda: NO_BONDS)
    scalars: Mapping[str, np.ndarray] = field(default_factory=dict)

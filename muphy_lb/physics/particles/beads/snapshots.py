"""Places and bonds of beads over time for ParaView, ``particles_NAME.vtkhdf``."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from muphy_lb.measure.flow_view import FlowView
from muphy_lb.model.model import POSITION
from muphy_lb.physics.particles.beads.motion import VELOCITY
from muphy_lb.physics.particles.beads.observers import ObservedBeads
from muphy_lb.physics.particles.files.snapshot import Snapshot
from muphy_lb.physics.particles.snapshots import ParticleSnapshots


class BeadSnapshots(ParticleSnapshots):
    """Writes all beads, with ids and kinds of their file, and their bonds."""

    velocity = VELOCITY

    def __init__(self, view: FlowView, folder: Path, resume_step: int | None, species: ObservedBeads):
        topology = species.topology
        super().__init__(view, folder, resume_step, species.section, topology.kinds)
        self._ids, self._bonds, self._kind = topology.ids, topology.bonds, topology.kind_of_bead

    def snapshot(self, columns: Mapping[str, np.ndarray]) -> Snapshot:
        """With bonds, but those through a periodic face: a line across the whole box would be drawn for them."""
        header = self._view.header
        place = np.stack([columns[v] + columns[o] for v, o in zip(*POSITION, strict=True)], axis=1)
        size = np.where(header.periodic, np.array(header.shape[::-1], float), np.inf)
        start, end = place[self._bonds.T]
        bonds = self._bonds[(np.abs(start - end) < size / 2).all(axis=1)]
        found = replace(super().snapshot(columns), bonds=bonds, kind=self._kind)
        return found if self._ids is None else replace(found, id=self._ids, bonds=self._ids[bonds])

"""Places of tracers over time for ParaView, ``particles_NAME.vtkhdf``, and path lines of some of them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from muphy_lb.measure.flow_view import FlowView
from muphy_lb.physics.particles.files.table import Snapshot
from muphy_lb.physics.particles.files.vtkhdf import read_paths, write_path_lines
from muphy_lb.physics.particles.snapshots import ParticleSnapshots
from muphy_lb.physics.particles.tracers.section import TracersSection
from muphy_lb.physics.particles.tracers.walk import BEFORE, BORN, END


class TracerSnapshots(ParticleSnapshots):
    """Writes all tracers, those that have left where they left, and at the end path lines."""

    velocity = BEFORE
    units = MappingProxyType({BORN: "time steps", END: ""})

    def __init__(self, view: FlowView, folder: Path, resume_step: int | None, section: TracersSection):
        super().__init__(view, folder, resume_step, section)
        self._lines, self._n_lines = folder / f"particles_{section.name}_path_lines.vtkhdf", section.path_lines

    def close(self) -> None:
        """Write the last snapshot and the path lines."""
        super().close()
        particles = self._view.particles() if self._n_lines else None
        if particles is not None:
            ids, header = particles[self._set]["id"][: self._n_lines], self._view.header
            size = np.array(header.shape[::-1]) * header.spacing_m
            paths = read_paths(self._path, ids)
            write_path_lines(self._lines, paths, np.where(header.periodic, size, 0.0), self._view.case.to_toml())

    def snapshot(self, columns: Mapping[str, np.ndarray]) -> Snapshot:
        """With when they started, and whether and how they have ended."""
        return replace(super().snapshot(columns), scalars={name: columns[name] for name in (END, BORN)})

"""Places of tracers over time for ParaView, ``particles_NAME.vtkhdf``, and path lines of some of them."""

from pathlib import Path

import numpy as np

from muphy_lb.measure.flow_view import FlowView
from muphy_lb.measure.observer import Observer
from muphy_lb.physics.model import POSITION
from muphy_lb.physics.particles.files.path_lines import read_paths, write_path_lines
from muphy_lb.physics.particles.files.polydata import PolyDataSeries
from muphy_lb.physics.particles.files.snapshot import Snapshot
from muphy_lb.physics.particles.tracers.walk import BEFORE, BORN, END


class TracerSnapshots(Observer):
    """Writes all tracers, those that have left where they left, and at the end path lines.

    Args:
        view: the flow.
        folder: output folder.
        resume_step: snapshots up to that step are kept; None for a new file.
        section: table of the tracers in the case file.
    """

    def __init__(self, view: FlowView, folder: Path, resume_step: int | None, section):
        self._view, self._section, self.every = view, section, section.snapshots_every_steps
        self._path, self._lines = (folder / f"particles_{section.name}{end}.vtkhdf" for end in ("", "_path_lines"))
        self._series = None
        if view.communicator.rank == 0:
            text = view.case.to_toml(folder)
            units = {BORN: "time steps", END: ""}
            self._series = PolyDataSeries(self._path, case_text=text, units=units, resume_step=resume_step)
        self._written_step = view.communicator.broadcast(self._series.last_step if self._series else None)

    def act(self) -> None:
        """Write one snapshot, unless this step is already written."""
        if self._view.step_number == self._written_step:
            return
        self._written_step = self._view.step_number
        particles = self._view.particles()
        if particles is not None and self._series:
            self._series.append(_snapshot(self._view, particles[self._section.name]))

    def close(self) -> None:
        """Write the last snapshot and the path lines."""
        self.act()
        particles = self._view.particles() if self._section.path_lines else None
        if particles is not None:
            ids = particles[self._section.name]["id"][: self._section.path_lines]
            header = self._view.header
            size = np.array(header.shape[::-1]) * header.spacing_m
            paths = read_paths(self._path, ids)
            write_path_lines(self._lines, paths, np.where(header.periodic, size, 0.0), self._view.case.to_toml())


def _snapshot(view: FlowView, columns) -> Snapshot:
    header, units = view.header, view.units
    voxel, offset = (np.stack([columns[name] for name in names], axis=1) for names in POSITION)
    return Snapshot(
        step=view.step_number,
        time_s=view.time_s,
        id=columns["id"],
        position_m=np.asarray(header.origin_m) + header.spacing_m * (voxel + offset),
        velocity_m_s=units.velocity_to_si(np.stack([columns[name] for name in BEFORE], axis=1)),
        scalars={END: columns[END], BORN: columns[BORN]},
    )

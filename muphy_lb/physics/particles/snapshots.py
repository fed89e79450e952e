"""Positions of a set of particles over time: for ParaView, and for programs of molecular dynamics."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import floor, log10
from pathlib import Path
from types import MappingProxyType

import numpy as np

from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.measure.at_particles import fields_at, positions_m
from muphy_lb.measure.field_snapshots import known_fields
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.measure.observer import Observer
from muphy_lb.parallel import agreed_on_root
from muphy_lb.physics.particles.base_section import ParticlesSection
from muphy_lb.physics.particles.files.extxyz import ExtxyzSeries
from muphy_lb.physics.particles.files.table import Snapshot
from muphy_lb.physics.particles.files.vtkhdf import ParticleSeries


class ParticleSnapshots(Observer):
    """Base class: writes positions and velocities of a set of particles to ``particles_NAME.vtkhdf`` and, if the table
    asks for it, ``particles_NAME.xyz``.

    Args:
        resume_step: snapshots up to that step are kept; None for a new file.
        section: table of the particles in the case file.
        kinds: names of the kinds of particles.
    """

    velocity: tuple[str, str, str]  #: names of the columns of the velocity
    units: Mapping[str, str] = MappingProxyType({})  #: unit of each further scalar by name

    def __init__(
        self,
        view: FlowView,
        folder: Path,
        resume_step: int | None,
        section: ParticlesSection,
        kinds: Sequence[str] = (),
    ):
        self._view, self._set, self.every = view, section.name, section.snapshots_every_steps
        self._fields = section.fields
        self._path = folder / f"particles_{section.name}.vtkhdf"
        self._series, self._frames = None, None

        def begin() -> None:
            text = view.case.to_toml(folder)
            units = {**self.units, **{name: known_fields(view)[name] for name in section.fields}}
            self._series = ParticleSeries(self._path, kinds, text, units=units, resume_step=resume_step)
            if section.extxyz:
                sizes = _round_unit(view.units.spacing_m), _round_unit(view.units.time_step_s)
                box = _box_m(view.header), view.header.periodic
                path = self._path.with_suffix(".xyz")
                self._frames = ExtxyzSeries(path, kinds, *sizes, resume_step, *box, scalars=section.fields)

        agreed_on_root(view.communicator, begin)
        self._written_step = view.communicator.broadcast(self._series.last_step if self._series else None)

    def forget(self) -> None:
        """Write the present step again."""
        self._written_step = None

    def act(self) -> None:
        """Write one snapshot, unless this step is already written."""
        if self._view.step_number == self._written_step:
            return
        self._written_step = self._view.step_number
        particles = self._view.particles()
        columns = None if particles is None else particles[self._set]
        snapshot = None if columns is None else self.snapshot(columns)
        found = fields_at(self._view, self._fields, None if snapshot is None else snapshot.position_m)
        if columns is not None and snapshot is not None and found is not None and self._series:
            for values in found.values():
                values[~self.are_in_flow(columns)] = np.nan
            snapshot = replace(snapshot, scalars={**snapshot.scalars, **found})
            self._series.append(snapshot)
            if self._frames:
                self._frames.append(snapshot)

    def close(self) -> None:
        """Write the last snapshot."""
        self.act()

    def are_in_flow(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """(n,) whether each particle is in the flow; the fields of the others are nan."""
        return np.ones(columns["id"].size, dtype=bool)

    def snapshot(self, columns: Mapping[str, np.ndarray]) -> Snapshot:
        """The snapshot of the columns of all particles, on rank 0; derived classes add to it."""
        velocity = np.stack([columns[name] for name in self.velocity], axis=1)
        return Snapshot(
            step=self._view.step_number,
            time_s=self._view.time_s,
            id=columns["id"],
            position_m=positions_m(self._view.header, columns),
            velocity_m_s=self._view.units.velocity_to_si(velocity),
        )


def _box_m(header: GeometryHeader) -> np.ndarray:
    """(2, 3) lowest and highest corner of the box [m]."""
    low = np.asarray(header.origin_m) - 0.5 * header.spacing_m
    return np.stack([low, low + header.spacing_m * np.array(header.shape[::-1])])


def _round_unit(size: float) -> float:
    """The largest unit that is not above a size [m or s]: 1, 1e-3, 1e-6 and so on; its numbers are near 1."""
    return float(f"1e{3 * floor(log10(size) / 3)}")

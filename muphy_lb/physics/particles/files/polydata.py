"""Particles over time for ParaView: VTKHDF 2.0, poly data with a vertex for each particle and a line for each bond."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from muphy_lb.base.errors import OutputError
from muphy_lb.output.polydata import PolyData, PolyDataSeries, cells_of
from muphy_lb.physics.particles.files.snapshot import Snapshot

OWN_FIELDS = ("id", "velocity", "kind")


@dataclass(frozen=True)
class ParticleSeries:
    """One ``.vtkhdf`` file with all snapshots of a set of particles; closed, hence readable, between two appends.

    Points carry id, velocity, the number of the kind, and the further scalars of the snapshots. Cells are written again
    only when the number of particles or the bonds change. The file comes into being with its first snapshot.

    Attributes:
        path: the file.
        kinds: name of each kind, stored beside the numbers.
        case_text: stored in ``/muphy_lb/case``.
        units: unit of each further scalar by name, stored as attribute ``unit``.
        compress: gzip the points, the cells and their fields.
        resume_step: None starts the file anew; a number keeps the snapshots of an existing file up to that step. A file
            that cannot be read is renamed ``NAME.damaged`` then.

    Raises:
        OutputError: the file cannot be written, or holds other particles when resuming.
    """

    path: str | os.PathLike
    kinds: Sequence[str] = ()
    case_text: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    compress: bool = False
    resume_step: int | None = None
    _series: PolyDataSeries = field(init=False)

    def __post_init__(self):
        units, labels = {**self.units, "velocity": "m/s"}, {"kinds": self.kinds}
        series = PolyDataSeries(self.path, self.case_text, units, labels, self.compress, self.resume_step)
        object.__setattr__(self, "_series", series)

    @property
    def last_step(self) -> int | None:
        """Step of the last snapshot that was kept; None without one."""
        return self._series.last_step

    def append(self, snapshot: Snapshot) -> None:
        """Add one snapshot. Every snapshot has the same fields; the number of particles and the bonds may change.

        Raises:
            OutputError: a field has another shape or was not in the first snapshot, or the disk refuses.
        """
        n, shape = len(snapshot.id), np.shape(snapshot.position_m)
        if shape != (n, 3):
            raise OutputError(f"{self.path}: 'positions' has shape {shape}; allowed are ({n}, 3) for {n} particles")
        vertices = cells_of(np.arange(n)[:, None])
        cells = {"Vertices": vertices, "Lines": cells_of(bond_rows(snapshot))}
        data = PolyData(snapshot.step, snapshot.time_s, snapshot.position_m, cells, self._fields(snapshot))
        self._series.append(data)

    def _fields(self, snapshot: Snapshot) -> dict[str, np.ndarray]:
        """The fields of the points by name."""
        given = {"id": snapshot.id, "velocity": snapshot.velocity_m_s, "kind": snapshot.kind}
        fields = {name: np.asarray(values) for name, values in given.items() if values is not None}
        for name, values in snapshot.scalars.items():
            if name in OWN_FIELDS or not name or set(name) & set("/."):
                raise OutputError(
                    f"{self.path}: a scalar is named {name!r}; allowed are names without / and ., other than"
                    f" {', '.join(OWN_FIELDS)}"
                )
            fields[name] = np.asarray(values)
        return fields


def bond_rows(snapshot: Snapshot) -> np.ndarray:
    """(m, 2) rows of the particles that each bond joins; bonds of particles that are not there are left out."""
    ids, bonds = np.asarray(snapshot.id), np.asarray(snapshot.bonds).reshape(-1, 2)
    if not ids.size or not bonds.size:
        return np.empty((0, 2), dtype=np.int64)
    order = np.argsort(ids)
    rows = order[np.minimum(np.searchsorted(ids[order], bonds), len(ids) - 1)]
    return rows[(ids[rows] == bonds).all(axis=1)]

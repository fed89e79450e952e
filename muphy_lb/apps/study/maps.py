"""Bands at every point: of the stress at walls with its indices, and of the fields of members that keep their files.

The points are those of the first member that ended. Another member answers there with its own nearest point, so walls
that move between members are compared point by point; it has no value where it has none within ``REACH`` voxels. Places
of members whose geometry is rotated are compared as they are in the input.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from muphy_lb.apps.study.answers import LEVELS
from muphy_lb.apps.study.members import Members
from muphy_lb.apps.study.table import Table
from muphy_lb.base.files.atomic import output_errors
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.options import split_options
from muphy_lb.geometry.rotation import Rotation
from muphy_lb.measure.field_snapshots import FieldSnapshots
from muphy_lb.measure.shear.observer import AREA, SHEAR_FILE
from muphy_lb.output.vtkhdf import Snapshot, VtkHdfSeries, find_snapshot

REACH = 2.0  # largest distance to the point of another member [voxels]
MOST_VALUES = 2**27  # values of all members that are held at once
FILES = (SHEAR_FILE, FieldSnapshots.file)
STATISTICS = ("mean", "deviation", "low", "high")
COUNTED = "counted"
PICTURE = "band_{}_{}.png"  # picture of a field, of its mean or of the width of its band
NO_ANSWERS = (AREA, COUNTED)


@dataclass(frozen=True)
class Map:
    """The band of a field at each of its points."""

    name: str  #: of the field; of a vector with ``_magnitude`` behind it
    unit: str
    #: (4, n) mean, standard deviation, 2.5th and 97.5th percentile over the members, nan where less than two answer
    statistics: np.ndarray
    weight: np.ndarray  #: (n,) area of the wall, 0 where a run counts it for an opening, or 1, of each point
    n_answers: np.ndarray  #: (n,) members that have a value at each point
    n_members: int  #: all of them

    @property
    def means(self) -> dict[str, float]:
        """The mean over all points that count of each statistic."""
        known = np.isfinite(self.statistics[0]) & (self.weight > 0.0)
        if not known.any():
            return dict.fromkeys(STATISTICS, np.nan)
        means = np.average(self.statistics[:, known], axis=1, weights=self.weight[known])
        return dict(zip(STATISTICS, means.tolist(), strict=True))

    @property
    def told(self) -> str:
        """The means over all points, for people."""
        mean, deviation, low, high = self.means.values()
        return (
            f"{self.name}: mean {mean:.4g} {self.unit}, at a point on average a standard deviation of {deviation:.3g}"
            f" and a 95 % band from {low:.4g} to {high:.4g}{self._missing}"
        )

    @property
    def _missing(self) -> str:
        """Points at which members are missing, as text."""
        share = np.mean(self.n_answers < self.n_members)
        if not share > 0.0:
            return ""
        return f"; at {100.0 * share:.2g} % of the points some of the {self.n_members} members have no value"


@dataclass(frozen=True)
class Maps:
    """The maps of one kind of file of the members."""

    file: str  #: written in the folder of the study
    nodes: NodeList  #: the points
    found: Sequence[Map]

    @property
    def is_wall(self) -> bool:
        """Whether the points are those of the wall."""
        return self.file == bands_file(SHEAR_FILE)


def bands_file(name: str) -> str:
    """The file with the bands of the fields in a file of every member."""
    return f"bands_{name}"


def maps_of_table(table: Table) -> Iterator[Maps]:
    """The maps of a study, of each file that two members or more have written."""
    members = table.members
    ended = [k for k in members.design.independent if table.has_ended[k]]
    for name in FILES:
        found = [k for k in ended if (members.path(k) / name).exists()]
        if len(found) > 1:
            rotations = [_rotation(members, k) for k in found]
            yield _maps(name, [find_snapshot(members.path(k) / name) for k in found], rotations)


def _rotation(members: Members, number: int) -> Rotation:
    """The rotation of the geometry of a member; none where a function answers in place of a case."""
    return split_options(Rotation, {} if members.asked.case is None else members.case(number).geometry.options)[0]


def remove_maps(folder: Path) -> None:
    """Remove the bands that a study before has left, and their pictures. Raises OutputError: the disk refuses."""
    with output_errors(folder):
        for path in (*(folder / bands_file(name) for name in FILES), *folder.glob(PICTURE.format("*", "*"))):
            path.unlink(missing_ok=True)


def write_maps(maps: Maps, folder: Path) -> None:
    """Write the bands for ParaView. Raises OutputError: the disk refuses."""
    units = {f"{each.name}_{kind}": each.unit for each in maps.found for kind in STATISTICS}
    fields = {
        f"{each.name}_{kind}": values
        for each in maps.found
        for kind, values in zip(STATISTICS, each.statistics, strict=True)
    }
    units |= {f"{each.name}_members": "1" for each in maps.found}
    fields |= {f"{each.name}_members": each.n_answers.astype(np.float32) for each in maps.found}
    VtkHdfSeries(folder / maps.file, maps.nodes, "", units).append(0.0, 0, fields)


def _maps(name: str, snapshots: Sequence[Snapshot], rotations: Sequence[Rotation]) -> Maps:
    first, nodes = snapshots[0], snapshots[0].nodes()
    nearest = _nearest(nodes, [snapshot.nodes() for snapshot in snapshots], rotations)
    weight = first.values(AREA) if AREA in first.units else np.ones(nodes.n_nodes)
    weight = weight * (first.values(COUNTED) if COUNTED in first.units else 1.0)
    found = []
    for field, unit in first.units.items():
        if field not in NO_ANSWERS:
            own, n_answers = _statistics(snapshots, field, nearest)
            found.append(Map(_scalar_name(first, field), unit, own, weight, n_answers, len(snapshots)))
    return Maps(bands_file(name), nodes, found)


def _nearest(first: NodeList, lists: Sequence[NodeList], rotations: Sequence[Rotation]) -> list[np.ndarray]:
    """Of each member the (n,) number of its node nearest to each node of the first, -1 where none is within reach.
    Members with the same nodes share one array."""
    from_grid = rotations[0].turned_back(first.positions_m())
    same, found = np.arange(first.n_nodes, dtype=np.int32), []
    for nodes, rotation in zip(lists, rotations, strict=True):
        if rotation == rotations[0] and _are_same(first, nodes):
            found.append(same)
            continue
        reach_m = REACH * max(first.spacing_m, nodes.spacing_m)
        tree = cKDTree(rotation.turned_back(nodes.positions_m()))
        number = tree.query(from_grid, distance_upper_bound=reach_m)[1]
        found.append(np.where(number < nodes.n_nodes, number, -1).astype(np.int32))
    return found


def _are_same(one: NodeList, other: NodeList) -> bool:
    box = (one.shape, one.spacing_m, one.origin_m)
    return box == (other.shape, other.spacing_m, other.origin_m) and np.array_equal(one.voxel, other.voxel)


def _scalar_name(snapshot: Snapshot, field: str) -> str:
    return field if snapshot.values(field).ndim == 1 else f"{field}_magnitude"


def _statistics(
    snapshots: Sequence[Snapshot], field: str, nearest: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """(4, n) statistics of a field, or of the magnitude of a vector, and the (n,) number of members that have it; some
    points after the other. A member whose file is without the field has no value."""
    n = len(nearest[0])
    found, count = np.empty((len(STATISTICS), n), dtype=np.float32), np.empty(n, dtype=np.int32)
    having = [(each, index) for each, index in zip(snapshots, nearest, strict=True) if field in each.units]
    step = max(1, MOST_VALUES // len(having))
    for start in range(0, n, step):
        part = slice(start, start + step)
        rows = np.array([_at(snapshot.values(field), index[part]) for snapshot, index in having])
        found[:, part], count[part] = statistics(rows), np.isfinite(rows).sum(axis=0)
    return found, count


def _at(values: np.ndarray, index: np.ndarray) -> np.ndarray:
    """(m,) values or magnitudes at some points, nan for the number -1."""
    scalars = values if values.ndim == 1 else np.linalg.norm(values, axis=1)
    return np.where(index < 0, np.nan, scalars[index])


def statistics(values: np.ndarray) -> np.ndarray:
    """(4, n) mean, standard deviation and both ends of the band of (members, n) values, nan left out; the ends as those
    of :func:`muphy_lb.apps.study.answers.band_of`. nan where less than two members answer."""
    ordered = np.sort(np.where(np.isfinite(values), values, np.nan).astype(np.float64), axis=0)  # nan at the end
    count = np.isfinite(ordered).sum(axis=0)
    enough = count > 1
    n = np.where(enough, count, 2)
    known = np.where(np.isfinite(ordered), ordered, 0.0)
    mean = known.sum(axis=0) / n
    deviation = np.sqrt(np.where(np.isfinite(ordered), (known - mean) ** 2, 0.0).sum(axis=0) / (n - 1))
    ends = []
    for level in LEVELS:
        at = np.clip(level * (n + 1) - 1.0, 0.0, n - 1.0)
        below = np.minimum(at.astype(np.int64), n - 2)
        low, high = (np.take_along_axis(known, row[None], axis=0)[0] for row in (below, below + 1))
        ends.append(low + (at - below) * (high - low))
    return np.where(enough, np.stack([mean, deviation, *ends]), np.nan)

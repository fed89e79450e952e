"""Velocity profiles across an opening, steady and pulsating.

Velocity profiles across an opening, relative to the mean velocity; link weights scale them to the exact mean.

The cross-section of an opening as cells in its plane, and oscillating Stokes flow through it.

A pressure gradient that oscillates with angular frequency omega drives, along a straight vessel of any cross-section,

    i omega u = G + nu (d2u/da2 + d2u/db2),    u = 0 at the walls,

which is Poisson's equation for omega = 0 (Womersley, J. Physiol. 127, 553 (1955), solved it for a circle). The second
differences next to a wall know its distance (the scheme of Shortley and Weller): half a voxel, or where the wall cuts
the link.

Velocity profiles that change their shape with time, as a pulsating flow does in a straight vessel.

Every harmonic of the flow rate has the shape of the oscillating Stokes flow of its frequency
(:mod:`muphy_lb.boundaries.profiles`), complex because it lags behind: with phi_k of mean 1 over the links,

    u(x, t) / U = r(t) phi_0(x) + sum_k Re[(c_k - i s_k) exp(i k w t) phi_k(x)],

where the waveform is mean + sum_k c_k cos(k w t) + s_k sin(k w t) and r(t) what its harmonics leave of it: so the flow
is that of the waveform at every instant.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.boundaries.wall_motion import HALF
from muphy_lb.boundaries.waveform import FourierSeries, PeriodicSpline
from muphy_lb.domain import LinkRecords
from muphy_lb.domain.links import plane_axes
from muphy_lb.geometry.link_cuts import Cuts
from muphy_lb.geometry.nodes import NodeList, voxel_coordinates
from muphy_lb.lattice import Lattice

Profile = Callable[["object", np.ndarray], np.ndarray]


def plug(frame, midpoint: np.ndarray) -> np.ndarray:
    """Uniform velocity."""
    return np.ones(len(midpoint))


def parabolic(frame, midpoint: np.ndarray) -> np.ndarray:
    """Paraboloid of a circular opening, 2 (1 - r^2 / R^2), cut off at zero; a parabola in two dimensions."""
    return np.maximum(0.0, 2.0 * (1.0 - _radius(frame, midpoint) ** 2 / frame.radius**2))


def rectangular(frame, midpoint: np.ndarray) -> np.ndarray:
    """Product of two parabolas over a rectangle along the axes, (1 - a^2 / A^2)(1 - b^2 / B^2). Raises InputError: the
    opening's normal is not along an axis."""
    normal = np.abs(frame.normal)
    if normal.max() < 1.0 - 1e-9:
        raise InputError(f"the rectangular profile needs an opening with a normal along x, y or z, not {frame.normal}")
    shape = np.ones(len(midpoint))
    for axis in np.flatnonzero(normal < 0.5):
        shape *= np.maximum(0.0, 1.0 - ((midpoint - frame.middle)[:, axis] / frame.half_widths[axis]) ** 2)
    return shape


def measured(radius: np.ndarray, velocity: np.ndarray) -> Profile:
    """A profile through measured points (distance from the centre [voxel edges], velocity), interpolated linearly."""
    return lambda frame, midpoint: np.interp(_radius(frame, midpoint), radius, velocity)


def _radius(frame, midpoint: np.ndarray) -> np.ndarray:
    offset = midpoint - frame.centroid
    offset -= np.outer(offset @ frame.along, frame.along)
    return np.linalg.norm(offset, axis=1)


PROFILES: Mapping[str, Profile] = MappingProxyType({"plug": plug, "parabolic": parabolic, "rectangular": rectangular})


WALL = -1  # number of the neighbour of a cell that has none


@dataclass(frozen=True)
class CrossSection:
    """Square cells of one voxel in a plane (in two dimensions on a line); their centres are
    ``origin + cell @ axes``."""

    origin: np.ndarray  #: (3,) voxel coordinates (x, y, z)
    axes: np.ndarray  #: (d, 3) unit vectors of the plane
    cell: np.ndarray  #: (n, d) int64 cell numbers along them
    period: np.ndarray  #: (d,) cells after which they repeat; 0 where they do not
    #: (d, 2, n) distance of the wall behind and ahead of every cell along each axis, where it has no neighbour there
    #: [voxels]
    distance: np.ndarray

    def number(self, cell: np.ndarray) -> np.ndarray:
        """(m,) number of each of the cells (m, d), ``WALL`` where there is none."""
        span = np.ptp(self.cell, axis=0) + 1
        low = self.cell.min(axis=0)
        place = np.where(self.period > 0, np.mod(cell, np.maximum(self.period, 1)), cell) - low
        grid = np.full(span, WALL, dtype=np.int64)
        grid[tuple((self.cell - low).T)] = np.arange(len(self.cell))
        is_there = np.all((place >= 0) & (place < span), axis=1)
        return np.where(is_there, grid[tuple(np.where(is_there[:, None], place, 0).T)], WALL)

    def neighbour(self, axis: int, step: int) -> np.ndarray:
        """(n,) number of the next cell of each cell along an axis, ``step`` -1 or 1."""
        return self.number(self.cell + step * np.eye(len(self.axes), dtype=np.int64)[axis])

    def solver(self) -> Callable[[complex], np.ndarray]:
        """``solve(i omega / nu) -> (n,)`` velocities that belong to G = nu; complex unless omega = 0."""
        from scipy.sparse import coo_array, eye_array  # a third of a second that other runs need not wait
        from scipy.sparse.linalg import splu

        n, numbers = len(self.cell), np.arange(len(self.cell))
        rows, columns, entries = [], [], []
        for axis in range(len(self.axes)):
            sides = [self.neighbour(axis, step) for step in (-1, 1)]
            gaps = [np.where(side == WALL, gap, 1.0) for side, gap in zip(sides, self.distance[axis], strict=True)]
            for side, gap in zip(sides, gaps, strict=True):
                share, inside = 2.0 / (gap * (gaps[0] + gaps[1])), side != WALL
                rows += [numbers, numbers[inside]]
                columns += [numbers, side[inside]]
                entries += [share, -share[inside]]
        matrix = coo_array((np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))), shape=(n, n))
        matrix, identity = matrix.tocsc(), eye_array(n, format="csc")
        if abs(matrix.sum()) < ROUNDING:  # no wall: the fluid moves as a whole
            return lambda rate: np.full(n, 1.0 / rate if rate else 1.0)
        return lambda rate: splu(matrix + rate * identity).solve(np.ones(n, np.asarray(rate).dtype))

    def at(self, values: np.ndarray, points: np.ndarray) -> np.ndarray:
        """(m,) values (n,) of the cells at points (m, 3), interpolated linearly along each axis; what lies behind the
        rim mirrors what lies before it, with the opposite sign, up to the wall half-way, where it ends."""
        place = (points - self.origin) @ self.axes.T
        low = np.floor(place + ROUNDING).astype(np.int64)
        share = np.clip(place - low, 0.0, 1.0)
        inside, total = np.zeros(len(points)), np.zeros(len(points), dtype=values.dtype)
        for corner in product((0, 1), repeat=len(self.axes)):
            weight = np.prod(np.where(corner, share, 1.0 - share), axis=1)
            number = self.number(low + corner)
            weight = np.where(number == WALL, 0.0, weight)
            inside += weight
            total += weight * values[np.maximum(number, 0)]
        return total * np.maximum(0.0, 2.0 * inside - 1.0) / np.where(inside > 0.0, inside, 1.0)


ROUNDING = 1e-9  # what may be missing of a whole number of cells


def cross_section(nodes: NodeList, lattice: Lattice, links: LinkRecords, frame) -> CrossSection:
    """The cross-section of an opening.

    Across an axis the cells are the nodes with links straight into the opening, and walls are where they cut the links
    of these nodes; else those squares of a grid in the plane whose middle lies in a voxel of a node or of the opening
    beside a link, and walls lie half-way.

    Args:
        nodes: the whole geometry.
        lattice: the velocity set.
        links: the links of the opening.
        frame: its measures.

    Raises InputError: no cell at all: the opening is smaller than a voxel.
    """
    (axis,) = plane_axes([frame]).tolist()
    found = _of_plane(nodes, lattice, links, frame) if axis < 0 else _of_nodes(nodes, lattice, links, axis)
    if not len(found.cell):
        raise InputError(f"an opening of {frame.area:.3g} voxels has no cross-section; refine geometry.spacing_m")
    return found


def _of_nodes(nodes: NodeList, lattice: Lattice, links: LinkRecords, axis: int) -> CrossSection:
    straight = np.abs(lattice.c).sum(axis=1)[links.q] == 1
    voxel = np.unique(links.voxel[straight & (lattice.c[links.q][:, axis] != 0)])
    coordinates = voxel_coordinates(voxel, nodes.shape)
    others = [k for k in range(lattice.dimension) if k != axis]
    axes, sizes = np.eye(3)[others], np.array(nodes.shape[::-1])[others]
    period = np.where(np.array(nodes.periodic)[others], sizes, 0)
    origin = np.where(np.isin(np.arange(3), others), 0.0, coordinates.mean(axis=0))
    steps = [[-direction, direction] for direction in np.eye(3, dtype=np.int64)[others]]
    distance = np.array([[_wall_distance(nodes.cuts, voxel, step) for step in pair] for pair in steps])
    return CrossSection(origin, axes, coordinates[:, others], period, distance)


def _wall_distance(cuts: Cuts | None, voxel: np.ndarray, step: np.ndarray) -> np.ndarray:
    """(n,) distances of the wall from voxels along a unit vector; half a voxel where it is not known."""
    found = np.full(voxel.size, np.nan) if cuts is None else cuts.of(voxel, step)
    return np.where(np.isnan(found), HALF, found)


def _of_plane(nodes: NodeList, lattice: Lattice, links: LinkRecords, frame) -> CrossSection:
    axes = _plane_axes(frame.normal, lattice.dimension)
    near = voxel_coordinates(links.voxel, nodes.shape)
    voxels = np.unique(np.concatenate((near, near + lattice.c[links.q])), axis=0)
    reach = np.ceil(np.abs((voxels - frame.centroid) @ axes.T).max(axis=0)).astype(np.int64) + 1
    cell = np.array(list(product(*(range(-extent, extent + 1) for extent in reach))), dtype=np.int64)
    middle = np.rint(frame.centroid + cell @ axes).astype(np.int64)
    low = voxels.min(axis=0)
    grid = np.zeros(np.ptp(voxels, axis=0) + 1, dtype=bool)
    grid[tuple((voxels - low).T)] = True
    place = middle - low
    is_there = np.all((place >= 0) & (place < grid.shape), axis=1)
    is_there[is_there] = grid[tuple(place[is_there].T)]
    chosen = cell[is_there]
    distance = np.full((len(axes), 2, len(chosen)), HALF)
    return CrossSection(frame.centroid, axes, chosen, np.zeros(len(axes), dtype=np.int64), distance)


def _plane_axes(normal: np.ndarray, dimension: int) -> np.ndarray:
    """(d, 3) unit vectors across a normal, the first of them in the plane of x and y; in two dimensions only that."""
    first = np.array([-normal[1], normal[0], 0.0])
    if np.linalg.norm(first) < ROUNDING:
        first = np.array([1.0, 0.0, 0.0])
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(normal, first)])[: dimension - 1]


MOST_HARMONICS = 40
TABLE_ERROR = 1e-3  # largest part of a table's range that its harmonics may leave to the steady profile
N_SAMPLES = 4096  # times of a period at which a table is analysed


@dataclass(frozen=True)
class Harmonics:
    """A waveform as a sum of harmonics and what they leave of it."""

    factor: FourierSeries | PeriodicSpline  #: the waveform
    number: np.ndarray  #: (K,) numbers k of the harmonics
    amplitude: np.ndarray  #: (K,) c_k - i s_k

    def frequency_rad_s(self) -> np.ndarray:
        """(K,) angular frequencies [rad/s]."""
        return 2.0 * np.pi * self.number / self.factor.period_s

    def columns(self, time_s: np.ndarray) -> np.ndarray:
        """(n, 2 K + 1) amplitudes at times (n,): what belongs to phi_0, then those of the real and of the imaginary
        part of each phi_k."""
        wave = self.amplitude * np.exp(1j * np.multiply.outer(np.asarray(time_s, float), self.frequency_rad_s()))
        rest = self.factor(time_s) - wave.real.sum(axis=1)
        return np.column_stack((rest, np.stack((wave.real, -wave.imag), axis=2).reshape(len(wave), -1)))

    def largest_rest(self) -> float:
        """Largest difference of the waveform from its mean and harmonics, over its range."""
        time_s = np.arange(N_SAMPLES) * (self.factor.period_s / N_SAMPLES)
        rest, value = self.columns(time_s)[:, 0], self.factor(time_s)
        return float(np.abs(rest - rest.mean()).max() / (np.ptp(value) or 1.0))


def harmonics(factor: FourierSeries | PeriodicSpline) -> Harmonics:
    """The harmonics of a waveform: of a series its own, of a table as many as it needs, ``MOST_HARMONICS`` at most."""
    if isinstance(factor, FourierSeries):
        amplitude = np.zeros(max(len(factor.cosine), len(factor.sine)), dtype=complex)
        amplitude[: len(factor.cosine)] += factor.cosine
        amplitude[: len(factor.sine)] -= 1j * np.array(factor.sine)
        number = np.flatnonzero(amplitude)
        return Harmonics(factor, number + 1, amplitude[number])
    value = factor(np.arange(N_SAMPLES) * (factor.period_s / N_SAMPLES))
    found = 2.0 * np.fft.rfft(value)[1 : MOST_HARMONICS + 1] / N_SAMPLES
    # the table of a spline begins at its first time, and its phase is counted from t = 0, as here
    for count in range(1, MOST_HARMONICS + 1):
        series = Harmonics(factor, np.arange(1, count + 1), found[:count])
        if series.largest_rest() <= TABLE_ERROR:
            break
    return series


@dataclass(frozen=True)
class SectionProfile:
    """A shape over a cross-section, over its mean; a :data:`~muphy_lb.boundaries.profiles.Profile`."""

    section: CrossSection
    values: np.ndarray

    def __call__(self, frame, midpoint: np.ndarray) -> np.ndarray:
        """(m,) values at midpoints of links (m, 3)."""
        return self.section.at(self.values, midpoint)


@dataclass(frozen=True)
class PulsatileProfile:
    """The shapes of an opening and their amplitudes in time."""

    steady: SectionProfile  #: phi_0
    oscillating: tuple[SectionProfile, ...] = ()  #: phi_k, complex, of mean 1 over the links of the opening
    #: ``(time_s) -> (n, 2 K + 1)`` as of :meth:`Harmonics.columns`; None for a steady flow
    amplitudes: Callable[[np.ndarray], np.ndarray] | None = None

    @property
    def n_columns(self) -> int:
        """Number of amplitudes; 0 for a steady flow."""
        return 0 if self.amplitudes is None else 1 + 2 * len(self.oscillating)

    def weights(self, frame, midpoint: np.ndarray, momentum: np.ndarray, steady: np.ndarray) -> np.ndarray:
        """(2 K + 1, m) mass that enters through each link per unit of value and amplitude.

        Args:
            frame: measures of the opening.
            midpoint: (m, 3) of the links.
            momentum: (m,) mass that enters per unit velocity.
            steady: (m,) weights of the steady profile.
        """
        shapes = [momentum * shape(frame, midpoint) for shape in self.oscillating]
        return np.array([steady, *(part for shape in shapes for part in (shape.real, shape.imag))])


def pulsatile_profile(
    nodes: NodeList, lattice: Lattice, links: LinkRecords, frame, waveform: tuple[Harmonics | None, float]
) -> PulsatileProfile:
    """The profile of an opening.

    Args:
        nodes: the whole geometry.
        lattice: the velocity set.
        links: all links of the opening.
        frame: its measures.
        waveform: of its flow rate, None for a steady one, and the viscosity as an angular frequency [rad/s]: kinematic
            viscosity over the square of the voxel edge.

    Raises InputError: the opening has no cross-section.
    """
    section = cross_section(nodes, lattice, links, frame)
    solve, (given, per_second) = section.solver(), waveform
    steady = SectionProfile(section, solve(0.0))
    if given is None or not given.number.size:
        return PulsatileProfile(steady, (), None if given is None else given.columns)
    momentum = frame.carried(lattice, links.q)
    midpoint = voxel_coordinates(links.voxel, nodes.shape) + 0.5 * lattice.c[links.q]
    shapes = []
    for frequency_rad_s in given.frequency_rad_s():
        values = solve(1j * frequency_rad_s / per_second)
        flow = momentum @ section.at(values, midpoint)
        shapes.append(SectionProfile(section, values * (frame.area / flow)))
    return PulsatileProfile(steady, tuple(shapes), given.columns)

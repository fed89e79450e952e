"""Observables of particles, computed from arrays, and planes through which particles are counted. Positions are
unwrapped: a particle that leaves a periodic box continues beyond it. Quantities are in SI units; every formula holds in
any other consistent set, but for :func:`temperature`, which contains Boltzmann's constant."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from muphy_lb.base.errors import InputError
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.physics.particles.base_section import ParticlesSection, PlaneSection

BOLTZMANN_J_K = 1.380649e-23  # Boltzmann's constant [J/K], exact. Source: SI Brochure, 9th edition (2019).

#: Velocity components whose correlations are computed together, which bounds the memory of the transforms.
COLUMNS_AT_A_TIME = 256


def temperature(
    velocity_m_s: np.ndarray, mass_kg: ArrayLike, n_dimensions: int = 3, without_drift: bool = False
) -> float:
    """Kinetic temperature [K]: T = sum_i m_i |v_i|^2 / (f k_B), with f = d N degrees of freedom.

    Source: Frenkel and Smit, Understanding Molecular Simulation (2002), Sec. 4.1.

    Args:
        velocity_m_s: (n, 3) velocities.
        mass_kg: (n,) masses, or a single one.
        n_dimensions: d, the number of axes along which particles move.
        without_drift: take the velocity of the centre of mass off first; then f = d (N - 1).

    Raises ValueError: no degrees of freedom: no particle, or a single one without its drift.
    """
    velocity = np.asarray(velocity_m_s, dtype=np.float64)
    mass = np.broadcast_to(np.asarray(mass_kg, dtype=np.float64), len(velocity))
    n_free = n_dimensions * (len(velocity) - without_drift)
    if n_free <= 0:
        raise ValueError(f"a temperature needs {1 + without_drift} particles or more; there are {len(velocity)}")
    if without_drift:
        velocity = velocity - np.average(velocity, axis=0, weights=mass)
    return float(mass @ np.sum(velocity**2, axis=1) / (n_free * BOLTZMANN_J_K))


def mean_square_displacement(position_m: np.ndarray, origin_m: np.ndarray) -> np.ndarray:
    """Mean over all particles of the square of their displacement [m^2]: <|r_i(t) - r_i(0)|^2>.

    It grows as 2 d D t for particles that diffuse with coefficient D in d dimensions. Source: Einstein, Ann. Phys. 322,
    549 (1905).

    Args:
        position_m: (..., n, 3) positions, of one time or of many.
        origin_m: (n, 3) positions at time 0, of the same particles in the same order.

    Returns:
        An array of the leading shape of ``position_m``: a single number for (n, 3).
    """
    displacement = np.asarray(position_m, dtype=np.float64) - origin_m
    return np.mean(np.sum(displacement**2, axis=-1), axis=-1)


def chain_positions(position_m: np.ndarray, ids: np.ndarray, chains: np.ndarray) -> np.ndarray:
    """Positions of the beads of chains, (n_chains, length, 3).

    Args:
        ids: (n,) ids of the particles in the same order, each once.
        chains: (n_chains, length) ids of the beads, in their order along each chain.

    Raises ValueError: a bead is not among the particles.
    """
    order = np.argsort(ids)
    ordered = np.asarray(ids)[order]
    row = np.minimum(np.searchsorted(ordered, chains), len(ordered) - 1)
    missing = np.asarray(chains)[ordered[row] != chains] if len(ordered) else np.ravel(chains)
    if missing.size:
        raise ValueError(f"bead {missing[0]} of a chain is not among the {len(ordered)} particles")
    return np.asarray(position_m, dtype=np.float64)[order[row]]


def radius_of_gyration(chain_m: np.ndarray) -> np.ndarray:
    """Radius of gyration of each chain [m]: R_g^2 = 1/N sum_i |r_i - r_cm|^2, for beads of equal mass.

    An average over chains or times is one of R_g^2. Source: Rubinstein and Colby, Polymer Physics (2003), Sec. 2.4.

    Args:
        chain_m: (n_chains, length, 3) positions of the beads (:func:`chain_positions`).
    """
    from_centre = chain_m - chain_m.mean(axis=1, keepdims=True)
    return np.sqrt(np.mean(np.sum(from_centre**2, axis=-1), axis=-1))


def end_to_end_vector(chain_m: np.ndarray) -> np.ndarray:
    """(n_chains, 3) vectors from the first to the last bead [m]: R = r_N - r_1. Source: Rubinstein and Colby, Polymer
    Physics (2003), Ch. 2."""
    return chain_m[:, -1] - chain_m[:, 0]


def inverse_hydrodynamic_radius(chain_m: np.ndarray) -> np.ndarray:
    """Inverse of the hydrodynamic radius of each chain [1/m]: 1/R_h = 1/N^2 sum_{i != j} 1/|r_i - r_j|.

    Inverses are what is averaged: the hydrodynamic radius is 1/<1/R_h>. Source: Ahlrichs and Duenweg, J. Chem. Phys.
    111, 8225 (1999), after Kirkwood.

    Args:
        chain_m: (n_chains, length, 3) positions of the beads, two or more; no two at the same position.
    """
    length = chain_m.shape[1]
    total = np.zeros(len(chain_m))
    for apart in range(1, length):
        distance = np.linalg.norm(chain_m[:, apart:] - chain_m[:, :-apart], axis=-1)
        total += np.sum(1.0 / distance, axis=1)
    return 2.0 * total / length**2


def crossings(
    before_m: np.ndarray,
    after_m: np.ndarray,
    point_m: ArrayLike,
    normal: ArrayLike,
    period_m: float | None = None,
    radius_m: float | None = None,
) -> tuple[int, int]:
    """How many times particles crossed a plane between two samples: (along its normal, against it).

    The signed flux is the difference of the two over the time between the samples. A particle in the plane counts as
    beyond it, so that none is counted twice over consecutive samples, and none is missed.

    Args:
        before_m: (n, 3) positions at the first sample.
        after_m: (n, 3) positions of the same particles at the second.
        point_m: a point of the plane.
        normal: the direction that counts as forward, of any length.
        period_m: in a periodic box, the distance between the plane and its next image along the normal: crossings of
            all images count.
        radius_m: count only those who pass within this distance of ``point_m``, on a straight path.

    Raises ValueError: both a period and a radius.
    """
    if period_m is not None and radius_m is not None:
        raise ValueError("crossings within a radius are those of one plane; give no period_m")
    point, along = np.asarray(point_m, dtype=np.float64), np.asarray(normal, dtype=np.float64)
    along = along / np.linalg.norm(along)
    before, after = np.asarray(before_m) - point, np.asarray(after_m) - point
    start, end = before @ along, after @ along
    if period_m is None:
        passed = (end >= 0.0).astype(np.int64) - (start >= 0.0)
    else:
        passed = (np.floor(end / period_m) - np.floor(start / period_m)).astype(np.int64)
    if radius_m is not None:
        share = np.where(passed != 0, start / np.where(passed != 0, start - end, 1.0), 0.0)[:, None]
        passed = np.where(np.linalg.norm(before + share * (after - before), axis=1) <= radius_m, passed, 0)
    return int(passed[passed > 0].sum()), int(-passed[passed < 0].sum())


def velocity_autocorrelation(velocity_m_s: np.ndarray, n_lags: int | None = None) -> np.ndarray:
    """Velocity autocorrelation [m^2/s^2]: C(k) = <v_i(t) . v_i(t + k)>, averaged over particles and times t.

    Computed by Fourier transforms of the zero-padded series (Wiener-Khinchin theorem). Source: Frenkel and Smit,
    Understanding Molecular Simulation (2002), Sec. 4.4; Press et al., Numerical Recipes (2007), Sec. 13.2.

    Args:
        velocity_m_s: (n_times, n, 3) velocities at equal intervals.
        n_lags: number of values wanted, from lag 0 on; all ``n_times`` by default. The last ones are averages over few
            times only.

    Returns:
        (n_lags,) float64.
    """
    n_times, n_particles = velocity_m_s.shape[:2]
    n_lags = n_times if n_lags is None else min(n_lags, n_times)
    columns = velocity_m_s.reshape(n_times, -1)
    total = np.zeros(n_times)
    for first in range(0, columns.shape[1], COLUMNS_AT_A_TIME):
        spectrum = np.fft.rfft(columns[:, first : first + COLUMNS_AT_A_TIME], 2 * n_times, axis=0)
        total += np.fft.irfft(np.sum(np.abs(spectrum) ** 2, axis=1), 2 * n_times)[:n_times]
    return (total / (n_particles * np.arange(n_times, 0, -1)))[:n_lags]


def green_kubo(correlation_m2_s2: np.ndarray, interval_s: float, n_dimensions: int = 3) -> np.ndarray:
    """Diffusion coefficient as a running integral [m^2/s]: D(t) = 1/d int_0^t C(s) ds, by the trapezoidal rule.

    Source: Green, J. Chem. Phys. 22, 398 (1954); Kubo, J. Phys. Soc. Jpn. 12, 570 (1957); Frenkel and Smit (2002),
    Sec. 4.4.

    Args:
        correlation_m2_s2: (n,) velocity autocorrelation at equal intervals from lag 0 on.
        interval_s: time between two values.
        n_dimensions: d, the number of axes along which particles move.

    Returns:
        (n,) values, 0 first; the coefficient is where they level off.
    """
    correlation = np.asarray(correlation_m2_s2, dtype=np.float64)
    areas = 0.5 * (correlation[1:] + correlation[:-1]) * interval_s / n_dimensions
    return np.concatenate([[0.0], np.cumsum(areas)])


ALONG_AN_AXIS = 1e-12  # sine of the largest angle between a normal and an axis that counts as none
#: Distance in front of a plane [voxels] from which on a particle is beyond it: one that starts in the plane has not
#: crossed it, however its position is rounded.
NO_DISTANCE = 1e-9


class PlaneCounts:
    """How many particles of a set have crossed each of its planes since they started, those against the normal taken
    off; its growth is the flux.

    The numbers follow from where particles are and how far they have come alone, so that none is missed between two
    rows, and nothing is kept. In a periodic box a plane has images, and crossings of all of them count.

    Args:
        section: table of the set in the case file.
        dimension: number of axes along which particles move.

    Raises InputError: nothing can cross a plane, or it is inclined to a periodic axis, so that its images are others.
    """

    def __init__(self, section: ParticlesSection, header: GeometryHeader, dimension: int):
        self._planes = section.planes
        self._normal = [np.asarray(plane.normal) / np.linalg.norm(plane.normal) for plane in section.planes]
        self._period_m = []
        for plane, normal in zip(section.planes, self._normal, strict=True):
            key = f"particles.{section.name}.planes.{plane.name}"
            _refuse_out_of_reach(key, plane, normal, header, dimension)
            self._period_m.append(_period_m(key, plane, normal, header))
        self._no_distance_m = NO_DISTANCE * header.spacing_m

    def columns(self) -> list[str]:
        """Names of the columns."""
        return [f"{plane.name}_crossed" for plane in self._planes]

    def numbers(self, position_m: np.ndarray, travelled_m: np.ndarray) -> list[int]:
        """A number for each plane, from positions (n, 3) and displacements since the start (n, 3) [m]."""
        start_m, found = position_m - travelled_m, []
        for plane, normal, period_m in zip(self._planes, self._normal, self._period_m, strict=True):
            point_m = np.asarray(plane.point_m) - self._no_distance_m * normal
            forward, back = crossings(start_m, position_m, point_m, normal, period_m)
            found.append(forward - back)
        return found


def _refuse_out_of_reach(key: str, plane: PlaneSection, normal: np.ndarray, header: GeometryHeader, dimension: int):
    """Raise InputError for a plane that is outside the box, or along which all particles move."""
    if np.abs(normal[:dimension]).max() <= ALONG_AN_AXIS:
        raise InputError(f"{key}.normal is {list(plane.normal)}, along which no particle of a plane flow moves")
    size = np.array(header.shape[::-1])
    corners = np.stack(np.meshgrid(*zip(np.full(3, -0.5), size - 0.5, strict=True), indexing="ij"), axis=-1)
    corners_m = np.asarray(header.origin_m) + header.spacing_m * corners.reshape(-1, 3)
    distance_m = (corners_m - plane.point_m) @ normal
    if distance_m.min() > 0.0 or distance_m.max() < 0.0:
        low, high = corners_m.min(axis=0), corners_m.max(axis=0)
        raise InputError(
            f"{key} is outside the box of the geometry, which is from {low.tolist()} to {high.tolist()} m; move point_m"
        )


def _period_m(key: str, plane: PlaneSection, normal: np.ndarray, header: GeometryHeader) -> float | None:
    """Distance between a plane and its next image; None if it has none."""
    (along,) = np.nonzero(np.asarray(header.periodic) & (np.abs(normal) > ALONG_AN_AXIS))
    if not along.size:
        return None
    axis = int(along[0])
    if along.size > 1 or np.abs(np.delete(normal, axis)).max() > ALONG_AN_AXIS:
        raise InputError(
            f"{key}.normal is {list(plane.normal)}, which is inclined to the periodic axis {'xyz'[axis]}; allowed"
            " there: along the axis, or across it"
        )
    return float(header.shape[::-1][axis] * header.spacing_m)


def told(counts: Sequence[int], names: Sequence[str]) -> str:
    """Counts with their names, as text for a closing line."""
    pairs = zip(counts, names, strict=True)
    return "".join(f", {n:,} net through {name.removesuffix('_crossed')}" for n, name in pairs)

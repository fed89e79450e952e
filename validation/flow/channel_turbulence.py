"""Turbulent flow between plates at Re_tau = 178.12 on voxels of 4.5 wall units: mean velocity and Reynolds stress.

A uniform force a = u_tau^2 / delta drives it, so that the friction velocity u_tau of the averages is given and not a
result; what a grid does wrong shows in the velocity. Nodes lie 2.2, 6.7, 11 ... wall units from the plates.

Averages are over planes, over both halves (mirrored) and over times. How long they must be is in the balance of
momentum above a height, which holds for averages over any time T:

    nu dU/dy - u'v' = a (delta - y) - sum over the nodes above y of (U(end) - U(start)) / T.

Boxes narrower than the published one shed the largest eddies: the mean velocity is right up to 0.3 of the width from a
plate, and too large beyond. Jimenez, Moin, J. Fluid Mech. 225, 213 (1991); Flores, Jimenez, Phys. Fluids 22, 071704
(2010) (the share 0.3 from memory). Their turbulence comes and goes besides: of a box of 2 x 2 x 1 delta, averages of 4
delta / u_tau were off by 12 % near the plates with cumulants, and with mrt on D3Q19 turbulence died down after 6. So
the mean velocity is judged in the published box alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from muphy_lb.run.simulation import Simulation
from muphy_lb.validation.case import DEFAULT, Row, Settings, Skipped, absolute, case, shown
from muphy_lb.validation.fields import on_box
from muphy_lb.validation.flows import lattice_simulation
from muphy_lb.validation.limits import HALF
from muphy_lb.validation.plot import Plot, Series
from muphy_lb.validation.references.channel_turbulence import (
    CENTRE_VELOCITY,
    RE_TAU,
    bulk_velocity,
    mean_velocity,
    reynolds_stress,
)

NOT_HALF = "half precision rounds a population by more than what this force adds to it in a step"
PERTURBATION, N_WAVES, SHORTEST_WAVES, SEED = 1.5, 40, (1.0, 0.4), 1
"""Of the waves at the start: root mean square [u_tau], number, least lengths along x and z [delta], and their seed."""

BUFFER = 10.0
"""Mean velocities are compared from here on [wall units]."""
HEALTHY = 0.3
"""Share of the width of a box up to which the mean velocity is that of a wide one."""
MEAN_TOLERANCE, BALANCE_TOLERANCE = 0.03, 0.03
MIRROR = np.array([1.0, -1.0, 1.0])
"""Signs of the components of a velocity in the mirror of the middle plane."""
STRESSES = {"u'u'": (0, 0), "v'v'": (1, 1), "w'w'": (2, 2), "u'v'": (0, 1)}


@dataclass(frozen=True)
class Channel:
    """A channel and how long it is watched."""

    half_height: int  # delta [voxels]
    length: int  # length, width: of the periodic box along x and z [voxels]
    width: int
    speed: float  # on the centre line, by the published profile [lattice units]
    development: float  # until averages start [delta / u_tau]
    averaging: float  # their time [delta / u_tau]
    samples: int = 16  # in delta / u_tau

    @property
    def friction_velocity(self) -> float:
        """u_tau, lattice units."""
        return self.speed / CENTRE_VELOCITY

    @property
    def viscosity(self) -> float:
        """Lattice units."""
        return self.friction_velocity * self.half_height / RE_TAU

    @property
    def acceleration(self) -> float:
        """Lattice units."""
        return self.friction_velocity**2 / self.half_height

    @property
    def turnover(self) -> float:
        """delta / u_tau [time steps]."""
        return self.half_height / self.friction_velocity

    @property
    def healthy(self) -> float:
        """How far from a plate the width of the box leaves the mean velocity as it is [wall units]."""
        return min(1.0, HEALTHY * self.width / self.half_height) * RE_TAU


@dataclass(frozen=True)
class Profiles:
    """Averages over planes, halves and time, at the nodes from a plate to the centre line, wall units."""

    y: np.ndarray  # (h,) distance from the plate
    velocity: np.ndarray  # (h,) mean velocity along the channel
    stress: np.ndarray  # (h, 3, 3) averages of products of deviations from the mean
    # (h,) change of the mean velocity from the start to the end of the averages, over their time [u_tau^2 / delta]
    gain: np.ndarray
    asymmetry: float  # largest difference between the mean velocities of the halves

    def profile(self, what: str) -> np.ndarray:
        """(h,) mean velocity "U", or one of ``STRESSES``."""
        return self.velocity if what == "U" else self.stress[(slice(None), *STRESSES[what])]

    @property
    def total_stress(self) -> np.ndarray:
        """(h - 1,) viscous and Reynolds stress half-way between nodes."""
        reynolds = -0.5 * (self.stress[1:, 0, 1] + self.stress[:-1, 0, 1])
        return np.diff(self.velocity) / np.diff(self.y) + reynolds

    @property
    def imbalance(self) -> np.ndarray:
        """(h - 1,) total stress less the force on what is above and plus what that gains."""
        h = self.y.size
        above = np.cumsum((1.0 - self.gain)[::-1])[::-1] / h
        return self.total_stress - above[1:]


QUICK = Channel(16, 40, 20, 0.1, 0.25, 0.75)
SMALL = Channel(40, 128, 64, 0.1, 5.0, 15.0)
FULL = Channel(40, 504, 168, 0.1, 10.0, 20.0, samples=8)
"""4 pi x 2 x 4/3 pi delta: 6.8 million nodes for 220,000 steps, and as many seconds for samples as for steps."""

SCHEMES: Mapping[str, Mapping] = MappingProxyType(
    {
        "mrt": {"name": "D3Q19", "collision": "mrt"},
        "recursive-regularised": {"name": "D3Q19", "collision": "recursive-regularised"},
        "cumulant": {"name": "D3Q27", "collision": "cumulant"},
    }
)
JUDGED = ("cumulant",)
"""What came closest to a grid twice as fine (of cumulants, fp32) that started from the same turbulent velocity, 0.2
delta / u_tau later: -u'v' below 60 wall units was the same within 0.1 %. With mrt on D3Q19 it was 14 % too small, for
19 vectors make vortices of streaks (:mod:`muphy_lb.validation.flow.streaks`), and less stress needs a larger mean
velocity; on the finer grid it was within 1 % of cumulants after half that time. Recursive-regularised: 2 % too small;
BGK on D3Q27: 0.8 %."""

TAKES_LONG = "mean velocity and Reynolds stress: averages take hours on a CPU, and minutes on a GPU"


@case("channel-turbulence", "Moser, Kim, Mansour, Phys. Fluids 11, 943 (1999): spectral, Re_tau = 178.12")
def channel_turbulence(settings: Settings) -> Iterator:
    """Turbulence between plates, Re_tau 178: mean velocity, Reynolds stress, momentum; on a GPU in the whole box."""
    if settings.precision == HALF:
        raise Skipped(NOT_HALF)
    if settings.quick:
        yield _balance("mrt", averaged(QUICK, SCHEMES["mrt"], settings))
        yield TAKES_LONG
        return
    channel, found = FULL if settings.backend == "cuda" else SMALL, {}
    for name, scheme in SCHEMES.items():
        found[name] = averaged(channel, scheme, settings)
        yield from _rows(name, found[name], channel)
    y = np.linspace(0.5, RE_TAU, 300)
    for what, reference in zip(("U", *STRESSES), (mean_velocity(y), *reynolds_stress(y)), strict=True):
        computed = (Series(name, each.y, each.profile(what), "points") for name, each in found.items())
        series = (Series("Moser, Kim, Mansour", y, reference), *computed)
        yield Plot(f"{what}, wall units", "y+", what, series, log_x=what == "U")
    force = Series("force on what is above", (0.0, RE_TAU), (1.0, 0.0))
    stresses = [
        Series(name, 0.5 * (each.y[1:] + each.y[:-1]), each.total_stress, "points") for name, each in found.items()
    ]
    yield Plot("Viscous and Reynolds stress", "y+", "stress / u_tau^2", (force, *stresses))


def averaged(channel: Channel, scheme: Mapping, settings: Settings = DEFAULT) -> Profiles:
    """Averages of a channel that started from perturbed profiles; the first and the last sample count half.
    ``channel``: its size and times; ``scheme``: keys of ``[lattice]``."""
    simulation = started(channel, scheme, settings)
    n_intervals = round(channel.averaging * channel.samples)
    weights = np.full(n_intervals + 1, 1.0 / n_intervals)
    weights[[0, -1]] *= 0.5
    times = channel.development + np.arange(n_intervals + 1) / channel.samples
    samples = []
    for time in times:
        simulation.step(round(time * channel.turnover) - simulation.step_number)
        velocity = on_box(simulation, simulation.velocity_m_s())[:, 1:-1] / channel.friction_velocity
        samples.append(moments(velocity))
    means, products = (np.tensordot(weights, np.array(each), 1) for each in zip(*samples, strict=True))
    gain = (samples[-1][0] - samples[0][0]) / (times[-1] - times[0])
    return folded(means, products, gain)


def started(channel: Channel, scheme: Mapping, settings: Settings = DEFAULT) -> Simulation:
    """A channel with the published mean velocity and waves upon it."""
    size = {"length": channel.length, "height": 2 * channel.half_height, "width": channel.width}
    geometry, drive = {"shape": "channel", "options": size}, {"acceleration_m_s2": [channel.acceleration, 0.0, 0.0]}
    simulation = lattice_simulation(settings, geometry, channel.viscosity, lattice=scheme, flow=drive)
    simulation.set_velocity_m_s(channel.friction_velocity * initial_velocity(channel, simulation.nodes.coordinates()))
    return simulation


def initial_velocity(channel: Channel, coordinates: np.ndarray) -> np.ndarray:
    """(n, 3) velocity [u_tau] at voxels: the published mean, and waves that are free of divergence and 0 at the plates.

    A wave is the curl of (1 - y^2)^2 cos(k.x + phase) A, with y from the middle over delta.
    """
    random = np.random.default_rng(SEED)
    position = coordinates / channel.half_height
    position[:, 1] -= 1.0 + 0.5 / channel.half_height
    y = position[:, 1]
    envelope, slope = (1.0 - y**2) ** 2, -4.0 * y * (1.0 - y**2)
    box = np.array([channel.length, channel.width]) / channel.half_height
    most_x, most_z = (box / SHORTEST_WAVES).astype(int)
    waves = np.zeros_like(position)
    for _ in range(N_WAVES):
        along, across = random.integers(-most_x, most_x + 1), random.integers(1, most_z + 1)
        wave_number = np.pi * np.array([2.0 * along / box[0], random.integers(3), 2.0 * across / box[1]])
        potential, phase = random.normal(size=3), position @ wave_number + random.uniform(0.0, 2.0 * np.pi)
        waves -= np.outer(envelope * np.sin(phase), np.cross(wave_number, potential))
        waves += np.outer(slope * np.cos(phase), np.cross([0.0, 1.0, 0.0], potential))
    waves *= PERTURBATION / np.sqrt(np.mean(waves**2))
    waves[:, 0] += mean_velocity((1.0 - np.abs(y)) * RE_TAU)
    return waves


def moments(velocity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(ny, 3) means and (ny, 3, 3) mean products over the planes of a box (nz, ny, nx, 3)."""
    n = velocity.shape[0] * velocity.shape[2]
    return velocity.mean(axis=(0, 2)), np.einsum("zyxa,zyxb->yab", velocity, velocity) / n


def folded(means: np.ndarray, products: np.ndarray, gain: np.ndarray) -> Profiles:
    """Profiles from averages at the nodes of the whole height, wall units. ``means``, ``products``: (2 h, 3) and (2 h,
    3, 3) of the velocity; see :func:`moments`; ``gain``: (2 h, 3) of the mean velocity; see :class:`Profiles`."""
    h = len(means) // 2
    covariance = products - means[:, :, np.newaxis] * means[:, np.newaxis, :]
    mirrored = covariance[::-1] * np.outer(MIRROR, MIRROR)
    velocity, opposite = means[:h, 0], means[::-1, 0][:h]
    return Profiles(
        (np.arange(h) + 0.5) * RE_TAU / h,
        0.5 * (velocity + opposite),
        0.5 * (covariance + mirrored)[:h],
        0.5 * (gain[:h, 0] + gain[::-1, 0][:h]),
        float(np.abs(velocity - opposite).max()),
    )


def _rows(name: str, found: Profiles, channel: Channel) -> Iterator[Row]:
    is_compared = (found.y > BUFFER) & (found.y < channel.healthy)
    deviation = np.abs(found.velocity / mean_velocity(found.y) - 1.0)[is_compared]
    allowed = MEAN_TOLERANCE if name in JUDGED and channel.healthy == RE_TAU else np.inf
    velocity, bulk = f"{name}: mean velocity, y+ {BUFFER:g} to {channel.healthy:.0f}: ", float(found.velocity.mean())
    yield absolute(f"{velocity}mean deviation", 0.0, deviation.mean(), allowed)
    yield absolute(f"{velocity}largest deviation", 0.0, deviation.max(), np.inf)
    yield shown(f"{name}: bulk velocity / u_tau", bulk_velocity(), bulk)
    yield _balance(name, found)
    yield absolute(f"{name}: difference of the halves / bulk velocity", 0.0, found.asymmetry / bulk, np.inf)
    for what, reference in zip(STRESSES, reynolds_stress(found.y), strict=True):
        largest = np.abs(found.profile(what)).max()
        yield shown(f"{name}: largest {what} / u_tau^2", np.abs(reference).max(), largest)


def _balance(name: str, found: Profiles) -> Row:
    return absolute(f"{name}: imbalance of momentum / u_tau^2", 0.0, np.abs(found.imbalance).max(), BALANCE_TOLERANCE)

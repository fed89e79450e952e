"""Velocity profiles that change their shape with time, as a pulsating flow does in a straight vessel.

Every harmonic of the flow rate has the shape of the oscillating Stokes flow of its frequency
(:mod:`muphy_lb.boundaries.cross_section`), complex because it lags behind: with phi_k of mean 1 over the links,

    u(x, t) / U = r(t) phi_0(x) + sum_k Re[(c_k - i s_k) exp(i k w t) phi_k(x)],

where the waveform is mean + sum_k c_k cos(k w t) + s_k sin(k w t) and r(t) what its harmonics leave of it: so the flow
is that of the waveform at every instant.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from muphy_lb.boundaries.cross_section import CrossSection, cross_section
from muphy_lb.boundaries.waveform import FourierSeries, PeriodicSpline
from muphy_lb.domain import LinkRecords
from muphy_lb.geometry.nodes import NodeList, voxel_coordinates
from muphy_lb.lattice import Lattice
from muphy_lb.operators import link_momentum

MOST_HARMONICS = 40
TABLE_ERROR = 1e-3
"""Largest part of a table's range that its harmonics may leave to the steady profile."""
N_SAMPLES = 4096
"""Times of a period at which a table is analysed."""


@dataclass(frozen=True)
class Harmonics:
    """A waveform as a sum of harmonics and what they leave of it.

    Attributes:
        factor: the waveform.
        number: (K,) numbers k of the harmonics.
        amplitude: (K,) c_k - i s_k.
    """

    factor: FourierSeries | PeriodicSpline
    number: np.ndarray
    amplitude: np.ndarray

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
    """The shapes of an opening and their amplitudes in time.

    Attributes:
        steady: phi_0.
        oscillating: phi_k, complex, of mean 1 over the links of the opening.
        amplitudes: ``(time_s) -> (n, 2 K + 1)`` as of :meth:`Harmonics.columns`; None for a steady flow.
    """

    steady: SectionProfile
    oscillating: tuple[SectionProfile, ...] = ()
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

    Raises:
        InputError: the opening has no cross-section.
    """
    section = cross_section(nodes, lattice, links, frame)
    solve, (given, per_second) = section.solver(), waveform
    steady = SectionProfile(section, solve(0.0))
    if given is None or not given.number.size:
        return PulsatileProfile(steady, (), None if given is None else given.columns)
    momentum = link_momentum(lattice, links.q, np.broadcast_to(frame.normal, (links.n_links, 3)))
    midpoint = voxel_coordinates(links.voxel, nodes.shape) + 0.5 * lattice.c[links.q]
    shapes = []
    for frequency_rad_s in given.frequency_rad_s():
        values = solve(1j * frequency_rad_s / per_second)
        flow = momentum @ section.at(values, midpoint)
        shapes.append(SectionProfile(section, values * (frame.area / flow)))
    return PulsatileProfile(steady, tuple(shapes), given.columns)

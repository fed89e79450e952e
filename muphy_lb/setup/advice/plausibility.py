"""Warnings where a value of a case, or the flow that follows from it, is hardly meant.

Pulsating flow beside the sound in it: a lattice fluid is compressible, and a wave needs its time through a vessel.

Between an inlet of given flow and an outlet of given pressure, L apart, a wave of angular frequency w stands as
cos(w (L - x) / c_s): the flow at the outlet is 1 / cos(w L / c_s) times that at the inlet, and resonates where sound
takes a quarter of the period. So the share of the period that sound takes is to be small for each harmonic that counts.

Ahead of outlets with networks of impedance Z, all of them side by side, a vessel of volume V that is short beside the
waves stores fluid as a compliance C = V / (rho c_s^2) does, so that the outflow is 1 / (1 + i w C Z) of the inflow.

How a collision changes the viscosity of what a fast stream carries along.

In a stream of velocity u the viscosity that damps a wave of wave number k is not nu: on sets of one or two populations
along an axis it is smaller by 3 u^2 for all collisions but those in the frame of the fluid, and collisions that relax
odd moments with a rate s of their own change it besides by

    u^2 k^2 (1/s - 1/2) / (24 nu)

(lattice units), up for shear along the stream, down for shear across it. It was measured with decaying shear waves in
uniform streams: to a tenth as long as it is small; near 1 it falls behind. With Lambda = (1/s - 1/2) 3 nu it is 1/10 of
the square of u / (nu n), n the wavelength in voxels, for the usual Lambda of 3/16.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from muphy_lb.base.narrow import triple
from muphy_lb.base.precision import PRECISIONS
from muphy_lb.base.registry import offered, packages
from muphy_lb.base.units import CS2
from muphy_lb.boundaries.opening_geometry import PRESSURE, Condition, OpeningFrame
from muphy_lb.case.case import Case
from muphy_lb.case.usual import (
    DENSEST_GAS,
    PLACES,
    Setting,
    Usual,
    about,
    encloses_all,
    ends_before,
    is_far,
    outside,
    values_at,
    values_ending,
)
from muphy_lb.engine.boundary_links import SUM_SCALE
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.geometry.voxels import Opening
from muphy_lb.lattice.bases import BASES
from muphy_lb.operators import MRT, STOKES, TRT
from muphy_lb.operators.mrt import DEFAULT_RATES
from muphy_lb.operators.trt import MAGIC, MAGIC_HALF_WAY, odd_rate
from muphy_lb.setup.advice.expected_pressures import outlet_doubts
from muphy_lb.setup.advice.stability import MARGIN, collision_for_small_viscosity, time_step_key
from muphy_lb.setup.boundaries import lumped_outlets
from muphy_lb.setup.force import uniform_acceleration_m_s2
from muphy_lb.setup.geometry import opening_sections
from muphy_lb.setup.numerics import FLOW_KEYS, Numerics
from muphy_lb.setup.waveforms import other_periods, waveform_factor

MOST_STAIRS = 0.05
"""Expected error of the flow between half-way walls, one over the voxels across, from which it is told. Pipes of radius
2 to 20 voxels at random places of the grid, straight and along (1, 1, 0) to (2, 1, 1): 0.9 and 0.64 of that rms, 2.5
and 1.2 of it at most (benchmarks/notes/newcomers.md)."""

FEW_ACROSS = 8  # fewer voxels across an opening than these give no reliable profile, flow rate or wall shear

SMALLER = 0.85
"""Radius of a disc over that of the opening it makes, below which its rim of some voxels decides what is open."""


def resolution_warnings(openings: Sequence[Opening], frames: Sequence[OpeningFrame], spacing_m: float) -> Iterator[str]:
    """Warnings of openings with few voxels across them, and of those that are larger than their discs."""
    across = {opening.name: 2.0 * frame.radius for opening, frame in zip(openings, frames, strict=True)}
    few = {name: n for name, n in across.items() if n < FEW_ACROSS}
    if few:
        listed = ", ".join(f"{name} {n:.1f}" for name, n in few.items())
        finer_m = spacing_m * min(few.values()) / FEW_ACROSS
        yield (
            f"few voxels across openings: {listed}; {FEW_ACROSS} or more are needed to rely on the result:"
            f" geometry.spacing_m = {finer_m:.2g} or finer"
        )
    for opening, frame in zip(openings, frames, strict=True):
        radius_m = frame.radius * spacing_m
        if opening.radius_m < SMALLER * radius_m:
            yield (
                f"openings.{opening.name}: radius_m = {opening.radius_m:.4g} is less than what opens: a disc of radius"
                f" {radius_m:.4g} m, as discs reach some voxels beyond their rim; give that as radius_m, or a finer"
                " geometry.spacing_m if only a part of the end is to be open"
            )


def accuracy_of_stairs(openings: Sequence[Opening], frames: Sequence[OpeningFrame]) -> Iterator[str]:
    """A line on the error of the flow between half-way walls where they are stairs, if it is large."""
    across = {each.name: 2.0 * frame.radius for each, frame in zip(openings, frames, strict=True) if frame.is_round}
    name = min(across, key=across.__getitem__, default="")
    if name and MOST_STAIRS * across[name] < 1.0:
        yield (
            f"accuracy: half-way walls are stairs: in a round vessel of {across[name]:.1f} voxels across, as at {name},"
            " the flow that pressures drive, or the pressure drop of a given flow, is off by some"
            f" {100.0 / across[name]:.0f} %, rarely more than twice that, and by more where it is narrower; better are"
            " lattice.walls = 'bouzidi', if the geometry knows the place of its wall, or a finer geometry.spacing_m"
        )


def force_warnings(case: Case, header: GeometryHeader, conditions: Sequence[Condition], frames) -> Iterator[str]:
    """A warning of every opening with one pressure along which a uniform force acts, where a fluid at rest has more
    than one; ``conditions``, ``frames``: of all openings."""
    along = np.where(header.periodic, 0.0, case.flow.acceleration_m_s2)
    for opening, condition, frame in zip(header.openings, conditions, frames, strict=True):
        inside = float(np.linalg.norm(along - (along @ frame.normal) * frame.normal))
        if condition.kind == PRESSURE and inside > ALONG * float(np.linalg.norm(along)):
            across_pa = case.fluid.density_kg_m3 * inside * 2.0 * frame.radius * header.spacing_m
            yield (
                f"openings.{opening.name} has one pressure, and flow.acceleration_m_s2 acts along its plane: at rest"
                f" the fluid would have {across_pa:.3g} Pa more on one side of it than on the other, so that it"
                " circulates through the opening; in a vessel that is full of one fluid that part of the acceleration"
                " only adds rho a.x to the pressure: leave it out"
            )


def is_pushed(case: Case, header: GeometryHeader, conditions: Sequence[Condition]) -> bool:
    """Whether forces or pressures drive the flow, whatever velocities the case imposes beside them."""
    pressures = {each.value for each in conditions if each.kind == PRESSURE}
    by_force = uniform_acceleration_m_s2(case, header).any() or case.flow.not_uniform
    return len(pressures) > 1 or bool(by_force) or not all(kind.follows_darcy for kind in packages(case))


def slowness_warnings(case: Case, header: GeometryHeader, conditions: Sequence[Condition], numerics: Numerics):
    """Warnings of a drive that is so weak that rounding hides the flow; see :func:`force_warnings`. Flow rates are sums
    of whole numbers, and populations of a fluid at rest are wrong by some epsilons of double precision."""
    force = numerics.units.acceleration_to_lattice(float(np.linalg.norm(uniform_acceleration_m_s2(case, header))))
    pressures = [each.value for each in conditions if each.kind == PRESSURE]
    velocities = [abs(each.value) for each in conditions if each.kind != PRESSURE]
    driven = max(max(pressures, default=0.0) - min(pressures, default=0.0), *velocities, 0.0)
    epsilon = [float(np.finfo(real).eps) for real in (PRECISIONS[case.compute.precision].real, np.float64)]
    told = "a creeping flow is proportional to what drives it: give a stronger drive, or a longer time step"
    if 0.0 < driven < SLOWEST and not force:
        yield (
            f"openings drive the flow by at most {driven:.2g} voxels a step, or that change of the density, and flow"
            f" rates are counted in parts of that: from {SLOWEST:.0g} on they are right to a thousandth; {told}"
        )
    if 0.0 < force < math.prod(epsilon) / SLOW_SHARE and not driven:
        yield (
            f"the force changes the velocity by {force:.2g} voxels a step in every step, so little that rounding"
            f" errors of {case.compute.precision} hide the flow; {told}"
        )


def tilt_warnings(header: GeometryHeader, conditions: Sequence[Condition], frames) -> Iterator[str]:
    """A warning of every opening with a pressure that cuts its vessel too obliquely; see :func:`force_warnings`."""
    for opening, condition, frame in zip(header.openings, conditions, frames, strict=True):
        tilt_deg = math.degrees(math.acos(frame.cosine))
        if condition.kind == PRESSURE and tilt_deg > MOST_TILT_DEG:
            yield (
                f"openings.{opening.name} has a pressure on a plane that cuts its vessel at"
                f" {tilt_deg:.0f} degrees to a section across it; from {MOST_TILT_DEG:.0f} on"
                f" less flows there with inertia; give normal = {np.round(frame.along, 3).tolist()}"
            )


SLOW_SHARE = 1e-3  # error from which a weak drive gives a warning
SLOWEST = 1.0 / (SUM_SCALE * SLOW_SHARE)  # velocity [voxels a step] below which whole numbers of a link are that coarse
MOST_TILT_DEG = 40.0
ALONG = 1e-3  # share of the acceleration in the plane of an opening that counts: normals have a few digits
GAS_VISCOSITIES = 5e-6, 1.5e-4  # dynamic viscosities of gases [Pa s]: of light hydrocarbons, and of hot ones
LEAST_VISCOSITY = 2e-5  # dynamic viscosity [Pa s] below that of all but the coldest liquids
THICK = 2e-3  # kinematic viscosity [m2/s] of honey; a dynamic one of blood or oil in its place is above it
LAW_MARGIN = 3.0  # factor by which the typical viscosity of a fluid may lie outside those of its law
GRAVITY_ELSEWHERE = (9.81e-3, 981.0, 9810.0)  # gravity in km/s2, cm/s2 and mm/s2


def _is_light_and_viscous(density, setting: Setting) -> bool:
    if any(each.displacement is not None for each in packages(setting.case)):  # which are computed lighter
        return False
    viscosity = density * setting.case.fluid.viscosity_m2_s
    is_viscous = not GAS_VISCOSITIES[0] <= viscosity <= GAS_VISCOSITIES[1]
    return not setting.is_dimensionless and density < DENSEST_GAS and is_viscous


def _is_thin(_, setting: Setting) -> bool:
    density = setting.case.fluid.density_kg_m3
    viscosity = density * setting.case.fluid.viscosity_m2_s
    return not setting.is_dimensionless and density >= DENSEST_GAS and viscosity < LEAST_VISCOSITY


def _is_thick(viscosity, setting: Setting) -> bool:
    is_dense = setting.case.fluid.density_kg_m3 >= DENSEST_GAS
    return not setting.is_dimensionless and is_dense and viscosity > THICK


def _is_off_typical(law, setting: Setting) -> bool:
    plateaus = [value for name, value in law.model_dump().items() if name.endswith("viscosity_m2_s")]
    low, high = min(plateaus) / LAW_MARGIN, LAW_MARGIN * max(plateaus)
    is_bounded = len(plateaus) > 1
    return is_bounded and not low <= setting.case.fluid.viscosity_m2_s <= high


_IN_METRES_A_SECOND = "no fluid flows at {value} m/s past voxels that resolve it: check that it is in m/s"
_LAW = (
    "its viscosities and the typical one, fluid.kinematic_viscosity_m2_s, are far from each other: all are in m2/s, a"
    " dynamic viscosity [Pa s] by the density"
)
LOOKS = 3  # at a flow that is called steady: two changes
_GRAVITY = "this is the gravity of the earth in other units: in m/s2 it is 9.81"

USUAL = (
    Usual(
        "fluid.density_kg_m3",
        _is_light_and_viscous,
        "{value} kg/m3 is a density of gases, beside a viscosity that"
        " is none of theirs; water has 1000 kg/m3, and a number in g/cm3 is given as '1.06 g/cm3'",
    ),
    Usual("fluid.density_kg_m3", outside(1e-3, 3e4), "no fluid has {value} kg/m3: water has 1000"),
    Usual(
        "fluid.dynamic_viscosity_pa_s",
        _is_thin,
        "{value} Pa s is less than those of all liquids (water: 1e-3): a"
        " kinematic viscosity [m2/s] belongs in fluid.kinematic_viscosity_m2_s",
    ),
    Usual(
        "fluid.kinematic_viscosity_m2_s",
        _is_thin,
        "{value} m2/s is less than those of all liquids (water: 1e-6): check that it is in m2/s",
    ),
    Usual(
        "fluid.kinematic_viscosity_m2_s",
        _is_thick,
        "{value} m2/s is that of honey (water: 1e-6, blood: 3.3e-6): a"
        " dynamic viscosity [Pa s] belongs in fluid.dynamic_viscosity_pa_s",
    ),
    Usual("fluid.power_law", _is_off_typical, _LAW),
    Usual("fluid.carreau_yasuda", _is_off_typical, _LAW),
    Usual("fluid.casson", _is_off_typical, _LAW),
    Usual("flow.acceleration_m_s2", about(*GRAVITY_ELSEWHERE), _GRAVITY),
    Usual(
        "flow.turn.angle_rad",
        lambda angle, _: abs(angle) > 2.0 * math.pi,
        "{value} rad is more than a whole turn: an angle in degrees is given as '{value} deg'",
    ),
    Usual("geometry.spacing_m", outside(1e-10, 100.0), "voxels have no edge of {value} m: check its unit"),
    Usual("openings.*.velocity_m_s", outside(0.0, 100.0), _IN_METRES_A_SECOND),
    Usual("walls.*.velocity_m_s", outside(0.0, 100.0), _IN_METRES_A_SECOND),
    Usual(
        "openings.*.coronary.muscle_pressure.period_s",
        ends_before,
        "the run ends before one period of {value} s: check that it is in seconds",
    ),
    Usual(
        "run.frozen_after_s",
        ends_before,
        "the run ends before {value} s, and its flow is never frozen: check that it is in seconds",
    ),
    Usual(
        "run.steady_interval_steps",
        lambda interval, setting: setting.case.run.steady_tolerance is not None and LOOKS * interval > setting.steps,
        "three looks, one every {value} steps, tell whether a flow is steady, and the run ends before the third: look"
        " more often, or give more steps",
    ),
    Usual(
        "wall_regions.*.box_m",
        encloses_all,
        "the box holds the whole geometry, so that the region is the whole wall: check that it is in metres",
    ),
    Usual(
        "output.region_m",
        encloses_all,
        "the box holds the whole geometry, so that nothing is left out: check that it is in metres, or leave it out",
    ),
)
"""Rows of every case; those of a physics are in its ``section.py`` (``USUAL``)."""


def unusual_values(case: Case, header: GeometryHeader, duration_s: float, steps: int) -> Iterator[str]:
    """A sentence on every value of a case that is hardly meant. ``duration_s``, ``steps``: length of the run."""
    low = [middle - 0.5 * header.spacing_m for middle in header.origin_m]
    high = [end + n * header.spacing_m for end, n in zip(low, header.shape[::-1], strict=True)]
    setting = Setting(case, triple(low), triple(high), duration_s, steps)
    for row in dict.fromkeys((*USUAL, *offered("USUAL"))):
        for key, value in values_at(case, row.key):
            if row.is_unusual(value, setting):
                yield f"{key}: {row.text.format(value=_worded(value))}"
    for key, value in values_ending(PLACES, case):
        if is_far(value, setting):
            yield (
                f"{key} = {_worded(value)}: the geometry is {setting.size_m:.3g} m large, and this is far beyond it:"
                " check that it is in metres"
            )


def _worded(value) -> str:
    return f"{value:g}" if isinstance(value, float) else shown(value)


LARGEST_SWELL = 0.05  # share of the largest harmonic by which sound may change another one, or that one, on its way
RESONANT = 0.2  # share of a period from which on a wave is said to resonate
LISTED = 4  # harmonics whose shares are shown
N_SAMPLES = 400  # times in a period at which a waveform is looked at


def sound_warnings(case: Case, header: GeometryHeader, waves: Mapping, numerics: Numerics) -> Iterator[str]:
    """A warning of each waveform of an opening of which sound takes a noticeable share, with a time step that helps.

    Args:
        header: its geometry; sound goes at least from opening to opening, and through a bent vessel further.
        waves: the factors of the openings by their keys, with ``period_s``.
    """
    centres = [opening.centre_m for opening in header.openings]
    ways = [math.dist(a, b) / header.spacing_m for a, b in combinations(centres, 2)]
    n_voxels, units = round(max(ways, default=max(header.shape))), numerics.units
    sound_s = n_voxels / math.sqrt(CS2) * units.time_step_s
    for name, factor in waves.items():
        size = _harmonics(factor)
        share = np.arange(1, size.size + 1) * sound_s / factor.period_s
        allowed = np.sqrt(2.0 * LARGEST_SWELL * size.max() / np.maximum(size, 1e-30)) / (2.0 * math.pi)
        late = np.flatnonzero((share > allowed) & (size > LARGEST_SWELL * size.max()))
        if not late.size:
            continue
        slower = float((allowed[late] / share[late]).min())
        listed = ", ".join(f"{100.0 * share[k]:.2g} % of harmonic {k + 1}" for k in late[:LISTED])
        shorter = int(MARGIN * slower * n_voxels)
        cut_to = f", or cut the geometry to {shorter} voxels" if shorter >= FEW_ACROSS else ""
        more = f" and more of {late.size - LISTED} others" if late.size > LISTED else ""
        yield (
            f"{name}: sound takes {sound_s / units.time_step_s:,.0f} steps from opening to opening, {n_voxels} voxels,"
            f" which is {listed}{more} (of its period): {_effect(share[late])}; set"
            f" {_remedy(case, numerics, MARGIN * slower)}{cut_to}"
        )


def _harmonics(factor) -> np.ndarray:
    """Amplitudes of the first harmonics of a periodic factor."""
    values = factor(np.arange(N_SAMPLES) * (factor.period_s / N_SAMPLES))
    return np.abs(np.fft.rfft(values))[1 : N_SAMPLES // 4] * (2.0 / N_SAMPLES)


def storage_warnings(case: Case, header: GeometryHeader, frames, waves: Mapping, numerics: Numerics) -> Iterator[str]:
    """A warning of each waveform of a given flow of which the fluid stores a noticeable share ahead of outlets with
    networks, with a time step that helps; arguments as of :func:`sound_warnings`."""
    sections, units = opening_sections(header, case), numerics.units
    given = [name for s in sections if not s.has_pressure and (name := f"openings.{s.name}.waveform") in waves]
    if not given or not all(s.windkessel or s.coronary for s in sections if s.has_pressure):
        return
    outlets = lumped_outlets(case, header, frames, units, CS2)
    networks = [outlet.impedance for outlet in outlets if outlet is not None]
    if not networks:
        return
    stored = header.n_nodes * units.spacing_m**3 / units.pascals_per_density(CS2)
    for name in given:
        size, omega = _harmonics(waves[name]), 2.0 * math.pi / waves[name].period_s
        rate = omega * np.arange(1, size.size + 1)
        admittance = np.array([sum(1.0 / network.at(each) for network in networks) for each in rate], dtype=complex)
        missing = np.abs(1.0 / (1.0 + 1j * rate * stored / admittance) - 1.0)
        worst = int((missing * size).argmax())
        if missing[worst] * size[worst] > LARGEST_SWELL * size.max():
            shorter = math.sqrt(
                LARGEST_SWELL * size.max() * abs(admittance[worst]) / (rate[worst] * stored * size[worst])
            )
            yield (
                f"{name}: the fluid is compressible, which acts as a compliance of {stored:.3g} m3/Pa ahead of the"
                f" networks of the outlets: they miss, or get late, {100.0 * missing[worst]:.2g} % of harmonic"
                f" {worst + 1} of the flow; set {_remedy(case, numerics, MARGIN * shorter)}"
            )


def _effect(share: np.ndarray) -> str:
    worst = float(share.max())
    if worst >= RESONANT:
        return "the fluid resonates, so that phases and amplitudes inside differ from those of incompressible flow"
    swell = 1.0 / math.cos(2.0 * math.pi * worst) - 1.0
    return f"phases inside lag behind, and amplitudes are up to {100.0 * swell:.2g} % too large"


def _remedy(case: Case, numerics: Numerics, factor: float) -> str:
    """Settings with a shorter time step by a factor, for the same time."""
    units = replace(numerics.units, time_step_s=factor * numerics.units.time_step_s)
    key = time_step_key(case, units, numerics.reference_velocity_m_s, CS2)
    steps = f" and run.steps = {math.ceil(numerics.steps / factor)}" if case.run.steps is not None else ""
    return f"{key}{steps}"


EDDY = 16  # size [voxels] of the vortices for which it is shown

LARGEST_ERROR = 0.05

FLUX = "energy_flux"  # the odd family of mrt that counts, on sets that have it


def viscosity_error(rate: float, viscosity: float, speed: float, wavelength: float) -> float:
    """Relative change of the viscosity of a shear wave by the rate of the odd moments; lattice units. ``speed``: of the
    stream [voxels a step]."""
    wave_number = 2.0 * math.pi / wavelength
    return (speed * wave_number) ** 2 * (1.0 / rate - 0.5) / (24.0 * viscosity)


def rate_of_odd_moments(case: Case, relaxation_time: float) -> float | None:
    """The rate of the odd moments of a collision that has one of its own; None of others."""
    section = case.lattice
    given = section.model_extra or {}
    by_magic = odd_rate(1.0 / relaxation_time, given.get(MAGIC, MAGIC_HALF_WAY))
    if section.collision == TRT.name:
        return by_magic
    if section.collision != MRT.name:
        return None
    rates = ({} if MAGIC in given else DEFAULT_RATES[section.name]) | given.get("rates", {})
    rate = rates.get(FLUX, "magic") if FLUX in BASES[section.name].families else "magic"
    return {"magic": by_magic, "viscosity": 1.0 / relaxation_time}.get(rate, rate)


def stream_warnings(case: Case, numerics: Numerics) -> Iterator[str]:
    """A warning where the fastest flow of a case changes the viscosity of vortices that it carries along."""
    section, nu = case.lattice, numerics.viscosity_lattice
    rate = rate_of_odd_moments(case, numerics.relaxation_time)
    if rate is None or numerics.cell_reynolds is None or section.equilibrium == STOKES.name or section.smagorinsky:
        return
    speed = numerics.cell_reynolds * nu
    error = viscosity_error(rate, nu, speed, EDDY)
    if error > LARGEST_ERROR:
        by = f"by about {100.0 * error:.2g} %" if error < 0.5 else "by half or more"
        yield (
            f"the flow is fast beside its viscosity: where it has the largest velocity, {speed:.2g} voxels a step,"
            f" {section.collision} changes the viscosity of vortices of {EDDY} voxels {by}; set lattice.collision ="
            f" {collision_for_small_viscosity(section.name, section.equilibrium)!r}, or finer voxels"
        )


WHOLE = 0.99  # share of a period that counts as all of it: a run has a whole number of steps
ROUNDING = 1e-9  # mean of a waveform over its largest value below which it is 0
FEW_STEPS = 20  # fewer steps than these do not follow a period

USUAL_FACTORS = (0.1, 10.0)
"""Bounds of the largest factor of a waveform; a table of velocities in place of factors is usually outside."""


def plausibility(case: Case, header: GeometryHeader, frames, numerics: Numerics) -> list[str]:
    """Lines on the waveforms of a case, and warnings of values, openings and waveforms that are hardly meant. Raises
    InputError: the table of a waveform cannot be read."""
    lines, means = [], {}
    duration_s = numerics.steps * numerics.units.time_step_s
    factors = {key: waveform_factor(case, section) for key, section in case.waveforms.items()}
    waves = {key: factor for key, factor in factors.items() if factor}
    for name, factor in waves.items():
        times_s = np.arange(N_SAMPLES) * (factor.period_s / N_SAMPLES)
        values = factor(times_s)
        largest = float(np.abs(values).max())
        means[name] = float(values.mean()) if abs(values.mean()) > ROUNDING * largest else 0.0
        lines.append(
            f"{name}: period {factor.period_s:.4g} s, factors {values.min():.4g} to {values.max():.4g}, mean"
            f" {means[name]:.4g}; the run of {duration_s:.4g} s covers {duration_s / factor.period_s:.3g} periods"
        )
        of_wave = _doubts(name, factor.period_s, largest, duration_s, numerics.units.time_step_s)
        lines += [f"warning: {text}" for text in of_wave]
        if case.run.periodic_tolerance and WHOLE <= duration_s / factor.period_s < 1.0 + WHOLE:
            lines.append(
                f"warning: run.periodic_tolerance compares whole periods, and the run has one: give run.time_s ="
                f" {4.0 * factor.period_s:.4g} or more"
            )
    others = other_periods(case)
    doubts = (
        *_against_their_kind(case, header.openings, means),
        *unusual_values(case, header, duration_s, numerics.steps),
        *outlet_doubts(case, header, frames, numerics),
        *sound_warnings(case, header, {k: w for k, w in waves.items() if k.startswith("openings.")}, numerics),
        *storage_warnings(case, header, frames, waves, numerics),
        *stream_warnings(case, numerics),
        *(f"{told}: means over the last period are not those of a flow that repeats itself" for told in others),
    )
    return lines + [f"warning: {text}" for text in doubts]


def _doubts(name: str, period_s: float, largest: float, duration_s: float, time_step_s: float) -> Iterator[str]:
    if duration_s < WHOLE * period_s:
        yield (
            f"{name}: the run of {duration_s:.4g} s ends before one period of {period_s:.4g} s; give run.time_s ="
            f" {2.0 * period_s:.4g} or more, in place of run.steps, or check that the period is in seconds"
        )
    if period_s < FEW_STEPS * time_step_s:
        yield (
            f"{name}: its period of {period_s:.4g} s has {period_s / time_step_s:.3g} time steps, fewer than"
            f" {FEW_STEPS}; check that it is in seconds, or set lattice.time_step_s = {period_s / 1000.0:.2g} or less"
        )
    low, high = USUAL_FACTORS
    if not low <= largest <= high:
        yield (
            f"{name}: its largest factor is {largest:.4g}, usually {low:g} to {high:g}; it multiplies the value of the"
            " case: if it holds the values themselves, divide them by their mean, and give the mean as that value"
        )


def _against_their_kind(case: Case, openings: Iterable[Opening], means: Mapping[str, float]) -> Iterator[str]:
    """A text for every inlet through which fluid leaves, and outlet through which it enters."""
    sections = {section.name: section for section in case.openings}
    for opening in openings:
        section = sections[opening.name]
        key = next((key for key in FLOW_KEYS if getattr(section, key) is not None), None)
        mean = means.get(f"openings.{opening.name}.waveform", 1.0)
        net = 0.0 if key is None else getattr(section, key) * mean
        if key is None or net == 0.0 or (opening.kind == "inlet") == (net > 0.0):
            continue
        times = "" if mean > 0.0 else f" times {mean:.4g}, the mean of its waveform,"
        way, sign, other = ("leaves", "positive", "outlet") if net < 0.0 else ("enters", "negative", "inlet")
        # Where the geometry brings the opening it brings its kind as well, and a key would change nothing.
        meant = "" if section.centre_m is None else f" or, if it is meant, set kind = '{other}'"
        yield (
            f"openings.{opening.name}: fluid {way} by this {opening.kind}, as {key} = {getattr(section, key):g}{times}"
            f" counts along the normal, which points into the fluid; make it {sign}{meant}"
        )

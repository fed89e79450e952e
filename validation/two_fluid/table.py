"""Two fluids against exact numbers: the pressure of Laplace, layers and annuli that slide past each other, contact
angles, the pressure that holds a meniscus in a slit, and how fast one imbibes (Washburn, Phys. Rev. 17, 273 (1921))."""

from collections.abc import Iterator

import numpy as np

from muphy_lb.measure.flow_view import on_root, whole_nodes
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Settings, Skipped, absolute, case, relative
from muphy_lb.validation.flows import lattice_simulation
from muphy_lb.validation.limits import HALF

NU, TENSION = 0.1, 0.01
RADII, QUICK_RADII, PRESSURE_TOLERANCE, SPURIOUS = (8.0, 12.0, 16.0, 24.0), (8.0, 12.0), 0.02, 1e-3
SETTLED_STEPS, BOX, PURE = 6000, 4, 0.9999
RATIOS, QUICK_RATIOS, HEIGHT, SLIDING_STEPS, SLIDING_TOLERANCE = (100.0, 10.0, 1.0, 0.1), (10.0,), 40, 60000, 0.02
ANGLES, QUICK_ANGLES, DROP, WETTING_STEPS, ANGLE_TOLERANCE = (30.0, 60.0, 90.0, 120.0, 150.0), (90.0,), 16.0, 16000, 3.0
TUBE, DRIVEN_STEPS, ANNULAR_TOLERANCE = 16.0, 12000, 0.03
SLIT, SLIT_LENGTH, SLIT_TOLERANCE, AROUND = 12, 60, 0.03, (0.97, 1.03)
SLIT_ANGLES, QUICK_SLIT_ANGLES = (30.0, 60.0, 120.0), (60.0,)
FILLED, QUICK_FILLED, IMBIBING_RATIOS, IMBIBING_ANGLE = 20.0, 6.0, (1.0, 0.2, 5.0), 60.0
MENISCUS_STEPS = 4000  # by which it has its shape
NEAREST = 2.0  # to the wall, whose forces bend it, that the interface is measured


@case("two-fluid-drop", "Laplace: pressure over curvature of a drop at rest, two dimensions")
def drop(settings: Settings) -> Iterator:
    """The pressure, its slope over the curvature of the line where the phase is 0, and speeds left."""
    _refuse(settings)
    curvature, rise = [], []
    for radius in QUICK_RADII if settings.quick else RADII:
        size = int(BOX * radius)
        box = {"shape": "random_solid", "options": {"shape_zyx": [1, size, size], "porosity": 1.0}}
        centre = (size - 1) / 2.0
        flow = _two(settings, box, [{"centre_m": [centre, centre, 0.0], "radius_m": radius}])
        flow.step(int(SETTLED_STEPS * (radius / RADII[1]) ** 2))
        phase, density = _phase(flow), on_root(flow.density())
        curvature.append(1.0 / circle(*interface(phase.reshape(size, size)))[2])
        rise.append((density[phase < -PURE].mean() - density[phase > PURE].mean()) / 3.0)
        found = rise[-1] / (curvature[-1] * TENSION)
        yield relative(f"R = {radius:g}: pressure times radius over tension", 1.0, found, PRESSURE_TOLERANCE)
        spurious = flow.health().max_speed * NU / TENSION
        yield absolute(f"R = {radius:g}: capillary number at rest", 0.0, spurious, SPURIOUS)
    slope = np.polyfit(curvature, rise, 1)[0] / TENSION
    yield relative("slope of the pressure over the curvature, over the tension", 1.0, slope, PRESSURE_TOLERANCE)


@case("two-fluid-layers", "exact: flow of a core between films on the walls of a channel, driven by a force")
def layers(settings: Settings) -> Iterator:
    """The flow of the core over that of the whole channel with its fluid, mu of the core over that of the films M."""
    _refuse(settings)
    for ratio in QUICK_RATIOS if settings.quick else RATIOS:
        own, drive, quarter = NU * ratio**0.5, 1e-7, HEIGHT / 4
        channel = {"shape": "channel", "options": {"length": 3, "height": HEIGHT, "width": 1}}
        films = [
            {"box_m": [[-9.0, -9.0, -9.0], [9.0, 0.5 + quarter, 9.0]]},
            {"box_m": [[-9.0, 0.5 + 3.0 * quarter, -9.0], [9.0, 999.0, 9.0]]},
        ]
        force = {"acceleration_m_s2": [drive, 0.0, 0.0]}
        flow = _two(settings, channel, films, own, own / ratio, flow=force)
        flow.step(int(SLIDING_STEPS * max(1.0, ratio / 30.0)))
        share, u = 0.5 + 0.5 * _phase(flow), on_root(flow.velocity_m_s())[:, 0]
        found = (share * u).sum() / 3.0 / (drive * HEIGHT**3 / 12.0 / own)
        s = share.mean()
        expected = s * (1.5 * ratio + s**2 * (1.0 - 1.5 * ratio))
        yield relative(f"M = {ratio:g}: flow of the core", expected, found, SLIDING_TOLERANCE)


@case("two-fluid-angle", "geometry: a drop on a wall is a segment of a circle, two dimensions")
def angle(settings: Settings) -> Iterator:
    """The contact angle through the fluid around the drop."""
    _refuse(settings)
    for degrees in QUICK_ANGLES if settings.quick else ANGLES:
        length, height = int(6 * DROP), int(3 * DROP)
        channel = {"shape": "channel", "options": {"length": length, "height": height, "width": 1}}
        drop_on_wall = [{"centre_m": [(length - 1) / 2.0, 0.5, 0.0], "radius_m": DROP}]
        flow = _two(settings, channel, drop_on_wall, angle=degrees)
        flow.step(WETTING_STEPS)
        phase, place = _phase(flow), whole_nodes(flow).coordinates()
        box = np.zeros((height, length))
        box[place[:, 1] - place[:, 1].min(), place[:, 0] - place[:, 0].min()] = phase
        yield absolute(f"{degrees:g} degrees", degrees, contact_angle(box), ANGLE_TOLERANCE)


@case("two-fluid-annulus", "exact: flow of a core in a film on the wall of a round tube, driven by a force")
def annulus(settings: Settings) -> Iterator:
    """Relative permeabilities of core and film, mu of the core over that of the film M, half of the tube for each."""
    _refuse(settings)
    for ratio in QUICK_RATIOS if settings.quick else RATIOS:
        core, drive = NU * ratio**0.5, 1e-7
        pipe = {"shape": "pipe", "options": {"length": 1, "radius": TUBE, "axis": "z", "ends": "periodic"}}
        inside = [{"centre_m": [TUBE, TUBE, 0.0], "radius_m": TUBE / 2**0.5}]
        tables = {"flow": {"acceleration_m_s2": [0.0, 0.0, drive]}, "lattice": {"name": "D3Q19"}}
        flow = _two(settings, pipe, inside, core / ratio, core, **tables)
        flow.step(int(DRIVEN_STEPS * max(1.0, ratio / 30.0)))
        share, u = 0.5 - 0.5 * _phase(flow), on_root(flow.velocity_m_s())[:, 2]
        alone, s = drive * share.size**2 / (8.0 * np.pi), share.mean()
        for name, part, viscosity, expected in (
            ("core", share, core, 2.0 * ratio * s + (1.0 - 2.0 * ratio) * s**2),
            ("film", 1.0 - share, core / ratio, (1.0 - s) ** 2),
        ):
            found = (part * u).sum() * viscosity / alone
            yield relative(f"M = {ratio:g}: {name}", expected, found, ANNULAR_TOLERANCE)


@case("two-fluid-entry", "exact: 2 sigma cos(theta) / H holds a meniscus in a slit")
def entry(settings: Settings) -> Iterator:
    """The pressure at which a meniscus rests, from its speeds at pressures below and above the exact one."""
    _refuse(settings)
    for degrees in QUICK_SLIT_ANGLES if settings.quick else SLIT_ANGLES:
        exact, speeds = 2.0 * TENSION * np.cos(np.deg2rad(degrees)) / SLIT, []
        for times in AROUND:
            flow = _slit(settings, degrees, SLIT_LENGTH / 2.0, NU, NU, times * exact)
            flow.step(MENISCUS_STEPS)
            before = _filled(flow)
            flow.step(MENISCUS_STEPS)
            speeds.append((_filled(flow) - before) / MENISCUS_STEPS)
        rests = AROUND[0] + (AROUND[1] - AROUND[0]) * speeds[0] / (speeds[0] - speeds[1])
        yield relative(f"{degrees:g} degrees: pressure over the exact one", 1.0, rests, SLIT_TOLERANCE)


@case("two-fluid-imbibition", "Washburn: (mu_w x + mu_n (L - x)) dx/dt = sigma H cos(theta) / 6 in a slit")
def imbibition(settings: Settings) -> Iterator:
    """How far the wetting fluid gets in the steps of the exact solution, mu of it over that of the other one M."""
    _refuse(settings)
    distance = QUICK_FILLED if settings.quick else FILLED
    for ratio in IMBIBING_RATIOS[: 1 if settings.quick else None]:
        wets, other = NU * ratio**0.5, NU / ratio**0.5
        drive = TENSION * SLIT * np.cos(np.deg2rad(IMBIBING_ANGLE)) / 6.0
        flow = _slit(settings, IMBIBING_ANGLE, SLIT_LENGTH / 4.0, wets, other, 0.0)
        flow.step(MENISCUS_STEPS)
        start = _filled(flow)
        end = start + distance
        exact = (0.5 * (wets - other) * (end**2 - start**2) + other * SLIT_LENGTH * distance) / drive
        flow.step(round(exact))
        yield relative(f"M = {ratio:g}: voxels", distance, _filled(flow) - start, SLIT_TOLERANCE)


def _slit(settings: Settings, degrees: float, filled: float, nu: float, other: float, pressure: float) -> Solver:
    """A slit between openings with the first fluid in its beginning and a pressure at its end, where the second is."""
    channel = {"shape": "channel", "options": {"length": SLIT_LENGTH, "height": SLIT, "width": 1, "ends": "open"}}
    ends = [{"name": "inlet", "pressure_pa": 0.0}, {"name": "outlet", "pressure_pa": pressure, "second_fluid": 1.0}]
    rest = [{"box_m": [[filled - 0.5, -9.0, -9.0], [999.0, 999.0, 9.0]]}]
    return _two(settings, channel, rest, nu, other, degrees, openings=ends)


def _filled(flow: Solver) -> float:
    """Length of a slit that the first fluid fills."""
    return float((0.5 + 0.5 * _phase(flow)).sum()) / SLIT


def interface(phase: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places x, y [voxels] where the phase of a plane (ny, nx) is 0 between neighbours of a row or of a column."""
    places = []
    for plane in (phase, phase.T):
        row, k = np.nonzero(plane[:, :-1] * plane[:, 1:] < 0.0)
        before, after = plane[row, k], plane[row, k + 1]
        places.append((k + before / (before - after), row))
    return np.concatenate([places[0][0], places[1][1]]), np.concatenate([places[0][1], places[1][0]])


def circle(x: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Centre and radius of the circle of least squares through points."""
    columns = np.column_stack([2.0 * x, 2.0 * y, np.ones(x.size)])
    x_0, y_0, rest = np.linalg.lstsq(columns, x**2 + y**2, rcond=None)[0]
    return x_0, y_0, np.sqrt(rest + x_0**2 + y_0**2)


def contact_angle(phase: np.ndarray) -> float:
    """Angle [degrees] outside of the circle through the interface of a plane (ny, nx), at a wall half a voxel below."""
    x, y = interface(phase)
    _, height, radius = circle(x[y >= NEAREST], y[y >= NEAREST] + 0.5)
    return float(np.degrees(np.arccos(np.clip(height / radius, -1.0, 1.0))))


def _two(settings: Settings, geometry, second, nu=NU, other=NU, angle=90.0, **tables) -> Solver:
    """Two fluids at rest, the second one in some regions."""
    two_fluid = {"interfacial_tension_n_m": TENSION, "kinematic_viscosity_m2_s": other, "contact_angle_deg": angle}
    return lattice_simulation(settings, geometry, nu, two_fluid=two_fluid | {"second": second}, **tables)


def _phase(flow: Solver) -> np.ndarray:
    return on_root(flow.field("phase")).astype(np.float64)


def _refuse(settings: Settings) -> None:
    if settings.precision == HALF:
        raise Skipped("two fluids need more digits than fp16 has")


CASES = (drop, layers, annulus, angle, entry, imbibition)

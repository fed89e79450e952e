"""Two fluids against exact numbers: the pressure of Laplace, layers that slide past each other, contact angles."""

from collections.abc import Iterator

import numpy as np

from muphy_lb.measure.flow_view import on_root, whole_nodes
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Settings, Skipped, absolute, case, relative, shown
from muphy_lb.validation.flows import lattice_simulation
from muphy_lb.validation.limits import HALF

NU, TENSION = 0.1, 0.01
RADII, QUICK_RADII, WIDTHS, SPURIOUS = (8.0, 12.0, 16.0, 24.0), (8.0, 12.0), 4.0, 1e-3
SETTLED_STEPS, BOX = 6000, 4
# The error of the pressure may be WIDTHS / R^2.
RATIOS, QUICK_RATIOS, HEIGHT, SLIDING_STEPS, SLIDING_TOLERANCE = (100.0, 10.0, 1.0, 0.1), (10.0,), 40, 60000, 0.02
ANGLES, QUICK_ANGLES, DROP, WETTING_STEPS, ANGLE_TOLERANCE = (30.0, 60.0, 90.0, 120.0, 150.0), (90.0,), 16.0, 16000, 3.0


@case("two-fluid-drop", "Laplace: pressure over curvature of a drop at rest, two dimensions")
def drop(settings: Settings) -> Iterator:
    """The pressure, to second order in the width of the interface, its slope over the curvature, and speeds left."""
    _refuse(settings)
    curvature, rise = [], []
    for radius in QUICK_RADII if settings.quick else RADII:
        size = int(BOX * radius)
        box = {"shape": "random_solid", "options": {"shape_zyx": [1, size, size], "porosity": 1.0}}
        centre = (size - 1) / 2.0
        flow = _two(settings, box, [{"centre_m": [centre, centre, 0.0], "radius_m": radius}])
        flow.step(int(SETTLED_STEPS * (radius / RADII[1]) ** 2))
        phase, density = _phase(flow), on_root(flow.density())
        curvature.append(np.sqrt(np.pi / np.count_nonzero(phase < 0.0)))
        rise.append((density[phase < -0.99].mean() - density[phase > 0.99].mean()) / 3.0)
        found = rise[-1] / (curvature[-1] * TENSION)
        yield relative(f"R = {radius:g}: pressure times radius over tension", 1.0, found, WIDTHS / radius**2)
        spurious = flow.health().max_speed * NU / TENSION
        yield absolute(f"R = {radius:g}: capillary number at rest", 0.0, spurious, SPURIOUS)
    slope = np.polyfit(curvature, rise, 1)[0]
    yield shown("slope of the pressure over the curvature, over the tension", 1.0, slope / TENSION)


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


def contact_angle(phase: np.ndarray) -> float:
    """Angle [degrees] outside of the circle through the interface of a plane (ny, nx), at a wall half a voxel below."""
    row, k = np.nonzero(phase[2:, :-1] * phase[2:, 1:] < 0.0)
    left, right = phase[row + 2, k], phase[row + 2, k + 1]
    x, y = k + left / (left - right), row + 2.5
    fit = np.linalg.lstsq(np.column_stack([2.0 * x, 2.0 * y, np.ones(x.size)]), x**2 + y**2, rcond=None)[0]
    radius = np.sqrt(fit[2] + fit[0] ** 2 + fit[1] ** 2)
    return float(np.degrees(np.arccos(np.clip(fit[1] / radius, -1.0, 1.0))))


def _two(settings: Settings, geometry, second, nu=NU, other=NU, angle=90.0, **tables) -> Solver:
    """Two fluids at rest, the second one in some regions."""
    two_fluid = {"interfacial_tension_n_m": TENSION, "kinematic_viscosity_m2_s": other, "contact_angle_deg": angle}
    return lattice_simulation(settings, geometry, nu, two_fluid=two_fluid | {"second": second}, **tables)


def _phase(flow: Solver) -> np.ndarray:
    return on_root(flow.field("phase")).astype(np.float64)


def _refuse(settings: Settings) -> None:
    if settings.precision == HALF:
        raise Skipped("two fluids need more digits than fp16 has")


CASES = (drop, layers, angle)

"""Two fluids against exact numbers: the pressure of Laplace, layers and annuli that slide past each other, contact
angles, the pressure that holds a meniscus in a slit, and how fast one imbibes (Washburn, Phys. Rev. 17, 273 (1921))
with the angle of a moving contact line (Cox, J. Fluid Mech. 168, 169 (1986))."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from muphy_lb.measure.flow_view import on_root, whole_nodes
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Settings, absolute, case, relative
from muphy_lb.validation.flows import lattice_simulation
from muphy_lb.validation.two_fluid import drainage, pores, starts, throats
from muphy_lb.validation.two_fluid.common import NU, flows_of, phase_of, refuse_half

TENSION = 0.01
RADII, QUICK_RADII, PRESSURE_TOLERANCE, SPURIOUS = (8.0, 12.0, 16.0, 24.0), (8.0, 12.0), 0.02, 1e-3
SETTLED_STEPS, BOX, PURE = 6000, 4, 0.9999
RATIOS, QUICK_RATIOS = (340.0, 100.0, 10.0, 1.0, 0.1, 0.01, 1.0 / 340.0), (10.0,)
HEIGHT, SLIDING_STEPS, FAR_APART = 40, 60000, 0.06  # the mean viscosity of fluids whose ratio is beyond 100
SLIDING_TOLERANCE, THINNEST_TOLERANCE = 0.02, 0.05
ANGLES, QUICK_ANGLES, DROP, WETTING_STEPS, ANGLE_TOLERANCE = (30.0, 60.0, 90.0, 120.0, 150.0), (90.0,), 16.0, 16000, 3.0
TUBE, DRIVEN_STEPS, ANNULAR_TOLERANCE = 16.0, 12000, 0.03
QUICK_TUBES = ((16.0, 10.0),)
TUBES = (12.0, 10.0), (16.0, 100.0), *QUICK_TUBES, (24.0, 10.0), *((16.0, each) for each in (1.0, 0.1, 0.01))
THIN_TUBE = 24.0, 1.0 / 340.0
SLIT, SLIT_TOLERANCE, AROUND = 12, 0.03, (0.97, 1.03)
ENTRIES, QUICK_ENTRIES = ((30.0, 12), (60.0, 12), (120.0, 12), (30.0, 24), (60.0, 24)), ((60.0, 12),)
RISES, ABOUT = ENTRIES[:2] + ENTRIES[3:], (0.9, 1.1)
SLITS = ((12, 60, 1.0, 20.0), (12, 240, 1.0, 20.0), (24, 120, 1.0, 20.0), (12, 60, 0.2, 20.0), (12, 60, 5.0, 20.0))
QUICK_SLITS, IMBIBING_ANGLE = ((12, 60, 1.0, 6.0),), 60.0
SLIP = 0.75  # voxels, by which the contact line slips: from the shapes of moving menisci
MENISCUS = 2.8  # of Ca (1 + mu_n / mu_w), what a moving meniscus has less than the friction of Poiseuille around it
#: Distance of the walls, mu of the fluid that advances over that of the other one, capillary number.
MOVING = ((12, 1.0, 0.017), (12, 0.2, 0.0076), (12, 0.2, 0.017), (12, 5.0, 0.038), (24, 1.0, 0.017))
QUICK_MOVING = ((12, 1.0, 0.017),)
CURVED, CURVED_STEPS, QUICK_CURVED, PLACES = 14.0, 10000, ((60.0, "cavity", 90.0),), (90.0, 67.5, 45.0)
EVERY_CURVED = [(degrees, walls, at) for walls in ("disk", "cavity") for degrees in (60.0, 120.0) for at in PLACES]
BLOBS, REST_STEPS, QUICK_REST_STEPS, NO_FILM = (4.0, 6.0), 100000, 5000, 0.1
FILM_NU, FILM_TENSION, FILM_TOLERANCE = 0.3, 0.05, 0.10
FILMS, QUICK_FILMS = ((7.5e-6, 30000), (1.5e-5, 13000), (3e-5, 13000)), ((1.5e-5, 13000),)  # force, steps
MENISCUS_STEPS = 4000  # by which it has its shape
NEAREST = 2.0  # to the wall, whose forces bend it, that the interface is measured


@case("two-fluid-drop", "Laplace: pressure over curvature of a drop at rest, two dimensions")
def drop(settings: Settings) -> Iterator:
    """The pressure, its slope over the curvature of the line where the phase is 0, and speeds left."""
    refuse_half(settings)
    curvature, rise = [], []
    for radius in QUICK_RADII if settings.quick else RADII:
        size = int(BOX * radius)
        box = {"shape": "random_solid", "options": {"shape_zyx": [1, size, size], "porosity": 1.0}}
        centre = (size - 1) / 2.0
        flow = _two(settings, box, [{"centre_m": [centre, centre, 0.0], "radius_m": radius}])
        flow.step(int(SETTLED_STEPS * (radius / RADII[1]) ** 2))
        phase, density = phase_of(flow), on_root(flow.density())
        curvature.append(1.0 / circle(*interface(phase.reshape(size, size)))[2])
        rise.append((density[phase < -PURE].mean() - density[phase > PURE].mean()) / 3.0)
        found = rise[-1] / (curvature[-1] * TENSION)
        yield relative(f"R = {radius:g}: pressure times radius over tension", 1.0, found, PRESSURE_TOLERANCE)
        spurious = flow.health().max_speed * NU / TENSION
        yield absolute(f"R = {radius:g}: capillary number at rest", 0.0, spurious, SPURIOUS)
    slope = np.polyfit(curvature, rise, 1)[0] / TENSION
    yield relative("slope of the pressure over the curvature, over the tension", 1.0, slope, PRESSURE_TOLERANCE)


def _mean_viscosity(ratio: float) -> float:
    """Geometric mean of both viscosities, by which the thicker fluid has a relaxation time that is allowed."""
    return NU if 0.01 <= ratio <= 100.0 else FAR_APART


@case("two-fluid-layers", "exact: flow of a core between films on the walls of a channel, driven by a force")
def layers(settings: Settings) -> Iterator:
    """The flows of core and films over those of the whole channel with either; M = mu of the core over the films'."""
    refuse_half(settings)
    for ratio in QUICK_RATIOS if settings.quick else RATIOS:
        own, drive, quarter = _mean_viscosity(ratio) * ratio**0.5, 1e-7, HEIGHT / 4
        channel = {"shape": "channel", "options": {"length": 3, "height": HEIGHT, "width": 1}}
        films = [
            {"box_m": [[-9.0, -9.0, -9.0], [9.0, 0.5 + quarter, 9.0]]},
            {"box_m": [[-9.0, 0.5 + 3.0 * quarter, -9.0], [9.0, 999.0, 9.0]]},
        ]
        force = {"acceleration_m_s2": [drive, 0.0, 0.0]}
        flow = _two(settings, channel, films, own, own / ratio, flow=force)
        flow.step(int(SLIDING_STEPS * max(1.0, ratio / 30.0, 0.01 / ratio)))
        s, (core, film) = float((0.5 + 0.5 * phase_of(flow)).mean()), flows_of(flow)
        alone = 3.0 * drive * HEIGHT**3 / 12.0 / own
        within = SLIDING_TOLERANCE if 0.02 < ratio < 50.0 else THINNEST_TOLERANCE
        expected = s * (1.5 * ratio + s**2 * (1.0 - 1.5 * ratio))
        yield relative(f"M = {ratio:g}: flow of the core", expected, core[0] / alone, within)
        expected, found = (1.0 - s) ** 2 * (2.0 + s) / 2.0, film[0] / ratio / alone
        yield relative(f"M = {ratio:g}: flow of the films", expected, found, within)


@case("two-fluid-angle", "geometry: a drop on a wall is a segment of a circle, two dimensions")
def angle(settings: Settings) -> Iterator:
    """The contact angle through the fluid around the drop, which starts in its exact shape."""
    refuse_half(settings)
    for degrees in QUICK_ANGLES if settings.quick else ANGLES:
        sine, cosine = np.sin(np.deg2rad(degrees)), np.cos(np.deg2rad(degrees))
        radius = DROP * np.sqrt(0.5 * np.pi / (np.pi - np.deg2rad(degrees) + sine * cosine))
        length, height = int(2.0 * radius + 2.5 * DROP), int(radius * (1.0 + cosine) + DROP)
        channel = {"shape": "channel", "options": {"length": length, "height": height, "width": 1}}
        drop_on_wall = [{"centre_m": [(length - 1) / 2.0, 0.5 + radius * cosine, 0.0], "radius_m": radius}]
        flow = _two(settings, channel, drop_on_wall, angle=degrees)
        flow.step(WETTING_STEPS)
        phase, place = phase_of(flow), whole_nodes(flow).coordinates()
        box = np.zeros((height, length))
        box[place[:, 1] - place[:, 1].min(), place[:, 0] - place[:, 0].min()] = phase
        yield absolute(f"{degrees:g} degrees", degrees, contact_angle(box), ANGLE_TOLERANCE)


@case("two-fluid-curved-walls", "geometry: a drop on a disk and one in a round cavity meet them as circles, 2-D")
def curved_walls(settings: Settings) -> Iterator:
    """The contact angle through the fluid around the drop, from the circles of its interface and of the wall.

    Drops start at several places of the wall, whose voxels differ.
    """
    refuse_half(settings)
    size, radius, middle = 80, CURVED, 39.5
    disk = {"shape": "cylinder_array", "options": {"size": size, "solid_fraction": np.pi * (radius / size) ** 2}}
    room = {"shape": "pipe", "options": {"length": 1, "radius": radius, "axis": "z", "ends": "periodic"}}
    for degrees, walls, at in QUICK_CURVED if settings.quick else EVERY_CURVED:
        is_disk = walls == "disk"
        centre = middle if is_disk else radius
        beside = centre + radius * np.array([np.cos(np.deg2rad(at)), np.sin(np.deg2rad(at))])
        drop_there = [{"centre_m": [*beside.tolist(), 0.0], "radius_m": 0.8 * radius}]
        flow = _two(settings, disk if is_disk else room, drop_there, angle=degrees)
        flow.step(CURVED_STEPS)
        place = whole_nodes(flow).coordinates()
        box = np.full((size, size), np.nan)
        box[place[:, 1], place[:, 0]] = phase_of(flow)
        x, y = interface(box)
        far = np.abs(np.hypot(x - centre, y - centre) - radius) > NEAREST
        x_0, y_0, own = circle(x[far], y[far])
        cosine = (own**2 + radius**2 - (x_0 - centre) ** 2 - (y_0 - centre) ** 2) / (2.0 * own * radius)
        share, middle_of = 0.5 - 0.5 * box[place[:, 1], place[:, 0]], np.array([x[far].mean(), y[far].mean()])
        inwards = np.average(place[:, :2], axis=0, weights=share) - middle_of
        is_bulging = (
            np.dot(inwards, np.array([x_0, y_0]) - middle_of) > 0.0
        )  # else it is hollow, and bends the other way
        found = np.degrees(np.arccos(np.clip(cosine if is_bulging != is_disk else -cosine, -1.0, 1.0)))
        yield absolute(f"{degrees:g} degrees, {walls} of radius {radius:g}, at {at:g}", degrees, found, ANGLE_TOLERANCE)


@case("two-fluid-annulus", "exact: flow of a core in a film on the wall of a round tube, driven by a force")
def annulus(settings: Settings) -> Iterator:
    """Relative permeabilities of core and film, half of the tube for each, mu of the core over that of the film M.

    They refer to the permeability of the same tube of voxels to one fluid.
    """
    refuse_half(settings)
    for radius, ratio in QUICK_TUBES if settings.quick else (*TUBES, THIN_TUBE):
        core, drive = _mean_viscosity(ratio) * ratio**0.5, 1e-7
        n_steps = int(DRIVEN_STEPS * max(1.0, ratio / 30.0, 0.01 / ratio) * (radius / TUBE) ** 2)
        pipe = {"shape": "pipe", "options": {"length": 1, "radius": radius, "axis": "z", "ends": "periodic"}}
        inside = [{"centre_m": [radius, radius, 0.0], "radius_m": radius / 2**0.5}]
        tables: dict[str, Any] = {"flow": {"acceleration_m_s2": [0.0, 0.0, drive]}, "lattice": {"name": "D3Q19"}}
        flow = _two(settings, pipe, inside, core / ratio, core, **tables)
        flow.step(n_steps)
        s, (of_film, of_core) = float((0.5 - 0.5 * phase_of(flow)).mean()), flows_of(flow)
        single = lattice_simulation(settings, pipe, NU, **tables)
        single.step(n_steps)
        alone = on_root(single.velocity_m_s())[:, 2].sum() * NU
        for name, found, viscosity, expected in (
            ("core", of_core, core, 2.0 * ratio * s + (1.0 - 2.0 * ratio) * s**2),
            ("film", of_film, core / ratio, (1.0 - s) ** 2),
        ):
            flow_rate = found[2] * viscosity / alone
            yield relative(f"R = {radius:g}, M = {ratio:g}: {name}", expected, flow_rate, ANNULAR_TOLERANCE)


@case("two-fluid-entry", "exact: 2 sigma cos(theta) / H holds a meniscus in a slit")
def entry(settings: Settings) -> Iterator:
    """The pressure at which a meniscus rests, from its speeds at pressures below and above the exact one."""
    refuse_half(settings)
    for degrees, height in QUICK_ENTRIES if settings.quick else ENTRIES:
        found = _rests(settings, degrees, height)
        yield relative(f"{degrees:g} degrees, H = {height}: pressure over the exact one", 1.0, found, SLIT_TOLERANCE)


def _rests(settings: Settings, degrees: float, height: int) -> float:
    """The pressure at which a meniscus rests in a slit, over the exact one."""
    exact, n_steps, speeds = 2.0 * TENSION * np.cos(np.deg2rad(degrees)) / height, _settling(height), []
    for times in AROUND:
        flow = _slit(settings, degrees, (height, 5 * height), 0.5, NU, NU, times * exact)
        flow.step(n_steps)
        before = _filled(flow, height)
        flow.step(n_steps)
        speeds.append((_filled(flow, height) - before) / n_steps)
    return AROUND[0] + (AROUND[1] - AROUND[0]) * speeds[0] / (speeds[0] - speeds[1])


@case("two-fluid-rise", "exact: capillary rise 2 sigma cos(theta) / (rho g H) in a slit")
def rise(settings: Settings) -> Iterator:
    """The height at which a heavier fluid that wets comes to rest, from its speeds below and above."""
    refuse_half(settings)
    for degrees, height in QUICK_ENTRIES if settings.quick else RISES:
        length, n_steps = 5 * SLIT, _settling(height) // 2
        gravity = 2.0 * TENSION * np.cos(np.deg2rad(degrees)) / (height * 0.5 * length)
        speeds = []
        for times in ABOUT:
            flow = _slit(settings, degrees, (height, length), 0.5 * times, NU, NU, 0.0, gravity)
            flow.step(n_steps)
            before = _filled(flow, height)
            flow.step(n_steps)
            now = _filled(flow, height)
            speeds.append(((now - before) / n_steps, 0.5 * (before + now)))
        (low, first), (high, second) = speeds
        found = first + (second - first) * low / (low - high)
        name = f"{degrees:g} degrees, H = {height}: height over the exact one"
        yield relative(name, 1.0, found / (0.5 * length), SLIT_TOLERANCE)


@case("two-fluid-rest", "exact: no film beside a slug at rest, no loss of small blobs, two dimensions")
def rest(settings: Settings) -> Iterator:
    """Thickness of a film beside a slug that does not wet its walls, and the share of a blob's fluid far from it.

    Far is further than 10 voxels; the angle at the walls of the slug is 30 degrees.
    """
    refuse_half(settings)
    channel = {"shape": "channel", "options": {"length": 5 * SLIT, "height": SLIT, "width": 1}}
    flow = _two(settings, channel, [{"box_m": [[10.0, -9.0, -9.0], [49.0, 99.0, 9.0]]}], angle=30.0)
    flow.step(QUICK_REST_STEPS if settings.quick else REST_STEPS)
    phase, place = phase_of(flow), whole_nodes(flow).coordinates()
    thickness = (0.5 + 0.5 * phase[place[:, 0] == 5 * SLIT // 2]).sum() / 2.0
    yield absolute("film beside the middle of the slug [voxels]", 0.0, thickness, NO_FILM)
    for radius in BLOBS:
        size = 48
        box = {"shape": "random_solid", "options": {"shape_zyx": [1, size, size], "porosity": 1.0}}
        centre = (size - 1) / 2.0
        flow = _two(settings, box, [{"centre_m": [centre, centre, 0.0], "radius_m": radius}])
        flow.step(QUICK_REST_STEPS if settings.quick else REST_STEPS)
        share, place = 0.5 - 0.5 * phase_of(flow), whole_nodes(flow).coordinates()
        far = np.hypot(place[:, 0] - centre, place[:, 1] - centre) > radius + 10.0
        yield absolute(f"R = {radius:g}: share of the blob that is lost", 0.0, share[far].sum() / share.sum(), 1e-3)


@case("two-fluid-film", "Bretherton, J. Fluid Mech. 10, 166 (1961): film between a train of bubbles and walls, 2-D")
def film(settings: Settings) -> Iterator:
    """The film beside the middle of a bubble between plates, over half their distance.

    1.34 Ca^(2/3) / (1 + 3.35 Ca^(2/3)) at the capillary number of the bubble, with the correction of Aussillous, Quere,
    Phys. Fluids 12, 2367 (2000), for tubes; the film starts half as thick again.
    """
    refuse_half(settings)
    for drive, n_steps in QUICK_FILMS if settings.quick else FILMS:
        number, found = _film(settings, drive, n_steps)
        expected = 1.34 * number ** (2.0 / 3.0) / (1.0 + 3.35 * number ** (2.0 / 3.0))
        yield relative(f"film at Ca = {number:.3f}", expected, found, FILM_TOLERANCE)


def _film(settings: Settings, drive: float, n_steps: int) -> tuple[float, float]:
    """Capillary number of a bubble, and its film over half the distance of the plates."""
    height, length, begins = 40, 160, 4.0
    channel = {"shape": "channel", "options": {"length": length, "height": height, "width": 1}}
    bubble = [{"box_m": [[16.0, 0.5 + begins, -9.0], [104.0, height + 0.5 - begins, 9.0]]}]
    two_fluid = {"kinematic_viscosity_m2_s": 0.1 * FILM_NU, "contact_angle_deg": 10.0, "second": bubble}
    two_fluid |= {"interfacial_tension_n_m": FILM_TENSION}
    force = {"acceleration_m_s2": [drive, 0.0, 0.0]}
    flow = lattice_simulation(settings, channel, FILM_NU, two_fluid=two_fluid, flow=force)
    flow.step(n_steps)
    phase, u, place = phase_of(flow), on_root(flow.velocity_m_s())[:, 0], whole_nodes(flow).coordinates()
    share = 0.5 - 0.5 * phase
    number = (share * u).sum() / share.sum() * FILM_NU / FILM_TENSION
    middle = np.angle((share * np.exp(2j * np.pi * place[:, 0] / length)).sum()) / (2.0 * np.pi) * length
    box = np.zeros((height, length))
    box[place[:, 1] - place[:, 1].min(), place[:, 0] - place[:, 0].min()] = phase
    columns = box[:, np.arange(round(middle) - length // 8, round(middle) + length // 8) % length]
    found = np.mean([np.interp(0.0, -column[: height // 2], np.arange(height // 2) + 0.5) for column in columns.T])
    return number, found / (0.5 * height)


@case("two-fluid-imbibition", "Washburn with the moving contact line of Cox, J. Fluid Mech. 168, 169 (1986), in a slit")
def imbibition(settings: Settings) -> Iterator:
    """Angles of menisci that move at a constant speed, and how far a wetting fluid gets beside Washburn's solution.

    Angles are those of shapes in the middle of a slit; M is the viscosity of the wetting fluid over the other one's.

    g(theta_d) = g(theta) + Ca ln(H / (2 SLIP)), SLIP of all shapes, and (mu_w x + mu_n (L - x)) dx/dt = p H^2 / 12,

        p = 2 sigma / H (cos(theta_d) + MENISCUS Ca (1 + 1 / M)),

    cos(theta_d) times the pressure at which a meniscus rests over the exact one. SLIP is fitted to shapes and MENISCUS
    to slits with M = 1: beside the meniscus the flow is not that of Poiseuille, by as much as half a distance of the
    walls. Washburn's own solution has the angle at rest: a limit, which flows reach as Ca falls (-10.7, -1.8, +0.5 %
    at 0.017, 0.004, 0.001), and which a contact line that moves does not have.
    """
    refuse_half(settings)
    for height, ratio, number in QUICK_MOVING if settings.quick else MOVING:
        found = _moving_angle(settings, height, ratio, number)
        name = f"H = {height}, M = {ratio:g}, Ca = {number:g}: angle of the moving meniscus"
        expected = np.degrees(cox_angle(number, np.log(height / (2.0 * SLIP)), 1.0 / ratio))
        yield absolute(name, expected, found, ANGLE_TOLERANCE)
    rests: dict[int, float] = {}
    for height, length, ratio, distance in QUICK_SLITS if settings.quick else SLITS:
        rests[height] = rests.get(height) or _rests(settings, IMBIBING_ANGLE, height)
        wets, other = NU * ratio**0.5, NU / ratio**0.5
        flow = _slit(settings, IMBIBING_ANGLE, (height, length), 0.25, wets, other, 0.0)
        flow.step(_settling(height))
        start = _filled(flow, height)
        drive, end = TENSION * height * np.cos(np.deg2rad(IMBIBING_ANGLE)) / 6.0, start + distance
        n_steps = round((0.5 * (wets - other) * (end**2 - start**2) + other * length * distance) / drive)
        flow.step(n_steps)
        found = _filled(flow, height) - start
        expected = _imbibed(start, n_steps, (height, length), wets, other, rests[height])
        name = f"H = {height}, L = {length}, M = {ratio:g}: voxels"
        yield relative(f"{name}, Washburn with Cox", expected, found, SLIT_TOLERANCE)
        if not settings.quick:
            number = wets * distance / n_steps / TENSION
            yield relative(f"{name}, Washburn, angle at rest, Ca {number:.2g}", distance, found, SLIT_TOLERANCE)


def _moving_angle(settings: Settings, height: int, ratio: float, number: float) -> float:
    """Angle [degrees] of the circle through the middle half of a meniscus, behind which the first fluid enters."""
    wets, other, length = NU * ratio**0.5, NU / ratio**0.5, 6 * height
    speed = number * TENSION / wets
    channel = {"shape": "channel", "options": {"length": length, "height": height, "width": 1, "ends": "open"}}
    ends = [{"name": "inlet", "velocity_m_s": speed}, {"name": "outlet", "pressure_pa": 0.0, "second_fluid": 1.0}]
    rest = [{"box_m": [[0.3 * length - 0.5, -9.0, -9.0], [9999.0, 999.0, 9.0]]}]
    flow, cosines = _two(settings, channel, rest, wets, other, IMBIBING_ANGLE, openings=ends), []
    flow.step(int(0.3 * length / speed))
    for _ in range(10):
        flow.step(int(0.01 * length / speed))
        place, phase = whole_nodes(flow).coordinates(), phase_of(flow)
        place -= place.min(axis=0)
        box = np.zeros(place.max(axis=0)[1::-1] + 1)
        box[place[:, 1], place[:, 0]] = phase
        x, y = interface(box)
        middle = np.abs(y + 0.5 - 0.5 * height) < 0.25 * height
        x_0, _, radius = circle(x[middle], y[middle])
        cosines.append(np.sign(x_0 - x[middle].mean()) * height / (2.0 * radius))
    return float(np.degrees(np.arccos(np.mean(cosines))))


def _imbibed(start: float, n_steps: int, size, wets: float, other: float, rests: float) -> float:
    """Distance that a meniscus moves, by midpoints."""
    (height, length), q = size, other / wets
    wedge = np.log(height / (2.0 * SLIP))

    def speed(x: float) -> float:
        found = 0.0
        for _ in range(80):  # the angle follows from the speed, and that from the angle
            number = wets * found / TENSION
            drive = rests * np.cos(cox_angle(number, wedge, q)) + MENISCUS * number * (1.0 + q)
            found = 0.5 * found + 0.5 * TENSION * height * drive / 6.0 / (wets * x + other * (length - x))
        return found

    x, step = start, n_steps / 20
    for _ in range(20):
        x += step * speed(x + 0.5 * step * speed(x))
    return x - start


def cox_angle(number: float, wedge: float, q: float) -> float:
    """Angle [radians] of a contact line that advances at a capillary number, ``IMBIBING_ANGLE`` at rest, by a wedge of
    so many logarithms; ``q`` as in :func:`cox_slope`."""
    angle, part = np.deg2rad(IMBIBING_ANGLE), number * wedge / 10
    for _ in range(10):
        angle += part * cox_slope(angle + 0.5 * part * cox_slope(angle, q), q)
    return float(angle)


def cox_slope(angle: float, q: float) -> float:
    """d theta / dg of Cox's g, angle [radians] through the fluid that advances, q the viscosity of the other one over
    that of it; for q = 0 g is about theta^3 / 9."""
    sine, cosine, rest = np.sin(angle), np.cos(angle), np.pi - angle
    own, beyond = angle**2 - sine**2, rest**2 - sine**2
    above = q * q * own + 2.0 * q * (angle * rest + sine**2) + beyond
    return 2.0 * sine * above / (q * own * (rest + sine * cosine) + beyond * (angle - sine * cosine))


def _settling(height: int) -> int:
    """Steps by which a meniscus has its shape."""
    return int(MENISCUS_STEPS * (height / SLIT) ** 2)


def _slit(
    settings: Settings, degrees: float, size, filled: float, nu: float, other: float, pressure: float, gravity=0.0
) -> Solver:
    """A slit, (height, length), between openings with the first fluid in a share of it, which has a weight back along
    it, and a pressure at its end, where the second is."""
    height, length = size
    channel = {"shape": "channel", "options": {"length": length, "height": height, "width": 1, "ends": "open"}}
    ends = [{"name": "inlet", "pressure_pa": 0.0}, {"name": "outlet", "pressure_pa": pressure, "second_fluid": 1.0}]
    rest = [{"box_m": [[filled * length - 0.5, -9.0, -9.0], [9999.0, 999.0, 9.0]]}]
    tables = {"openings": ends, "flow": {"acceleration_m_s2": [-gravity, 0.0, 0.0]}}
    return _two(settings, channel, rest, nu, other, degrees, weight=gravity, **tables)


def _filled(flow: Solver, height: int) -> float:
    """Length of a slit that the first fluid fills."""
    return float((0.5 + 0.5 * phase_of(flow)).sum()) / height


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


def _two(settings: Settings, geometry, second, nu=NU, other=NU, angle=90.0, weight=0.0, **tables) -> Solver:
    """Two fluids at rest, the second one in some regions, with a force along x on it alone."""
    two_fluid = {
        **{"interfacial_tension_n_m": TENSION, "kinematic_viscosity_m2_s": other, "contact_angle_deg": angle},
        **{"second": second, "second_acceleration_m_s2": [weight, 0.0, 0.0]},
    }
    return lattice_simulation(settings, geometry, nu, two_fluid=two_fluid, **tables)


CASES = (
    drop,
    layers,
    annulus,
    angle,
    curved_walls,
    entry,
    rise,
    rest,
    film,
    imbibition,
    *pores.CASES,
    *drainage.CASES,
    *starts.CASES,
    *throats.CASES,
)
SHARED = pores.SHARED

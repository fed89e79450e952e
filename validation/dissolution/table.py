"""Solids that dissolve or grow against exact numbers: plane fronts behind a layer of diffusion, a disc under a uniform
rate, and the balance of both."""

from collections.abc import Iterator
from math import pi, sqrt
from typing import Any

from muphy_lb.apps.rock.moving_surface import GONE, followed
from muphy_lb.case.case import Case
from muphy_lb.domain import PULL
from muphy_lb.validation.case import Settings, Skipped, absolute, case, relative
from muphy_lb.validation.flows import lattice_simulation
from muphy_lb.validation.limits import HALF

NU, DIFFUSIVITY, MOLAR_VOLUME = 0.1, 0.1, 0.1
HEIGHT, TOP, MOVED = 12, 6.8, 1.5  # of the channel, of the front at the start, and by how much it moves [voxels]
RATES, QUICK_RATES = (0.01, 0.1, 1.0), (0.1,)
SMALL_STEP = 0.1  # share of a voxel that a front moves in a step
SPEED_TOLERANCE, PLACE_TOLERANCE = {"fp64": 1e-6}, 2e-3
SETTLED, ROUGH = {"fp64": 1e-8}, 1e-3  # others in single precision
RADII, QUICK_RADII, DISC_TOLERANCE = (6.3, 12.3), (6.3,), 0.01
SLOW = 1e-4  # rate of the disc, so slow that its surroundings have one value
BALANCE = 1e-12


def front_case(settings: Settings, rate: float, role: str, is_lost: bool) -> Case:
    """A layer of solid in a channel at rest, whose opposite plate holds a value of 1 or 0; at equilibrium it is 0 or 1.
    The front loses or gains volume."""
    held = float(is_lost == (role == "reactant"))
    walls = [
        {"name": "low", "box_m": [[-9.0, -9.0, -9.0], [9.0, 0.0, 9.0]], "species": {"salt": held}},
        {"name": "layer", "species_uptake_m_s": {"salt": rate}, "species": {"salt": 1.0 - held}},
    ]
    speed = MOLAR_VOLUME * rate / (1.0 + rate * TOP / DIFFUSIVITY)
    layer = {
        "box_m": [[-9.0, TOP + 0.5, -9.0], [9.0, 99.0, 9.0]],
        "settled_within": SETTLED.get(settings.precision, ROUGH),
    }
    return _case(settings, 3, HEIGHT, walls, role, MOVED / speed, SMALL_STEP, **layer)


def _case(settings: Settings, length: int, height: int, walls, role: str, end_s: float, step: float, **place) -> Case:
    wall = {"wall": walls[-1]["name"], "species": "salt", "role": role, "molar_volume_m3": MOLAR_VOLUME}
    found: Any = lattice_simulation(
        settings,
        {"shape": "channel", "options": {"length": length, "height": height, "width": 1}},
        NU,
        make=lambda made, _: made,
        lattice={"walls": "bouzidi"},
        run={"steps": 100_000, "steady_interval_steps": 50},
        walls=walls,
        species=[{"name": "salt", "diffusivity_m2_s": DIFFUSIVITY, "initial": 1.0}],
        dissolution={**wall, "end_s": end_s, "largest_change": step, **place},
    )
    return found


def _refuse(settings: Settings) -> None:
    if settings.precision == HALF or settings.streaming != PULL.name:
        raise Skipped("species need more digits than fp16 has, and a frozen flow streaming by pull")


@case("dissolution-front", "exact: plane fronts behind a layer of diffusion, dissolving and growing")
def fronts(settings: Settings) -> Iterator:
    """The speed V k (c - c_eq) at every place of the front, that place at the end, and the balance of the solid."""
    _refuse(settings)
    for rate in QUICK_RATES if settings.quick else RATES:
        for role, is_lost in (("reactant", True), ("product", True), ("product", False)):
            asked = front_case(settings, rate, role, is_lost)
            sign, worst, rows = 1.0 if is_lost else -1.0, 0.0, [*followed(asked, settings.communicator)]
            whole = float(rows[0][0].shares.sum())  # exact: the speed is V / (L / D + 1 / k) at depth L
            for surface, settled in rows:
                depth = TOP + (whole - float(surface.shares.sum())) / 3.0
                speed = -settled.row["solid_rate_m3_s"] / 3.0
                worst = max(worst, abs(speed * sign * (depth / DIFFUSIVITY + 1.0 / rate) / MOLAR_VOLUME - 1.0))
            of = f"k {rate:g}, {role}, {'dissolves' if is_lost else 'grows'}"
            yield absolute(f"{of}: speed, worst error", 0.0, worst, SPEED_TOLERANCE.get(settings.precision, ROUGH))
            yield absolute(f"{of}: place", _depth(rate, sign, surface.time_s), depth, PLACE_TOLERANCE * MOVED)
            lost = sum(surface.gone[name] for name in GONE[:2])
            balance = (whole - float(surface.shares.sum()) - lost) / whole
            yield absolute(f"{of}: balance of the solid", 0.0, balance, BALANCE)


def _depth(rate: float, sign: float, time_s: float) -> float:
    """The place of the front: L + k L^2 / (2 D) grows by V k t."""
    a = rate / DIFFUSIVITY
    start = TOP + 0.5 * a * TOP**2 + sign * MOLAR_VOLUME * rate * time_s
    return (sqrt(1.0 + 2.0 * a * start) - 1.0) / a


@case("dissolution-disc", "exact: a disc under a uniform rate, R(t) = R - V k c t")
def discs(settings: Settings) -> Iterator:
    """The radius of equal area at which it has lost or gained a third of it."""
    _refuse(settings)
    for radius in QUICK_RADII if settings.quick else RADII:
        for role, sign in (("reactant", -1.0), ("product", 1.0)):
            n = int(3.0 * radius) + 6
            plates = [
                {"name": name, "box_m": [[-9.0, low, -9.0], [999.0, high, 9.0]], "species": {"salt": 1.0}}
                for name, low, high in (("low", -9.0, 0.0), ("high", n + 0.6, 999.0))
            ]
            disc = {"name": "disc", "species_uptake_m_s": {"salt": SLOW}}
            end_s = radius / 3.0 / (MOLAR_VOLUME * SLOW)
            place = {"centre_m": [n / 2.0 - 0.3, n / 2.0 + 0.6, 0.0], "radius_m": radius}
            asked = _case(settings, n, n, [*plates, disc], role, end_s, 0.25, **place)
            first, *_, last = (surface for surface, _ in followed(asked, settings.communicator))
            start, found = float(first.shares.sum()), float(last.shares.sum())
            of = f"R {radius:g}, {'dissolves' if sign < 0.0 else 'grows'}"
            yield relative(f"{of}: radius", radius * (1.0 + sign / 3.0), sqrt(found / pi), DISC_TOLERANCE)
            lost = sum(last.gone[name] for name in GONE[:2])
            yield absolute(f"{of}: balance of the solid", 0.0, (start - found - lost) / start, BALANCE)


CASES = (fronts, discs)

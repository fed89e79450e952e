"""Plane Poiseuille flow with two relaxation times: exact for half-way walls, a known slip for walls at other distances.

With the wall at the distance d from the outermost nodes, walls W apart and the "magic" number Lambda, half-way
bounce-back (d = 1/2) and central-linear interpolation shift the whole profile by 4 (4 Lambda / 3 - d^2) / W^2 of the
centre velocity, whatever the viscosity: nothing where Lambda = 3 d^2 / 4, which is 3/16 half-way. Bouzidi's rule is of
second order, and its error depends on the viscosity.
"""

from dataclasses import dataclass

import numpy as np

from muphy_lb.base.units import relaxation_time
from muphy_lb.lattice import lattice_named
from muphy_lb.operators.mrt import MAGIC_HALF_WAY
from muphy_lb.validation.flows import creeping, forced_flow, order_of_convergence, settled, start_from_velocity
from muphy_lb.validation.limits import (
    FLOOR,
    NO_ORDERS,
    SHARES,
    in_half,
    left_out_rules,
    order_at_least,
    possible_rules,
    share_row,
)
from muphy_lb.validation.plot import convergence
from muphy_lb.validation.record import Row, Validation, absolute
from muphy_lb.validation.references.poiseuille import channel_velocity
from muphy_lb.validation.settings import DEFAULT, Settings

CITATION = (
    "Ginzburg, d'Humieres, Phys. Rev. E 68, 066614 (2003): walls half-way are exact for Lambda = 3/16; the slip of"
    " central-linear walls at a distance d, 4 (4 Lambda / 3 - d^2) / W^2, extends it and holds to round-off"
)
HEIGHT = 10
NU = 1.0 / 6.0
VISCOSITIES = (0.01, NU, 1.0)
LATTICES, QUICK_LATTICES = ("D2Q9", "D3Q15", "D3Q19", "D3Q27"), ("D2Q9", "D3Q19")
EXACT = {"fp64": 1e-10, "fp32": 1e-3, "fp16": FLOOR}
SLIP_TOLERANCE = {"fp64": 1e-6, "fp32": 1e-2, "fp16": FLOOR}
SETTLED = 1e-12
MEAN_VELOCITY_TIMES_HEIGHT = 0.2
DISTANCES = (0.1, 0.25, 0.75, 1.0)
HEIGHTS = (8, 16, 32)
STABLE_MAGIC = 0.25
ORDER = 1.9
INTERPOLATED = ("bouzidi", "central-linear")


@dataclass(frozen=True)
class ChannelWall:
    """The walls of a channel and the collision operator."""

    rule: str = "half-way"  # ``lattice.walls`` of a case
    distance: float = 0.5  # of the true walls from the outermost fluid nodes [voxels]
    magic: float | None = MAGIC_HALF_WAY  # Lambda; None: BGK

    def tables(self) -> dict:
        """Tables for :func:`muphy_lb.validation.flows.forced_flow`."""
        method = {"collision": "bgk"} if self.magic is None else {"magic": self.magic}
        return creeping(self.rule, **method)

    def slip(self, height: int, nu: float) -> float:
        """Shift of the profile over the centre velocity; see the module's docstring."""
        magic = (3.0 * nu) ** 2 if self.magic is None else self.magic
        return 4.0 * (4.0 * magic / 3.0 - self.distance**2) / self.width(height) ** 2

    def width(self, height: int) -> float:
        """Distance of the walls of a channel with ``height`` fluid nodes across."""
        return height - 1.0 + 2.0 * self.distance


def poiseuille_trt(settings: Settings = DEFAULT) -> Validation:
    """Exactness of two relaxation times between plates, slip, walls at any distance."""
    errors = {
        rule: [order_errors(rule, distance, settings) for distance in (0.25, 0.75)]
        for rule in possible_rules(INTERPOLATED, settings)
    }
    rows = _half_way(settings)
    if errors:
        rows += _central_linear(settings) + _orders(errors, settings)
    curves = {f"{rule}, d = {d}": e for rule, pair in errors.items() for d, e in zip((0.25, 0.75), pair, strict=True)}
    title = "Flow between plates, walls at any distance d"
    plots = (convergence(title, "fluid nodes across", HEIGHTS, curves, 2.0),) if curves else ()
    left_out = left_out_rules(INTERPOLATED, settings) + in_half(settings, NO_ORDERS, SHARES)
    return Validation("poiseuille-trt", CITATION, tuple(rows), plots=plots, left_out=left_out)


def difference(
    height: int, wall: ChannelWall, nu: float, lattice: str = "D2Q9", settings: Settings = DEFAULT
) -> np.ndarray:
    """(n,) computed less analytic velocity of every node over the analytic centre velocity, in Stokes flow."""
    width = wall.width(height)
    force = 8.0 * nu * MEAN_VELOCITY_TIMES_HEIGHT / height / width**2
    options = {"length": 2, "height": height, "width": 1, "wall_offset": wall.distance}
    tau = relaxation_time(nu, float(lattice_named(lattice).cs2))
    geometry = {"shape": "channel", "options": options}
    simulation = forced_flow(geometry, tau, (force, 0.0, 0.0), lattice, settings, wall.tables())
    y = simulation.nodes.coordinates()[:, 1] - 1.0 + wall.distance
    analytic = channel_velocity(y, width, force, nu)
    start_from_velocity(simulation, np.outer(analytic, (1.0, 0.0, 0.0)))
    velocity = settled(simulation, lambda: simulation.velocity_m_s()[:, 0], width, SETTLED)
    return (velocity - analytic) / (force * width**2 / (8.0 * nu))


def order_errors(rule: str, distance: float, settings: Settings = DEFAULT) -> list[float]:
    """L2 errors of :func:`difference` for rising heights."""
    wall = ChannelWall(rule, distance)
    return [float(np.sqrt(np.mean(difference(height, wall, NU, settings=settings) ** 2))) for height in HEIGHTS]


def _half_way(settings: Settings) -> list[Row]:
    """Nothing but round-off at Lambda = 3/16, and the slip of other numbers."""
    rows = []
    for lattice in QUICK_LATTICES if settings.quick else LATTICES:
        for nu in VISCOSITIES:
            error = np.abs(difference(HEIGHT, ChannelWall(), nu, lattice, settings)).max()
            what = f"{lattice} largest error, Lambda = 3/16, nu = {nu:.3g}"
            rows.append(absolute(what, 0.0, error, EXACT[settings.precision]))
        rows.append(_slip(ChannelWall(magic=STABLE_MAGIC), NU, lattice, settings))
    return [*rows, _slip(ChannelWall(magic=None), 1.0, "D2Q9", settings)]


def _central_linear(settings: Settings) -> list[Row]:
    """The slip of walls at any distance, and none at the Lambda that belongs to it."""
    rows = []
    for distance in DISTANCES:
        rows.append(_slip(ChannelWall("central-linear", distance), NU, "D2Q9", settings))
        fitting = ChannelWall("central-linear", distance, 0.75 * distance**2)
        error = np.abs(difference(HEIGHT, fitting, NU, settings=settings)).max()
        what = f"largest error, central-linear, Lambda = 3 d^2/4, d = {distance}"
        rows.append(absolute(what, 0.0, error, EXACT[settings.precision]))
    return [*rows, _slip(ChannelWall("central-linear", 0.25), 1.0, "D2Q9", settings)]


def _orders(errors, settings: Settings) -> list[Row]:
    rows = []
    for rule, pair in errors.items():
        for distance, values in zip((0.25, 0.75), pair, strict=True):
            sizes = [ChannelWall(rule, distance).width(height) for height in HEIGHTS]
            what, order = f"order of convergence, {rule}, d = {distance}", order_of_convergence(sizes, values)
            rows.append(order_at_least(what, 2.0, order, 2.0 - ORDER, settings))
    return rows


def _slip(wall: ChannelWall, nu: float, lattice: str, settings: Settings) -> Row:
    collision = "BGK" if wall.magic is None else f"Lambda = {wall.magic:.4g}"
    what = f"{lattice} slip, {wall.rule}, d = {wall.distance}, {collision}, nu = {nu:.3g}"
    slip = difference(HEIGHT, wall, nu, lattice, settings).mean()
    return share_row(what, wall.slip(HEIGHT, nu), slip, SLIP_TOLERANCE[settings.precision], settings)

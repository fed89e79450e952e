"""Wall shear stress of pipe flow at the wall-adjacent nodes, for each wall rule.

With interpolated walls the stress at the first nodes, carried on to the wall, is that of Hagen and Poiseuille. With
half-way walls it is not: the flow between a staircase and the first nodes does not see the true wall, so their stress
scatters by the same share of itself however fine the voxels are. The table says so in numbers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, pi, sqrt
from types import MappingProxyType

import numpy as np

from muphy_lb.base.units import relaxation_time
from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.lattice import lattice_named
from muphy_lb.measure.wall_shear import WallShear
from muphy_lb.validation.flows import creeping, forced_flow, settled
from muphy_lb.validation.limits import HALF, in_half, left_out_rules, possible_rules
from muphy_lb.validation.plot import Plot, convergence
from muphy_lb.validation.record import Row, Validation, absolute, relative, shown
from muphy_lb.validation.settings import DEFAULT, Settings

CITATION = (
    "tau = 4 mu Q / (pi R^3), Hagen-Poiseuille, Q as computed; rms errors of another program (tilted pipe, exact"
    " normals, each node against the stress at its own radius): with half-way walls they do not converge"
)
RULES = ("central-linear", "bouzidi", HALF_WAY)
STRAIGHT, TILTED = "straight", "tilted"
DIRECTION = MappingProxyType({STRAIGHT: (0, 0, 1), TILTED: (2, 1, 0)})
RADII = MappingProxyType({STRAIGHT: (5.0, 10.0, 20.0), TILTED: (4.3, 8.6, 17.2)})
JUDGED_RADIUS = 8.0  # finer pipes with interpolated walls must agree
TOLERANCE = 0.03
OTHER_PROGRAM = MappingProxyType(
    {
        (HALF_WAY, 4.3): 0.18,
        (HALF_WAY, 8.6): 0.16,
        (HALF_WAY, 17.2): 0.16,
        ("bouzidi", 4.3): 0.030,
        ("bouzidi", 8.6): 0.012,
        ("central-linear", 4.3): 0.031,
        ("central-linear", 8.6): 0.013,
    }
)  # rms errors of the nodes of a tilted pipe
NU = 1.0 / 6.0
CENTRE_VELOCITY = 0.05
ORDER = 1.0
HALF_RADIUS = 10.0
NOT_HALF = (
    "fp16: the stress is shown, not judged, up to R = 10: the shape of a profile is rounded by up to a share of"
    " H^2 / (8 nu) 2^-11"
)
SETTLED = 1e-6


@dataclass(frozen=True)
class Spread:
    """Wall shear stress of the nodes of a pipe over 4 mu Q / (pi R^3)."""

    mean: float  # 1 if right
    scatter: float  # standard deviation
    rms: float  # rms, largest: distance from 1
    largest: float


def wall_shear(settings: Settings = DEFAULT) -> Validation:
    """Wall shear stress in a straight (in full also a tilted) pipe for every wall rule."""
    rows, plots = [], []
    for pipe in (STRAIGHT,) if settings.quick else (STRAIGHT, TILTED):
        radii = [radius for radius in RADII[pipe] if settings.precision != HALF or radius <= HALF_RADIUS]
        rules = possible_rules(RULES, settings)
        found = {rule: [shear_spread(pipe, radius, rule, settings) for radius in radii] for rule in rules}
        rows += [
            row
            for rule, spreads in found.items()
            for radius, spread in zip(radii, spreads, strict=True)
            for row in shear_rows(pipe, radius, rule, spread, settings)
        ]
        plots.append(_plot(pipe, radii, found))
    left_out = left_out_rules(RULES, settings) + in_half(settings, NOT_HALF)
    return Validation("wall-shear", CITATION, tuple(rows), plots=tuple(plots), left_out=left_out)


def shear_spread(pipe: str, radius: float, rule: str, settings: Settings = DEFAULT) -> Spread:
    """The stress in one pipe, from rest on until the flow has settled. ``pipe``: ``"straight"`` or ``"tilted"``;
    ``radius``: [voxels]; ``rule``: ``lattice.walls`` of a case."""
    along = np.array(DIRECTION[pipe])
    axis = along / np.linalg.norm(along)
    force = 4.0 * NU * CENTRE_VELOCITY / radius**2
    tau = relaxation_time(NU, float(lattice_named("D3Q19").cs2))
    simulation = forced_flow(_geometry(pipe, radius), tau, force * axis, settings=settings, tables=creeping(rule))
    velocity = settled(simulation, lambda: simulation.velocity_m_s(), radius, SETTLED)
    length = np.linalg.norm(np.where(along != 0, simulation.nodes.shape[::-1], 0))
    reference = 4.0 * NU * float((velocity @ axis).sum()) / length / (pi * radius**3)
    return spread_of(np.linalg.norm(WallShear(simulation).traction_pa(), axis=1) / reference)


def spread_of(shear: np.ndarray) -> Spread:
    """Statistics of the differences of (m,) relative stresses from 1."""
    error = shear - 1.0
    return Spread(
        float(shear.mean()), float(shear.std()), sqrt(float(error @ error) / len(error)), float(abs(error).max())
    )


def _geometry(pipe: str, radius: float) -> dict:
    if pipe == STRAIGHT:
        return {"shape": "pipe", "options": {"length": 1, "radius": radius}}
    return {"shape": "tilted_pipe", "options": {"radius": radius, "direction": list(DIRECTION[TILTED])}}


def shear_rows(pipe: str, radius: float, rule: str, spread: Spread, settings: Settings = DEFAULT) -> Iterator[Row]:
    """Rows of one pipe; fine pipes with interpolated walls are judged, the rest is shown. ``pipe``, ``radius``,
    ``rule``: see :func:`shear_spread`; ``spread``: what was found."""
    where = f"{pipe} pipe, {rule}, R = {radius:g}"
    is_judged = rule != HALF_WAY and radius > JUDGED_RADIUS and settings.precision != HALF
    yield relative(f"mean shear, {where}", 1.0, spread.mean, TOLERANCE if is_judged else inf)
    yield absolute(f"scatter (std), {where}", 0.0, spread.scatter, TOLERANCE if is_judged else inf)
    yield absolute(f"largest error, {where}", 0.0, spread.largest, inf)
    if pipe == TILTED and (rule, radius) in OTHER_PROGRAM:
        yield shown(f"rms error, {where}", OTHER_PROGRAM[rule, radius], spread.rms)


def _plot(pipe: str, radii: Sequence[float], found: Mapping[str, Sequence[Spread]]) -> Plot:
    errors = {rule: [spread.rms for spread in spreads] for rule, spreads in found.items()}
    title = f"Wall shear stress at the nodes of a {pipe} pipe, rms error"
    return convergence(title, "radius [voxels]", radii, errors, ORDER)

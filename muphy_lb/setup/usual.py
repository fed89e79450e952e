"""Values of a case that are hardly meant: what their sizes, or how they fit each other, give away about their units."""

import math
from collections.abc import Iterator

from muphy_lb.base.registry import offered
from muphy_lb.case.case import Case
from muphy_lb.case.usual import (
    Setting,
    Usual,
    about,
    encloses_all,
    is_far,
    lengths,
    outside,
    values_at,
)
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.nodes import GeometryHeader

LARGEST_GAS_DENSITY = 100.0
GAS_VISCOSITIES = 5e-6, 1.5e-4
"""Dynamic viscosities of gases [Pa s]: of light hydrocarbons, and of hot ones."""

LEAST_VISCOSITY = 2e-5
"""Dynamic viscosity [Pa s] below that of all but the coldest liquids."""

THICK = 2e-3
"""Kinematic viscosity [m2/s] of honey; a dynamic one of blood or oil in its place is above it."""

LAW_MARGIN = 3.0
"""Factor by which the typical viscosity of a fluid may lie outside those of its law."""

GRAVITY_ELSEWHERE = (9.81e-3, 981.0, 9810.0)
"""Gravity in km/s2, cm/s2 and mm/s2."""


def _is_light_and_viscous(density, setting: Setting) -> bool:
    viscosity = density * setting.case.fluid.viscosity_m2_s
    is_viscous = not GAS_VISCOSITIES[0] <= viscosity <= GAS_VISCOSITIES[1]
    return not setting.is_dimensionless and density < LARGEST_GAS_DENSITY and is_viscous


def _is_thin(_, setting: Setting) -> bool:
    density = setting.case.fluid.density_kg_m3
    viscosity = density * setting.case.fluid.viscosity_m2_s
    return not setting.is_dimensionless and density >= LARGEST_GAS_DENSITY and viscosity < LEAST_VISCOSITY


def _is_thick(viscosity, setting: Setting) -> bool:
    is_dense = setting.case.fluid.density_kg_m3 >= LARGEST_GAS_DENSITY
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
        " kinematic viscosity [m2/s] belongs into fluid.kinematic_viscosity_m2_s",
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
        " dynamic viscosity [Pa s] belongs into fluid.dynamic_viscosity_pa_s",
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
        lambda period_s, setting: period_s > setting.duration_s,
        "the run ends before one period of {value} s: check that it is in seconds",
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


def unusual_values(case: Case, header: GeometryHeader, duration_s: float) -> Iterator[str]:
    """A sentence on every value of a case that is hardly meant.

    Args:
        case: the case.
        header: its geometry.
        duration_s: length of the run [s].
    """
    setting = _setting(case, header, duration_s)
    for row in dict.fromkeys((*USUAL, *offered("USUAL"))):
        for key, value in values_at(case, row.key):
            if row.is_unusual(value, setting):
                yield f"{key}: {row.text.format(value=_worded(value))}"
    for key, value in lengths(case):
        if is_far(value, setting):
            yield (
                f"{key} = {_worded(value)}: the geometry is {setting.size_m:.3g} m large, and this is far beyond it:"
                " check that it is in metres"
            )


def _setting(case: Case, header: GeometryHeader, duration_s: float) -> Setting:
    low = [middle - 0.5 * header.spacing_m for middle in header.origin_m]
    high = [end + n * header.spacing_m for end, n in zip(low, header.shape[::-1], strict=True)]
    return Setting(case, tuple(low), tuple(high), duration_s)


def _worded(value) -> str:
    return f"{value:g}" if isinstance(value, float) else shown(value)

"""The case file's section [two_fluid], and keys of walls and openings."""

from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field

from muphy_lb.case.section import Box, Positive, Section, Vector, exactly_one, given_tables
from muphy_lb.case.substances import SubstanceKeys
from muphy_lb.case.usual import Usual, outside

SERIES_FILE = "two_fluid.csv"
FILES = (SERIES_FILE,)
PHASE_FIELD, SHARE_FIELD = "phase", "second_share"
OUTPUT_FIELDS = (PHASE_FIELD, SHARE_FIELD)
Angle = Annotated[float, Field(ge=10.0, le=170.0)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


class SecondSection(Section):
    """A region that the second fluid fills at the start: a box or a sphere."""

    box_m: Box | None = None
    """lowest and highest corner [m]"""
    centre_m: Vector | None = None
    """centre of a sphere [m]"""
    radius_m: Positive | None = None
    """radius of the sphere [m]"""

    @classmethod
    def rules(cls, given):
        """Check that exactly one shape is given."""
        yield from exactly_one(given, "box_m", "centre_m")
        if ("radius_m" in given) != ("centre_m" in given):
            yield "has one of centre_m and radius_m; give both for a sphere"


class TwoFluidSection(SubstanceKeys):
    """Two fluids of equal density that do not mix, with an interface between them; [fluid] describes the first."""

    interfacial_tension_n_m: Positive
    """interfacial tension [N/m]"""
    kinematic_viscosity_m2_s: Positive | None = None
    """kinematic viscosity of the second fluid [m2/s], its dynamic one over the density of [fluid]"""
    dynamic_viscosity_pa_s: Positive | None = None
    """its dynamic viscosity [Pa s], instead"""
    contact_angle_deg: Angle = 90.0
    """angle [degrees] between interface and walls, through the first fluid: below 90 it wets them; 10 to 170"""
    second_acceleration_m_s2: Vector = (0.0, 0.0, 0.0)
    """additional body force per mass (x, y, z) [m/s2] on the second fluid, such as the difference of gravity (second
    density / first density - 1) times g"""
    second: Annotated[tuple[SecondSection, ...], Field(strict=False)] = ()
    """regions of the second fluid at the start, each in a table [[two_fluid.second]]; elsewhere is the first"""
    initial_file: str | None = None
    """phase at every node at the start instead, a field named phase, 1 in the first and -1 in the second fluid, as in
    initial.velocity_file"""
    second_saturation: Share | None = None
    """saturation of the second fluid at the start instead; the fluid that does not wet fills the widest pores. With
    initial_file: one fluid advances at the interface of that state, in the widest pores if it does not wet, else in
    the narrowest"""
    structure: bool = False
    """whether rows of two_fluid.csv include parts, Euler numbers and areas of both fluids; the summary has those of the
    end"""
    known_within: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None
    """the run ends once the mean flows of both fluids are known within this share, and both together have gone through
    8 lengths of the box, or their interfaces rest; the force must be constant"""

    @classmethod
    def rules(cls, given):
        """Check that one viscosity and one start are given."""
        yield from super().rules(given)
        yield from exactly_one(given, "kinematic_viscosity_m2_s", "dynamic_viscosity_pa_s")
        starts = [
            key for key in ("second", "initial_file", "second_saturation") if given.get(key) not in (None, (), [])
        ]
        if len(starts) > 1 and starts != ["initial_file", "second_saturation"]:
            yield f"has {' and '.join(starts)}; give one of them"


SECTION = TwoFluidSection


class OpeningKeys(Section):
    """Keys of an opening."""

    second_fluid: Share | None = None
    """share of the second fluid in what enters through it; 0 if not given"""
    blocks_second: bool = False
    """whether there is a porous plate, which only the first fluid can pass; with pressure_pa"""


class WallKeys(Section):
    """Keys of a labelled wall."""

    wetting_angle_deg: Angle | None = None
    """contact angle [degrees] of two fluids on it, instead of two_fluid.contact_angle_deg"""


def rules(given: Mapping) -> Iterator[str]:
    """Keys of walls and openings need the section; ``given`` holds the raw tables of the case."""
    for kind, key in (("openings", "second_fluid"), ("openings", "blocks_second"), ("walls", "wetting_angle_deg")):
        for table in given_tables(given.get(kind)):
            if table.get(key, False) is not False and not given.get("two_fluid"):
                yield f"has {kind}.{table.get('name')}.{key} but no [two_fluid]; give that table, or leave the key out"


USUAL = (
    Usual(
        "two_fluid.interfacial_tension_n_m",
        outside(1e-6, 1.0),
        "no interface has {value} N/m (oil and water: 0.03): a number in mN/m, or dyn/cm, is given as '30 mN/m'",
    ),
)

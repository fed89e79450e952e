"""The case file's section [dissolution]."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field

from muphy_lb.base.key_units import is_number
from muphy_lb.case.section import Box, Name, Positive, Section, Vector, did_you_mean, given_tables, given_values
from muphy_lb.case.usual import Usual, outside
from muphy_lb.geometry.solid_place import MovedBy, SolidPlace

KEY = "dissolution"
CARRIED = "species"
RATES = ("species_uptake_m_s", "species_flux", "species")  # keys of a wall by which a species passes through it
REACTANT = "reactant"
MOST_STEPS = 10_000  # of a surface, each with a steady flow
ROUNDING = 1e-9


class DissolutionSection(Section):
    """A solid that loses or gains volume by the flux of a species through its wall; muphy-lb dissolve follows it.
    Without a sphere, a box or a file it is what the wall's label holds in the image."""

    wall: Name
    """name of its surface, an entry of [[walls]] with a rate for the species"""
    species: str
    """the species whose flux through the wall moves it"""
    role: Literal["reactant", "product"]
    """reactant: uptake at the wall dissolves it, as an acid does; product: it dissolves by release, as a salt does, and
    grows by uptake"""
    molar_volume_m3: Positive
    """volume of solid [m3] for each unit m3 of the species (m3/mol, where its unit is mol/m3)"""
    end_s: Positive
    """time [s] up to which it moves"""
    step_s: Positive | None = None
    """time step [s] of the surface, at least 1e-4 of end_s; without it as long as largest_change allows"""
    largest_change: Annotated[float, Field(ge=1e-3, le=0.5)] = 0.2
    """share of a voxel that a face of the wall may lose or gain in a step"""
    settled_within: Annotated[float, Field(gt=0.0, le=0.01)] = 1e-4
    """relative change of flow and flux over run.steady_interval_steps, twice in a row, within which they are steady"""
    centre_m: Vector | None = None
    """centre of a sphere [m], in a plane flow of a disc"""
    radius_m: Positive | None = None
    """its radius [m]"""
    box_m: Box | None = None
    """lowest and highest corner of a box [m]"""
    shares_file: str | None = None
    """.npy array like the image (z, y, x), the share of each voxel that is solid, from grey values for example"""

    @classmethod
    def rules(cls, given):
        """Check that exactly one shape is given."""
        if ("centre_m" in given) != ("radius_m" in given):
            yield "has one of centre_m and radius_m; give both for a sphere"
        places = [key for key in ("centre_m", "box_m", "shares_file") if key in given]
        if len(places) > 1:
            yield f"has {' and '.join(places)}; give one of them"
        end_s, step_s = given.get("end_s"), given.get("step_s")
        if is_number(end_s) and is_number(step_s) and 0.0 < step_s * MOST_STEPS < (1.0 - ROUNDING) * end_s:
            yield (
                f"has step_s = {step_s:g} for an end_s of {end_s:g}, {end_s / step_s:.3g} steady flows; allowed:"
                f" {MOST_STEPS:,}: give step_s = {end_s / MOST_STEPS:.6g} or more, or leave it out"
            )


SECTION = DissolutionSection


def rules(given: Mapping) -> Iterator[str]:
    """Species and wall exist, and the wall has a rate for it; ``given`` holds the raw tables of the case."""
    if KEY not in given:
        return
    own = given_values(given[KEY])
    carried, walls = given_tables(given.get(CARRIED)), given_tables(given.get("walls"))
    for key, tables, what in (("species", carried, "[[species]]"), ("wall", walls, "[[walls]]")):
        names = [str(each["name"]) for each in tables if "name" in each]
        if key in own and str(own[key]) not in names:
            remedy = did_you_mean(str(own[key]), names) if names else f"give one in {what}"
            yield f"has {KEY}.{key} = {own[key]!r}, which is not an entry of {what}; {remedy}"
            return
    species, wall = own.get("species"), own.get("wall")
    rates = next((each for each in walls if each.get("name") == wall), {})
    if not any(species in (rates.get(key) or {}) for key in RATES):
        yield (
            f"has no rate of {species} at walls.{wall}, by which the solid of [{KEY}] could move; give one, as in"
            f" species_uptake_m_s = {{ {species} = 1e-4 }} there"
        )
    courses = [key for each in carried if each.get("name") == species for key in ("bolus", "waveform") if key in each]
    if courses:
        yield (
            f"has species.{species}.{courses[0]}, and [{KEY}] takes the species as steady between two steps of the"
            " surface; leave it out"
        )


def moving_solid(case) -> MovedBy | None:
    """The solid and how it moves."""
    own = case.dissolution
    if own is None:
        return None
    file = case.folder / own.shares_file if own.shares_file else None
    place = SolidPlace(own.wall, own.centre_m, own.radius_m, own.box_m, file)
    sign = -1.0 if own.role == REACTANT else 1.0
    return MovedBy(
        place,
        own.species,
        sign * own.molar_volume_m3,
        own.end_s,
        own.step_s,
        own.largest_change,
        own.settled_within,
    )


USUAL = (
    Usual(
        f"{KEY}.molar_volume_m3",
        outside(1e-7, 1.0),
        "{value} m3 of solid for each mol, or unit, of the species is that of no solid (calcite: 3.69e-5 m3/mol); one"
        " in cm3 is 1e6 times as large",
    ),
)

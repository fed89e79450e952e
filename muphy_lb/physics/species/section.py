"""The case file's list of tables [[species]], and keys of walls and openings."""

from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field

from muphy_lb.case.section import Name, Positive, Section, did_you_mean, exactly_one, given_tables, given_values
from muphy_lb.case.usual import schmidt

SERIES_FILE = "species_{}.csv"
FILES = (SERIES_FILE.format("*"),)
NotNegative = Annotated[float, Field(ge=0.0)]
WALL_KEYS = ("species", "species_flux", "species_uptake_m_s")


class SpeciesSection(Section):
    """A dissolved species: the flow carries it, diffusion spreads it, rate laws change it, walls take it up."""

    name: Name
    """letters, digits, _ and -, a letter first; the name in every output"""
    unit: Annotated[str, Field(pattern=r"^[A-Za-z0-9/%. _-]{1,20}$")] = "mol/m3"
    """unit of its values, for outputs; [unit] below"""
    diffusivity_m2_s: Positive | None = None
    """diffusivity [m2/s]"""
    schmidt: Positive | None = None
    """Schmidt number, viscosity over diffusivity, instead"""
    initial: float = 0.0
    """value everywhere at the start [unit]"""
    initial_file: str | None = None
    """value at every node at the start instead, a field of the species' name as in initial.velocity_file"""
    decay_per_s: NotNegative = 0.0
    """share that decays [1/s]"""
    production: float = 0.0
    """gain everywhere [unit/s]"""
    rate: str | None = None
    """rate law [unit/s]: numbers, names of species and of rates, + - * / **, exp, sqrt, min, max"""
    rates: dict[str, float] = {}
    """constants of the rate law by name, in SI units and those of the species"""

    @classmethod
    def rules(cls, given):
        """One diffusivity, one start; constants belong to a law."""
        yield from exactly_one(given, "diffusivity_m2_s", "schmidt")
        if given.get("initial") and "initial_file" in given:
            yield "has initial and initial_file; give one of them"
        if given.get("rates") and "rate" not in given:
            yield "has rates but no rate, the law whose constants they are"


SECTION = SpeciesSection
SECTIONS = SpeciesSection


class OpeningKeys(Section):
    """Keys of an opening."""

    species: dict[str, float] | None = None
    """value [unit] of each species by name; of one without a value nothing enters through an inlet"""


class WallKeys(Section):
    """Keys of a labelled wall."""

    species: dict[str, float] | None = None
    """value [unit] of species by name at its surface, or, of a wall that takes one up, beyond it"""
    species_flux: dict[str, float] | None = None
    """flux [unit m/s] of species by name into the fluid"""
    species_uptake_m_s: dict[str, NotNegative] | None = None
    """rate k [m/s] of species by name at which the wall takes up k (c - c beyond)"""

    @classmethod
    def rules(cls, given):
        """One condition for each species."""
        flux = given_values(given.get("species_flux")).keys()
        for key in ("species", "species_uptake_m_s"):
            for name in sorted(flux & given_values(given.get(key)).keys()):
                yield f"has {name} in {key} and species_flux; give one of both"
        yield from super().rules(given)


def rules(given: Mapping) -> Iterator[str]:
    """Names at walls and openings are those of species; ``given`` holds the raw tables of the case."""
    known = [table["name"] for table in given_tables(given.get("species")) if isinstance(table.get("name"), str)]
    tables = [(kind, table) for kind in ("openings", "walls") for table in given_tables(given.get(kind))]
    for kind, table in tables:
        named = {name: key for key in WALL_KEYS for name in given_values(table.get(key))}
        for name in named.keys() - set(known):
            remedy = did_you_mean(name, known) if known else "give [[species]] with that name"
            yield f"has {name!r} in {named[name]} of {kind}.{table.get('name')}, which is no species; {remedy}"


USUAL = (schmidt("species.*.diffusivity_m2_s"),)

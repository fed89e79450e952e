"""The case file's list of tables [[species]], and keys of walls and openings."""

from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field

from muphy_lb.case.section import Name, Positive, Section, did_you_mean, exactly_one, given_tables, given_values
from muphy_lb.case.usual import Usual, ends_before, schmidt
from muphy_lb.case.waveform import WaveformSection

SERIES_FILE = "species_{}.csv"
RESIDENCE_FILE = "residence_{}.csv"
FILES = (SERIES_FILE.format("*"), RESIDENCE_FILE.format("*"))
NotNegative = Annotated[float, Field(ge=0.0)]
KEYS = (
    "species",
    "species_inflow",
    "species_flux",
    "species_uptake_m_s",
    "species_saturation",
)  # of openings and walls


class BolusSection(Section):
    """When a species enters: a factor of its values at openings, 1 for a while and 0 before and behind, or a table."""

    start_s: NotNegative = 0.0
    """time [s] at which it begins"""
    length_s: Positive | None = None
    """duration [s]; without it unlimited, a step"""
    file: str | None = None
    """CSV table instead, relative to the folder of the case file: a line of headings, then time [s], or in the unit of
    its heading, and factor; straight between the rows, as in the first and last before and behind them"""

    @classmethod
    def rules(cls, given):
        """A table or a time."""
        if "file" in given and (given.get("start_s") or "length_s" in given):
            yield "has a file and start_s or length_s; give one of the two"


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
    """rate of decay [1/s]"""
    production: float = 0.0
    """uniform source [unit/s]"""
    length_m: Positive | None = None
    """length [m] of the Sherwood numbers of walls"""
    waveform: WaveformSection | None = None
    """factor of its values at openings over time, which repeats itself"""
    bolus: BolusSection | None = None
    """time at which it enters, if not always"""
    rate: str | None = None
    """rate law [unit/s]: numbers, names of species and of rates, + - * / **, exp, sqrt, min, max"""
    rates: dict[str, float] = {}
    """constants of the rate law by name, in SI units and those of the species"""

    @classmethod
    def rules(cls, given):
        """One diffusivity, one start, one course in time; constants belong to a law."""
        yield from exactly_one(given, "diffusivity_m2_s", "schmidt")
        if given.get("initial") and "initial_file" in given:
            yield "has initial and initial_file; give one of them"
        if given.keys() >= {"waveform", "bolus"}:
            yield "has waveform and bolus; give one of them"
        if given.get("rates") and "rate" not in given:
            yield "has rates but no rate, the law whose constants they are"


SECTION = SpeciesSection
SECTIONS = SpeciesSection


class OpeningKeys(Section):
    """Keys of an opening."""

    species: dict[str, float] | None = None
    """value [unit] of each species by name, held there; of one without a value nothing enters through an inlet"""
    species_inflow: dict[str, float] | None = None
    """value [unit] of the fluid that an inlet brings by name of the species; nothing diffuses out against it"""

    @classmethod
    def rules(cls, given):
        """One condition for each species."""
        held, brought = (given_values(given.get(key)).keys() for key in ("species", "species_inflow"))
        for name in sorted(held & brought):
            yield f"has {name} in species and species_inflow; give one of the two"
        yield from super().rules(given)


class WallKeys(Section):
    """Keys of a labelled wall."""

    species: dict[str, float] | None = None
    """value [unit] of species by name at its surface, or, of a wall that takes one up, beyond it"""
    species_flux: dict[str, float] | None = None
    """flux [unit m/s] of species by name into the fluid"""
    species_uptake_m_s: dict[str, NotNegative] | None = None
    """rate k [m/s] of species by name at which the wall takes up k (c - c beyond)"""
    species_saturation: dict[str, Positive] | None = None
    """value K [unit] of species by name at which that uptake is half saturated (Michaelis and Menten): the wall takes
    up k c / (1 + c / K), at most k K"""

    @classmethod
    def rules(cls, given):
        """One condition for each species."""
        flux = given_values(given.get("species_flux")).keys()
        taken, saturating = (
            given_values(given.get(key)).keys() for key in ("species_uptake_m_s", "species_saturation")
        )
        for name in sorted(saturating - taken):
            yield f"has {name} in species_saturation and not in species_uptake_m_s, the rate that saturates; give both"
        for name in sorted(saturating & given_values(given.get("species")).keys()):
            yield f"has {name} in species_saturation and species, its value beyond the wall; give one of the two"
        for key in ("species", "species_uptake_m_s"):
            for name in sorted(flux & given_values(given.get(key)).keys()):
                yield f"has {name} in {key} and species_flux; give one of the two"
        yield from super().rules(given)


def rules(given: Mapping) -> Iterator[str]:
    """Names at walls and openings are those of species, and a course in time belongs to a value at an opening;
    ``given`` holds the raw tables of the case."""
    known = [table["name"] for table in given_tables(given.get("species")) if isinstance(table.get("name"), str)]
    tables = [(kind, table) for kind in ("openings", "walls") for table in given_tables(given.get(kind))]
    for kind, table in tables:
        named = {name: key for key in KEYS for name in given_values(table.get(key))}
        for name in named.keys() - set(known):
            remedy = did_you_mean(name, known) if known else "give [[species]] with that name"
            yield f"has {name!r} in {named[name]} of {kind}.{table.get('name')}, which is not a species; {remedy}"
    entering = {
        name for kind, table in tables if kind == "openings" for key in KEYS for name in given_values(table.get(key))
    }
    for table in given_tables(given.get("species")):
        course = next((key for key in ("waveform", "bolus") if key in table), None)
        if course and table.get("name") not in entering:
            yield (
                f"has species.{table.get('name')}.{course}, and no opening at which it has a value: give one, as in"
                f" species_inflow = {{ {table.get('name')} = 1.0 }}"
            )


USUAL = (
    schmidt("species.*.diffusivity_m2_s"),
    Usual(
        "species.*.bolus.start_s",
        ends_before,
        "the run ends before {value} s, and it never enters: check that it is in seconds",
    ),
    Usual(
        "species.*.waveform.period_s",
        lambda period_s, setting: ends_before(period_s, setting) or period_s * setting.steps < 20 * setting.duration_s,
        "a period of {value} s is longer than the run, or has fewer than 20 time steps: check that it is in seconds",
    ),
)

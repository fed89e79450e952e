"""The case file's section [thermal], of a thermal flow, and keys of walls and openings."""

from collections.abc import Iterator, Mapping
from typing import Annotated

from muphy_lb.base.key_units import is_number
from muphy_lb.case.choice import OneOf
from muphy_lb.case.section import Positive, Section, Vector, exactly_one, given_tables, given_values
from muphy_lb.case.usual import Setting, Usual, about, outside
from muphy_lb.output.drawing import picture_files

OUTPUT_FIELDS = ("temperature",)
MONITORED = {"heat": "wall or opening of fixed temperature"}
SHAPES = {"heated_cavity": "facing_walls"}
SERIES_FILE, PICTURE_FILE = "heat.csv", "temperature.png"
FILES = (SERIES_FILE, *picture_files(PICTURE_FILE))
PAPERS = ("thelma",)
SOLID_KEYS = ("[thermal] and walls.{name}.conductivity_ratio",)
TEMPERATURE_KEYS = {"temperature_k", "temperature_gradient_k_m", "conductivity_ratio", "thickness_m"}


class ThermalSection(Section):
    """A temperature that the flow advects, with buoyancy (Boussinesq)."""

    reference_k: float
    """temperature [K] at which the fluid has its density and no buoyancy; also the initial temperature"""
    diffusivity_m2_s: Positive | None = None
    """thermal diffusivity [m2/s]"""
    prandtl: Positive | None = None
    """Prandtl number, viscosity over diffusivity, instead"""
    gravity_m_s2: Vector = (0.0, 0.0, -9.81)
    """gravity (x, y, z) [m/s2]"""
    expansion_1_k: float | None = None
    """volumetric thermal expansion [1/K]; 0: the temperature is advected without buoyancy"""
    rayleigh: Positive | None = None
    """Rayleigh number of length_m and the largest difference between walls, from which the expansion follows"""
    length_m: Positive | None = None
    """length [m] of Rayleigh and Nusselt numbers"""
    energy_coupling: float = 0.0
    """share of the temperature, over the largest difference of walls, in the equilibrium energy (TheLMA: 1)"""
    method: Annotated[str, OneOf("muphy_lb.physics.thermal.model", "METHODS")] = "finite-differences"
    """scheme for the temperature: finite differences are faster, populations conserve heat exactly"""

    @classmethod
    def rules(cls, given):
        """One diffusivity, one expansion; a Rayleigh number has a length and gravity."""
        yield from exactly_one(given, "diffusivity_m2_s", "prandtl")
        yield from exactly_one(given, "expansion_1_k", "rayleigh")
        if "rayleigh" in given and "length_m" not in given:
            yield "has rayleigh but no length_m"
        if "rayleigh" in given and not any(given.get("gravity_m_s2", (1.0,))):
            yield "has rayleigh but no gravity"


SECTION = ThermalSection


class OpeningKeys(Section):
    """Keys of an opening."""

    temperature_k: float | None = None
    """temperature [K] of what enters; without it no heat is conducted through the opening"""


class WallKeys(Section):
    """Keys of a labelled wall."""

    temperature_k: float | None = None
    """temperature [K] of its surface, or, of a wall that conducts, of its outer side"""
    conductivity_ratio: Positive | None = None
    """conductivity of the wall over that of the fluid: heat spreads in its voxels, as many as the geometry has"""
    thickness_m: Positive | None = None
    """thickness [m] of a wall of which only the surface counts: heat goes straight through to temperature_k outside"""
    temperature_gradient_k_m: float | None = None
    """temperature gradient [K/m] from the fluid into the wall instead; without both the wall is adiabatic"""

    @classmethod
    def rules(cls, given):
        """One thermal condition; a wall that conducts rests and does not slip."""
        if len(given.keys() & {"temperature_k", "temperature_gradient_k_m"}) == 2:
            yield "has temperature_k and temperature_gradient_k_m; give one of the two"
        conducts = given.keys() & {"conductivity_ratio", "thickness_m"}
        held = given.keys() & {"thickness_m", "temperature_k", "temperature_gradient_k_m"}
        if conducts and held and not given.keys() >= {"conductivity_ratio", "thickness_m", "temperature_k"}:
            yield (
                "conducts straight through with conductivity_ratio, thickness_m and temperature_k outside: give all"
                " three, or conductivity_ratio alone for heat that spreads in it"
            )
        if conducts and (given.get("slip") or given.keys() & {"velocity_m_s", "rotation_rad_s"}):
            yield "conducts and moves or slips, which is not computed"
        yield from super().rules(given)


class InitialKeys(Section):
    """Keys of the state at the start; without them the fluid has its reference temperature."""

    temperature_k: float | None = None
    """temperature [K] everywhere"""
    temperature_file: str | None = None
    """temperature [K] at every node, as velocity_file"""

    @classmethod
    def rules(cls, given):
        """Check that one temperature is given."""
        yield from super().rules(given)
        if given.keys() >= {"temperature_k", "temperature_file"}:
            yield "has temperature_k and temperature_file; give one of them"


def rules(given: Mapping) -> Iterator[str]:
    """Temperatures need the section; ``given`` holds the raw tables of the case."""
    tables = (*given_tables(given.get("openings")), *given_tables(given.get("walls")))
    warm = [table.get("name") for table in tables if table.keys() & TEMPERATURE_KEYS]
    if warm and not given.get("thermal"):
        yield f"has temperatures at {', '.join(map(str, warm))} but no [thermal]"
    start = given_values(given.get("initial")).keys() & {"temperature_k", "temperature_file"}
    if start and not given.get("thermal"):
        yield f"has initial.{min(start)} but no [thermal]"
    own, lattice = given_values(given.get("thermal")), str(given_values(given.get("lattice")).get("name", ""))
    gravity = own.get("gravity_m_s2", ThermalSection.model_fields["gravity_m_s2"].default)
    is_vector = isinstance(gravity, (list, tuple)) and all(map(is_number, gravity))
    if lattice.startswith("D2") and (own.get("expansion_1_k") or "rayleigh" in own) and is_vector and any(gravity[2:]):
        yield (
            f"has thermal.gravity_m_s2 = {list(gravity)}, but lattice {lattice} is two-dimensional, and heat would move"
            " no fluid: set its z component to 0, as in [0.0, -9.81, 0.0]"
        )


def solid_walls(case) -> dict[str, str]:
    """Walls in whose voxels heat spreads, each with the key that says so."""
    walls = (wall for wall in case.walls if wall.conductivity_ratio is not None and wall.thickness_m is None)
    return {wall.name: f"walls.{wall.name}.conductivity_ratio without thickness_m" for wall in walls}


def _is_other_scale(temperature_k, setting: Setting) -> bool:
    reference_k = setting.case.thermal and setting.case.thermal.reference_k
    cold, warm = sorted((abs(temperature_k), abs(reference_k or 0.0)))
    return not setting.is_dimensionless and reference_k is not None and cold < 130.0 and 200.0 < warm < 450.0


_OTHER_SCALE = "{value} K is far from thermal.reference_k: a temperature in degrees Celsius is given as '{value} degC'"

USUAL = (
    Usual("walls.*.temperature_k", _is_other_scale, _OTHER_SCALE),
    Usual("openings.*.temperature_k", _is_other_scale, _OTHER_SCALE),
    Usual(
        "thermal.gravity_m_s2",
        about(9.81e-3, 981.0, 9810.0),
        "this is the gravity of the earth in other units: in m/s2 it is 9.81",
    ),
    Usual(
        "thermal.diffusivity_m2_s",
        lambda value, setting: outside(1e-3, 1e6)(setting.case.fluid.viscosity_m2_s / value, setting),
        "with {value} m2/s the Prandtl number, viscosity over"
        " diffusivity, is that of no fluid (liquid metals: 0.01, air: 0.7, water: 7, oils: 1e4): check its unit",
    ),
)

"""The section of the case file about the velocity set, the collision, the walls and the time step."""

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from muphy_lb.base.key_units import is_number
from muphy_lb.case.section import OneOf, Positive, Section, exactly_one

RATE_WORDS = ("viscosity", "magic")


def _rates(table: dict) -> dict:
    for family, rate in table.items():
        number = is_number(rate) and 0.0 < rate <= 2.0
        if not number and rate not in RATE_WORDS:
            raise ValueError(f"has {family} = {rate!r}; must be a number above 0 and up to 2, 'viscosity' or 'magic'")
    return table


Rates = Annotated[dict[str, Any], AfterValidator(_rates)]


class LatticeSection(Section):
    """The velocity set, the collision, the walls, and the one number that fixes the time step."""

    name: Annotated[str, OneOf("muphy_lb.lattice", "LATTICES")] = "D3Q19"
    """velocity set"""
    collision: Annotated[str, OneOf("muphy_lb.operators", "RELAXATIONS")] = "bgk"
    """relaxation operator"""
    equilibrium: Annotated[str, OneOf("muphy_lb.operators", "EQUILIBRIA")] = "compressible"
    """terms kept: all; density only in the pressure; linear in the velocity (creeping flow)"""
    magic: Positive | None = None
    """Lambda of trt (3/16 if not given, which puts half-way walls half-way), and of the odd rates of mrt"""
    rates: Rates = {}
    """mrt: rate of each family of moments, a number, "viscosity" or "magic"; without one the set's published rate"""
    smagorinsky: Annotated[Positive, Field(le=1.0)] | None = None
    """Smagorinsky constant of a large-eddy simulation, about 0.1 to 0.17"""
    walls: Annotated[str, OneOf("muphy_lb.operators.wall_rules", "WALL_RULES")] = "half-way"
    """where walls are: half-way between voxels, or at their true distance by interpolation"""
    wall_balance: bool = True
    """interpolated walls: whether wall nodes make up for what their links return too much or too little"""
    relaxation_time: Positive | None = None
    """relaxation time [time steps], above 0.5"""
    time_step_s: Positive | None = None
    """time step [s]"""
    lattice_velocity: Positive | None = None
    """voxels per time step that the reference velocity shall be, best below 0.1"""
    reference_velocity_m_s: Positive | None = None
    """velocity [m/s] of the Reynolds and Mach numbers; without it the largest that an opening or wall imposes"""

    @classmethod
    def rules(cls, given):
        """One number fixes the time step; rates belong to mrt."""
        yield from exactly_one(given, "relaxation_time", "time_step_s", "lattice_velocity")
        if given.get("rates") and given.get("collision") != "mrt":
            yield "has rates, which only collision = 'mrt' reads"
        if "magic" in given and given.get("collision") not in ("trt", "mrt"):
            yield "has magic, which only collision = 'trt' or 'mrt' reads"

"""The section of the case file about the velocity set, the collision, the walls and the time step."""

from typing import Annotated

from pydantic import ConfigDict, Field

from muphy_lb.case.choice import KeysOf, OneOf
from muphy_lb.case.section import Positive, Section, exactly_one


class LatticeSection(Section):
    """The velocity set, the collision, the walls, and the one number that fixes the time step."""

    model_config = ConfigDict(extra="allow")
    keys_of = KeysOf("muphy_lb.operators", "RELAXATIONS")

    name: Annotated[str, OneOf("muphy_lb.lattice", "LATTICES")] = "D3Q19"
    """velocity set"""
    collision: Annotated[str, OneOf("muphy_lb.operators", "RELAXATIONS")] = "bgk"
    """relaxation operator"""
    equilibrium: Annotated[str, OneOf("muphy_lb.operators", "EQUILIBRIA")] = "compressible"
    """terms kept: all; density only in the pressure; linear in the velocity (creeping flow)"""
    smagorinsky: Annotated[Positive, Field(le=1.0)] | None = None
    """Smagorinsky constant of a large-eddy simulation, about 0.1 to 0.17"""
    walls: Annotated[str, OneOf("muphy_lb.operators.wall_rules", "WALL_RULES")] = "half-way"
    """position of walls: half-way between voxels, or at their true distance by interpolation"""
    wall_balance: bool = True
    """interpolated walls: whether wall nodes conserve mass by compensating the error of their links"""
    relaxation_time: Positive | None = None
    """relaxation time [time steps], above 0.5"""
    time_step_s: Positive | None = None
    """time step [s]"""
    lattice_velocity: Positive | None = None
    """reference velocity in voxels per time step, best below 0.1"""
    reference_velocity_m_s: Positive | None = None
    """velocity [m/s] of the Reynolds and Mach numbers; without it the largest that an opening or wall imposes"""

    @classmethod
    def rules(cls, given):
        """Check that one number fixes the time step and that a collision has only the keys that it declares."""
        yield from exactly_one(given, "relaxation_time", "time_step_s", "lattice_velocity")
        further = [key for key in given if key not in LatticeSection.model_fields and given[key] != {}]
        readers = LatticeSection.keys_of.readers if further else {}
        collision = given.get("collision", cls.model_fields["collision"].default)
        for key in further:
            if key in readers and collision not in readers[key]:
                yield f"has {key}, which only collision = {' or '.join(map(repr, readers[key]))} reads"

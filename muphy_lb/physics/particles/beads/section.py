"""The keys of a table of [[particles]] whose kind is "beads"."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from muphy_lb.base.key_units import is_number
from muphy_lb.case.choice import OneOf
from muphy_lb.case.section import Box, Name, Positive, Section, Vector, exactly_one, names_given_twice
from muphy_lb.physics.particles.base_section import MOST_LISTED, Count, ParticlesSection

FORCES, MODEL, COUPLING = (f"muphy_lb.physics.particles.beads.{name}" for name in ("forces", "model", "coupling"))

MOST_SUBSTEPS = 1000  # each is a few kernels of every time step, between which nothing else is done

#: Beads of a chain, whose positions are drawn one after the other, and of all chains together.
MOST_PER_CHAIN, MOST_IN_CHAINS = 10_000, 10_000_000


class BondsSection(Section):
    """Bonds between neighbours of a chain, or those that the file lists."""

    potential: Annotated[str, OneOf(FORCES, "BONDS")] = "harmonic"
    """shape of the potential"""
    stiffness_n_m: Positive
    """stiffness [N/m]"""
    length_m: NonNegativeFloat = 0.0
    """length at rest of a harmonic bond [m], 0 for the ideal chain's; longest extension of a FENE bond"""

    @classmethod
    def rules(cls, given):
        """A FENE bond has a longest extension."""
        if given.get("potential") == "fene" and not given.get("length_m"):
            yield "has potential = 'fene' but no length_m, the extension at which such a bond breaks"


class RepulsionSection(Section):
    """Forces between beads that are near each other."""

    potential: Annotated[str, OneOf(FORCES, "PAIRS")] = "wca"
    """shape of the potential"""
    energy_j: Positive
    """its strength epsilon [J]"""
    diameter_m: Positive
    """its length sigma [m]"""
    cutoff_m: Positive | None = None
    """distance [m] from which on there is no force; 2.5 sigma unless given (lennard-jones)"""

    @classmethod
    def rules(cls, given):
        """Only one potential can be cut off."""
        if "cutoff_m" in given and given.get("potential") != "lennard-jones":
            yield "has cutoff_m, which only potential = 'lennard-jones' reads"


class WallForceSection(Section):
    """How walls repel beads."""

    energy_j: Positive
    """strength epsilon [J] of the repulsive part of a Lennard-Jones potential"""
    distance_m: Positive
    """its length sigma [m], at most 0.89 of the voxel edge"""


class PullSection(Section):
    """An external force on some beads."""

    longest = MappingProxyType({"ids": MOST_LISTED})

    force_n: Vector
    """force (x, y, z) on each [N]"""
    ids: Annotated[tuple[NonNegativeInt, ...], Field(strict=False)] = ()
    """which beads, by id; without it all"""
    box_m: Box | None = None
    """lowest and highest corner [m] of the box in which it acts; without it everywhere"""


class KindSection(Section):
    """A kind of beads within a table, with a mass and friction of its own."""

    longest = MappingProxyType({"ids": MOST_LISTED})

    name: str
    """name of the kind, as the file has it, or any where ids are listed"""
    ids: Annotated[tuple[NonNegativeInt, ...], Field(strict=False)] = ()
    """which beads, by id; without it those of this kind in the file"""
    mass_kg: Positive | None = None
    """mass [kg]; that of the table unless given"""
    friction_kg_s: Positive | None = None
    """friction coefficient [kg/s]; that of the table unless given"""
    radius_m: Positive | None = None
    """radius [m] instead, from which Stokes' law gives the friction coefficient"""

    @classmethod
    def rules(cls, given):
        """At most one friction."""
        if "friction_kg_s" in given and "radius_m" in given:
            yield "has friction_kg_s and radius_m; give one of them"


class InflowSection(Section):
    """Beads that enter through an opening, one after the other at equal times, as many in each part of it as fluid
    enters there, with the velocity of the fluid."""

    opening: Name
    """name of the opening"""
    count: Count
    """total number that enter"""
    rate_per_s: Positive | None = None
    """number that enter per second [1/s]"""
    concentration_per_m3: Positive | None = None
    """or their number density in the inflow [1/m3], at an opening of given, constant velocity"""
    start_s: NonNegativeFloat = 0.0
    """time at which the first enters [s]"""
    kind: str | None = None
    """name of their kind, one of [[particles.kinds]]"""

    @classmethod
    def rules(cls, given):
        """Check that the number of beads is given in one way."""
        yield from exactly_one(given, "rate_per_s", "concentration_per_m3")


class BeadsSection(ParticlesSection):
    """Beads: they drag the fluid along, and it them; bonds make chains of them."""

    kind: Literal["beads"]
    """what they are"""
    count: Count | None = None
    """number of single beads; they start evenly spread over the fluid, or in box_m"""
    chains: PositiveInt | None = None
    """number of chains instead"""
    beads_per_chain: Annotated[int, Field(ge=2, le=MOST_PER_CHAIN)] | None = None
    """number of beads of each chain"""
    start: Literal["walk", "line"] = "walk"
    """shape in which chains start: a random walk, or a line along x as far as there is fluid"""
    start_m: Vector | None = None
    """position (x, y, z) [m] of the first bead of the only chain"""
    bonds_file: str | None = None
    """CSV table of bonds between the beads of file or positions_m: columns id_1, id_2"""
    time_unit_s: Positive | None = None
    """unit of time of the file's velocities [s], where the file does not state it; beads start with these velocities"""
    box_m: Box | None = None
    """lowest and highest corner [m] of the box in which they start"""
    mass_kg: Positive
    """mass of a bead [kg]"""
    friction_kg_s: Positive | None = None
    """friction coefficient, force over velocity relative to the fluid [kg/s]"""
    radius_m: Positive | None = None
    """radius [m] instead, from which Stokes' law gives the friction coefficient"""
    kinds: Annotated[tuple[KindSection, ...], Field(strict=False)] = ()
    """kinds of beads that differ in mass or friction, each in a table [[particles.kinds]]"""
    openings: Literal["walls", "open"] = "walls"
    """whether openings are walls to beads, or beads leave where the fluid leaves"""
    inflow: Annotated[tuple[InflowSection, ...], Field(strict=False)] = ()
    """beads that enter with the fluid, each in a table [[particles.inflow]]"""
    kernel: Annotated[str, OneOf(COUPLING, "KERNELS")] = "linear"
    """nodes that a bead is coupled to: the corners of the cell around it, or the nearest node"""
    coupling: Annotated[str, OneOf(MODEL, "COUPLINGS")] = "both"
    """whether beads and fluid exert drag on each other, only the fluid on the beads, or the fluid counts as at rest"""
    substeps: Annotated[int, Field(gt=0, le=MOST_SUBSTEPS)] = 1
    """steps in which forces between beads act, for each of the fluid's"""
    bonds: BondsSection | None = None
    """forces along bonds"""
    bending_j: Positive | None = None
    """energy k [J] of bending: k (1 - cos theta) at every angle theta between bonds of a chain"""
    repulsion: RepulsionSection | None = None
    """forces between beads near each other"""
    wall_force: WallForceSection | None = None
    """repulsion of beads by walls; without it kT (or 0.001 of the fluid's energy scale) over 0.5 voxels"""
    pull: PullSection | None = None
    """an external force"""
    capacity: PositiveInt | None = None
    """largest number of beads on a rank; by default the number of all beads"""

    of_file = (*ParticlesSection.of_file, "time_unit_s")

    @property
    def n_to_place(self) -> int:
        """Single beads, or all of the chains, and those that enter."""
        own = self.count or (self.chains or 0) * (self.beads_per_chain or 0)
        return own + sum(each.count for each in self.inflow)

    @classmethod
    def rules(cls, given):
        """One number, one friction; chains have bonds, single beads have none."""
        yield from super().rules(given)
        if not given.get("inflow") or given.keys() & {"count", "chains", "file", "positions_m"}:
            yield from exactly_one(given, "count", "chains", "file", "positions_m")
        yield from exactly_one(given, "friction_kg_s", "radius_m")
        yield from cls._of_openings(given)
        for name in names_given_twice(given.get("kinds")):
            yield f"has two kinds named {name!r}; give each a name of its own"
        if ("chains" in given) != ("beads_per_chain" in given):
            yield "needs both or none of chains and beads_per_chain"
        numbers = [given.get(key) for key in ("chains", "beads_per_chain")]
        if all(map(is_number, numbers)) and (count := math.prod(numbers)) > MOST_IN_CHAINS:
            yield (
                f"has chains = {numbers[0]} and beads_per_chain = {numbers[1]}, {count} beads; at most"
                f" {MOST_IN_CHAINS} are allowed; more must come from a file"
            )
        if "chains" in given and "bonds" not in given:
            yield "has chains but no bonds, which hold them together"
        if "start_m" in given and given.get("chains") != 1:
            yield "has start_m, which only a single chain (chains = 1) reads"
        if "bonds_file" in given and not given.keys() & {"file", "positions_m"}:
            yield "has bonds_file, whose bonds are between the beads of file or positions_m; give one of these"
        bonded = [key for key in ("bonds", "bending_j") if key in given]
        if bonded and "count" in given:
            yield f"has {bonded[0]}, and the single beads of count have no bonds; give chains, or a file"
        elif "bending_j" in given and "bonds" not in given:
            yield "has bending_j but no bonds between which there are angles"

    @classmethod
    def _of_openings(cls, given):
        """Beads that pass openings are single, dragged by the fluid, and find room where they enter."""
        if given.get("openings") != "open":
            if given.get("inflow"):
                yield "has inflow, and openings are walls to its beads; set openings = 'open'"
            return
        if bonded := [key for key in ("chains", "bonds") if key in given]:
            yield f"has openings = 'open' and {bonded[0]}: an opening would cut bonds; leave one of them out"
        if given.get("coupling") == "at-rest":
            yield (
                "has openings = 'open' and coupling = 'at-rest': a fluid at rest carries none of them through; set"
                " coupling = 'one-way'"
            )
        repulsion = given.get("repulsion")
        if given.get("inflow") and isinstance(repulsion, Mapping) and repulsion.get("potential", "wca") != "soft":
            yield (
                "has inflow and a repulsion that is infinite where beads meet, as they may where they enter; set"
                " repulsion.potential = 'soft'"
            )

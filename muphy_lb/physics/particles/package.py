"""Particles as a physics package (:mod:`muphy_lb.physics.package`)."""

from muphy_lb.base.errors import InputError
from muphy_lb.case.output import SPEED
from muphy_lb.case.section import did_you_mean
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.measure.field_snapshots import known_fields
from muphy_lb.physics.package import Physics
from muphy_lb.physics.particles.beads.species import BeadSpecies
from muphy_lb.physics.particles.measures import PlaneCounts
from muphy_lb.physics.particles.species import Species
from muphy_lb.physics.particles.tracers.species import Tracers

SPECIES: dict[str, type[Species]] = {kind.kind: kind for kind in (Tracers, BeadSpecies)}


class Particles(Physics):
    """All particles of a case: an object for each table of [[particles]].

    Attributes:
        species: these objects, in the order of the tables.
    """

    name = "particles"
    excludes = frozenset({"age", "dissipation", "thermal"})

    def __init__(self, case, header: GeometryHeader, units):
        self.species = tuple(SPECIES[section.kind](section, case, header, units) for section in case.particles)
        self.becomes_steady = not any(species.moves_fluid for species in self.species)
        self.drawn_particles = {species.name: species.drawn for species in self.species}

    @classmethod
    def bytes_per_node(cls, case, lattice) -> float:
        """Memory of the fields that each species needs."""
        return sum(SPECIES[section.kind].bytes_per_node(section, case, lattice) for section in case.particles)

    def check(self, view) -> None:
        """Refuse planes that nothing can cross, and fields that there are not."""
        known = known_fields(view)
        for species in self.species:
            PlaneCounts(species.section, view.header, view.lattice.dimension)
            for name in species.section.fields:
                if name not in known or name == SPEED:
                    others = [each for each in known if each != SPEED]
                    raise InputError(
                        f"particles.{species.name}.fields has {shown(name)}, and there is no such field;"
                        f" {did_you_mean(name, others)}"
                    )

    def extend(self, flow):
        """The flow with one species after the other."""
        for species in self.species:
            flow = species.extend(flow)
        return flow

    def initial_particles(self, view):
        """Initial positions of each species."""
        return {species.name: species.initial(view) for species in self.species}

    def describe(self) -> str:
        """Number and properties of each species."""
        return "particles: " + "; ".join(species.describe() for species in self.species)

    def warnings(self) -> tuple[str, ...]:
        """Keys of each species that have no effect, or make a result wrong."""
        return tuple(f"particles.{each.name}: {text}" for each in self.species for text in each.warnings())

    def observers(self, view, folder, resume_step):
        """The outputs of each species."""
        return tuple(each for species in self.species for each in species.observers(view, folder, resume_step))


PHYSICS = Particles

"""The permeability of nodes, from the regions of a case."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import Case
from muphy_lb.domain import LocalDomain
from muphy_lb.geometry.labels import in_region
from muphy_lb.geometry.nodes import GeometryHeader, NodeList, within
from muphy_lb.physics.porous_medium.section import KEY, PorousSection
from muphy_lb.setup.input_fields import Wanted, read_field

NONE = -1  # number of the region of nodes without a medium


@dataclass(frozen=True)
class Place:
    """Nodes whose permeability is asked for: voxel ids (n,), numbers in the node list (n,), and a node list with their
    labels."""

    voxel: np.ndarray
    number: np.ndarray
    nodes: NodeList

    @classmethod
    def of_rank(cls, domain: LocalDomain) -> "Place":
        """The nodes of a rank."""
        return cls(domain.voxel, domain.number, domain.part.nodes)

    @classmethod
    def of_all(cls, nodes: NodeList) -> "Place":
        """All nodes."""
        return cls(nodes.voxel[:], np.arange(nodes.n_nodes), nodes)


@dataclass(frozen=True)
class Regions:
    """The regions of a case in its geometry."""

    case: Case
    header: GeometryHeader

    @cached_property
    def sections(self) -> tuple[PorousSection, ...]:
        """The tables of the case."""
        return tuple(self.case.porous_medium)

    def numbers(self, place: Place) -> np.ndarray:
        """(n,) number of the region of each node, ``NONE`` where there is no medium."""
        number = np.full(place.voxel.size, NONE, dtype=np.int16)
        for k, section in enumerate(self.sections):
            number[self._inside(section, place)] = k
        return number

    def permeabilities_m2(self, place: Place) -> np.ndarray:
        """(n,) permeability [m2] of each node, infinite where there is no medium. Raises InputError: a file cannot be
        read, or has values that are none."""
        found = np.full(place.voxel.size, np.inf)
        for section in self.sections:
            inside = self._inside(section, place)
            found[inside] = self._of(section, place, inside)
        return found

    def _inside(self, section: PorousSection, place: Place) -> np.ndarray:
        if section.label is not None:
            return in_region(place.nodes, section.name, place.voxel)
        if section.box_m is None and section.centre_m is None:
            return np.ones(place.voxel.size, dtype=bool)
        return within(place.voxel, self.header, section.box_m, section.centre_m, section.radius_m)

    def _of(self, section: PorousSection, place: Place, inside: np.ndarray) -> np.ndarray | float:
        """The permeability [m2] of the nodes in a region."""
        if section.uniform_m2 is not None:
            return section.uniform_m2
        key = f"{KEY}.{section.name}.permeability_file"
        path = self.case.folder / str(section.permeability_file)
        values = read_field(path, Wanted(key, "permeability", 1), self.header, place)[inside, 0]
        if section.permeability_of is not None:
            grey, permeability_m2 = np.array(section.permeability_of).T
            return np.exp(np.interp(values, grey, np.log(permeability_m2)))
        if not (values > 0.0).all():
            raise InputError(
                f"{key}: {path} has a permeability of {values.min():g} m2 at a node of the part; it must be above 0:"
                " give a small one where nothing flows, a large one where the fluid is clear, or a smaller part (box_m)"
            )
        return values

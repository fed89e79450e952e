"""The contract of two fluids that displace each other in pores, as the commands on rocks see it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.registry import packages, sections
from muphy_lb.case.case import Case, as_case
from muphy_lb.case.toml import as_override
from muphy_lb.measure.flow_view import FlowView

LONG = 8.0
"""Lengths of the box that both fluids together flow through until their means do not remember where they started: a
pack of three spheres across, capillary numbers of 0.02 to 0.5."""


@dataclass(frozen=True)
class Displacement:
    """Two fluids, the first of which is that of [fluid]; an attribute of a physics."""

    section: str  #: name of its section of the case, and of its record in summaries
    #: keys of the section that give the start: the saturation of the second fluid, a file with the state from which it
    #: is reached, others
    starts: tuple[str, ...]
    drive: str  #: key of the section: a body force on one of them
    known_within: str  #: key of the section: the error of the mean flows of both, within which a run ends
    entering: str  #: key of openings: share of the second fluid in what enters
    viscosities_m2_s: Callable[[Case], tuple[float, float]]  #: kinematic viscosities of both
    tension_n_m: Callable[[Case], float]  #: interfacial tension
    #: names of the Darcy velocities (x, y, z) of both in its record, below "mean" and "standard_error"
    flows: tuple[tuple[str, str, str], tuple[str, str, str]]
    #: saturation of the second fluid among some nodes, a mask or slice in node-list order, on rank 0; collective
    saturation: Callable[[FlowView, np.ndarray | slice], float | None]
    structure: Callable[[FlowView], dict[str, float] | None]  #: parts and areas of both, on rank 0; collective
    structure_columns: tuple[str, ...]  #: names of these numbers
    #: in words, how flows start and interfaces act: flows of another method are not continued with
    method: str
    is_second: Callable[[FlowView], np.ndarray]  #: (n,) whether a node of this rank holds more of the second fluid

    def with_start(self, case: Case, saturation: float, state: str | None, known_within: float) -> Case:
        """The case that starts at a saturation of the second fluid, from the state of a field file or from none,
        and ends once the mean flows are known; its field files hold the whole state."""
        asked = getattr(getattr(case, self.section), self.known_within) or known_within
        begin = dict(zip(self.starts, (saturation, state), strict=False))
        keys = {**dict.fromkeys(self.starts), **begin, self.known_within: asked}
        whole = [as_override(f"output.{key}", value) for key, value in (("vtk", True), ("region_m", None))]
        return as_case(case, [*whole, *(as_override(f"{self.section}.{key}", value) for key, value in keys.items())])

    def first_alone(self, case: Case) -> Case:
        """The case of the first fluid alone, without keys and fields of both."""
        module = sections()[self.section]
        tables = (("walls", case.walls, module.WallKeys), ("openings", case.openings, module.OpeningKeys))
        of_both = [
            f"{kind}.{each.name}.{key}" for kind, all_, keys in tables for each in all_ for key in keys.model_fields
        ]
        gone = (self.section, *of_both, "output.fields", "output.frames_field")
        return as_case(case, [as_override(key, None) for key in gone])


def displacement_of(case: Case, command: str) -> Displacement:
    """Displacement of one fluid by another, as a physics of the case declares it. Raises InputError: the case has a
    single fluid, or a force drives one of the two."""
    found = [each.displacement for each in packages(case) if each.displacement is not None]
    if not found:
        raise InputError(f"{command}: the case has one fluid alone; add the section of a second one")
    fluids = found[0]
    if any(getattr(getattr(case, fluids.section), fluids.drive)):
        raise InputError(
            f"{command}: {fluids.section}.{fluids.drive} drives one fluid alone, beside what drives both; leave it out"
        )
    return fluids

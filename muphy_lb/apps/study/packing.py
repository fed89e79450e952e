"""Packing: several members side by side in one node list, as components that no link joins, for one launch.

Boxes are stacked along z with a layer of solid between them. Measures of openings are those of each member by itself,
and positions enter them as voxel coordinates less a whole number, which is exact: each member has the bits that it
has alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from muphy_lb.base.narrow import known
from muphy_lb.base.registry import sections
from muphy_lb.boundaries.opening_geometry import Condition, OpeningFrame, opening_layers, outlets_of
from muphy_lb.case.boundaries import OpeningSection
from muphy_lb.case.case import Case
from muphy_lb.case.output import OutputSection
from muphy_lb.domain import streaming_named
from muphy_lb.geometry.link_cuts import Cuts
from muphy_lb.geometry.nodes import NodeList, voxel_coordinates
from muphy_lb.geometry.voxels import MAX_OPENINGS
from muphy_lb.operators import LAYERS
from muphy_lb.run.preparation import Preparation
from muphy_lb.run.solver import Solver
from muphy_lb.setup.advice.stability import wants_other_moments
from muphy_lb.setup.geometry import is_prepared
from muphy_lb.setup.numerics import Numerics
from muphy_lb.setup.waveforms import longest_period_s

GAP = 1  # layers of solid between two members
MOST_NODES = 2**26
PLACE = dict.fromkeys(("kind", "centre_m", "normal", "radius_m"))


class Survey(Preparation):
    """The openings and numbers of a member by itself; nothing is laid out on ranks. Collective."""

    def _lay_out(self) -> None:
        """Lay out nothing: the pack lays out the nodes of all its members."""


@dataclass(frozen=True)
class Place:
    """The place of a member in a pack."""

    layer: int  #: first layer (z) of its box
    opening: int  #: number of its first opening
    number: np.ndarray  #: (n,) numbers in the pack of its nodes, on rank 0; empty elsewhere


def why_alone(case: Case) -> str:
    """The reason for which a case cannot be packed with others; empty if it can."""
    output = case.output
    reasons = {
        "it is a flow in a plane": case.lattice.name.startswith("D2"),
        "it has labelled walls": bool(case.walls),
        "its box repeats": bool(case.geometry.periodic),
        "its geometry is prepared": is_prepared(case),
        "a file gives its acceleration": case.flow.acceleration_file is not None,
        "it starts from a given state": case.initial is not None,
        "it pulsates": bool(longest_period_s(case)),
        "it streams by push": streaming_named(case.compute.streaming).stores_before_collision,
        "it watches more than flow_rates": case.run.may_end_early and case.run.steady_watch != ("flow_rates",),
        "it writes frames or fields on its way": bool(output.frames_every_steps or output.fields_every_steps),
        "it has a physics besides the flow": any(physics_sections(case).values()),
    }
    return "; ".join(reason for reason, holds in reasons.items() if holds)


def physics_sections(case: Case) -> dict[str, object]:
    """The sections of a case that belong to a physics, by name."""
    return {name: getattr(case, name) for name in sections()}


def in_common(case: Case) -> tuple:
    """The parts of its case that a member shares with all others of its pack."""
    return case.fluid, case.flow, case.lattice, case.compute, case.run, case.output.wall_shear


def common(survey: Survey) -> tuple:
    """Parts of the case and derived numbers that all members of a pack share."""
    case, numerics = survey.case, survey.numerics
    regime = wants_other_moments(case.lattice, numerics.relaxation_time, numerics.cell_reynolds)
    return *in_common(case), numerics.units, numerics.relaxation_time, numerics.steps, numerics.has_zones, regime


def packed_case(surveys: Sequence[Survey]) -> Case:
    """The case of a pack: that of its first member with the openings of all."""
    first = surveys[0].case
    openings = [
        section.model_copy(update={**PLACE, "name": name_of(section.name, k)})
        for k, survey in enumerate(surveys)
        for section in _in_order(survey)
    ]
    apart: Mapping[str, tuple] = {"probes": (), "segments": (), "wall_regions": ()}
    output = OutputSection(wall_shear=first.output.wall_shear)
    return first.model_copy(update={"openings": tuple(openings), "output": output, **apart})


def name_of(opening: str, member: int) -> str:
    """The name of an opening of a member of the pack."""
    return f"{opening}_of_{member}"


def _in_order(survey: Survey) -> list[OpeningSection]:
    sections = {section.name: section for section in survey.case.openings}
    return [sections[opening.name] for opening in survey.header.openings]


def fits(n_openings: int, n_nodes: int) -> bool:
    """Whether one pack may have so many openings and nodes."""
    return n_openings <= MAX_OPENINGS and n_nodes <= MOST_NODES


def places_of(headers: Sequence, lists: Sequence[NodeList] | None) -> list[Place]:
    """The places of members, with the numbers of their nodes where the lists are given, on rank 0."""
    layers = np.cumsum([0, *(header.shape[0] + GAP for header in headers)])
    openings = np.cumsum([0, *(len(header.openings) for header in headers)])
    numbers = [np.empty(0, dtype=np.int64)] * len(headers) if lists is None else _numbers(lists)
    return [Place(int(layers[k]), int(openings[k]), numbers[k]) for k in range(len(headers))]


def _numbers(lists: Sequence[NodeList]) -> list[np.ndarray]:
    """Numbers in the pack of the nodes of each member: those that touch no opening come first, of all members, then the
    group of each opening."""
    interior = np.cumsum([0, *(int(nodes.group_start[1]) for nodes in lists)])
    sizes = [nodes.n_nodes - int(nodes.group_start[1]) for nodes in lists]
    behind = int(interior[-1]) + np.cumsum([0, *sizes])
    return [
        np.concatenate((interior[k] + np.arange(nodes.group_start[1]), behind[k] + np.arange(sizes[k])))
        for k, nodes in enumerate(lists)
    ]


def packed_nodes(lists: Sequence[NodeList], places: Sequence[Place]) -> NodeList:
    """The node list of a pack."""
    ny, nx = (max(nodes.shape[axis] for nodes in lists) for axis in (1, 2))

    def placed(voxel: np.ndarray, k: int) -> np.ndarray:
        x, y, z = voxel_coordinates(voxel, lists[k].shape).T
        return ((z + places[k].layer) * ny + y) * nx + x

    def joined(values: Callable[[NodeList], np.ndarray]) -> np.ndarray:
        return np.concatenate([placed(values(nodes), k) for k, nodes in enumerate(lists)])

    voxel = np.empty(sum(nodes.n_nodes for nodes in lists), dtype=np.int64)
    for k, nodes in enumerate(lists):
        voxel[places[k].number] = placed(nodes.voxel, k)
    sizes = [
        sum(int(nodes.group_start[1]) for nodes in lists),
        *(n for nodes in lists for n in np.diff(nodes.group_start)[1:]),
    ]
    shift = [np.uint8(place.opening) for place in places]
    openings = [
        replace(opening, name=name_of(opening.name, k)) for k, nodes in enumerate(lists) for opening in nodes.openings
    ]
    first = lists[0]
    return replace(
        first,
        voxel=voxel,
        group_start=np.concatenate(([0], np.cumsum(sizes))),
        shape=(places[-1].layer + lists[-1].shape[0], ny, nx),
        openings=tuple(openings),
        label_voxel=joined(lambda nodes: nodes.label_voxel),
        label_number=np.concatenate([nodes.label_number + shift[k] for k, nodes in enumerate(lists)]),
        cuts=None if first.cuts is None else _joined_cuts(lists, joined),
    )


def _joined_cuts(lists: Sequence[NodeList], joined: Callable) -> Cuts:
    cuts = [known(nodes.cuts) for nodes in lists]
    return Cuts(
        joined(lambda nodes: known(nodes.cuts).voxel),
        np.concatenate([each.direction for each in cuts]),
        np.concatenate([each.distance for each in cuts]),
        sum(each.n_missed for each in cuts),
    )


@dataclass(frozen=True)
class _Placed:
    """The profile of a member's opening, at positions in the pack."""

    profile: Callable
    frame: OpeningFrame
    offset: np.ndarray

    def __call__(self, _, midpoint: np.ndarray) -> np.ndarray:
        """(m,) values at midpoints of links (m, 3)."""
        return self.profile(self.frame, midpoint - self.offset)


class PackedSolver(Solver):
    """The flow of a pack. Collective.

    Args:
        surveys: of all members.
        places: of all members.
        nodes: of the pack, on rank 0.
    """

    def __init__(self, surveys: Sequence[Survey], places: Sequence[Place], communicator, nodes: NodeList | None):
        self._surveys, self._places = surveys, places
        super().__init__(packed_case(surveys), communicator, nodes)

    def _survey_openings(self) -> None:
        """Take the measures of every member by itself."""
        self.numerics = self._surveys[0].numerics
        frames: list[OpeningFrame] = []
        conditions: list[Condition] = []
        for survey, place in zip(self._surveys, self._places, strict=True):
            offset = np.array([0.0, 0.0, place.layer])
            for frame, condition in zip(survey.frames, survey.conditions, strict=True):
                frames.append(frame.moved(offset))
                conditions.append(_placed_condition(condition, frame, offset, place.opening))
        self.frames, self.conditions = tuple(frames), tuple(conditions)
        self._carried = np.concatenate([survey._carried for survey in self._surveys])

    def _resolve(self, case: Case) -> Numerics:
        return self._surveys[0].numerics

    def _zone_layers(self) -> np.ndarray:
        """Layers of every member by itself: a zone may reach beyond the box of its member."""
        voxel = self.domain.voxel
        z = voxel_coordinates(voxel, self.header.shape)[:, 2]
        found = np.full(voxel.size, LAYERS, dtype=np.uint8)
        for survey, place in zip(self._surveys, self._places, strict=True):
            mine = (z >= place.layer) & (z < place.layer + survey.header.shape[0])
            own = slice(place.opening, place.opening + len(survey.header.openings))
            outlets = outlets_of(self.frames[own], self.conditions[own])
            found[mine] = opening_layers(self.header, voxel[mine], outlets)
        return found


def _placed_condition(condition: Condition, frame: OpeningFrame, offset: np.ndarray, first: int) -> Condition:
    feedback = condition.feedback
    if feedback is not None:
        feedback = replace(feedback, beside={first + number: share for number, share in feedback.beside.items()})
    return replace(condition, profile=_Placed(condition.profile, frame, offset), feedback=feedback)

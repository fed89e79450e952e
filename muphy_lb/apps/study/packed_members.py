"""Running members in packs: those that can be are claimed, stepped together, and written one by one as they end."""

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from muphy_lb.apps.study.pack import Pack
from muphy_lb.apps.study.packing import Survey, common, fits, in_common, why_alone
from muphy_lb.apps.study.phases import NODES, SET_UP, STEPS, Phases
from muphy_lb.base.errors import InputError
from muphy_lb.base.phases import quietly
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.parallel import from_root


def run_packs(flows, numbers: Sequence[int], say: Callable[[str], None], signals) -> None:
    """Run in packs what can be: members that have not ended and that no other process is at. The others run one
    after the other afterwards: members that differ in their time step or have what no pack offers, and those that
    became unstable, whose reason is reported then. Collective.

    Args:
        flows: runs members one by one.
        signals: a stop signal ends the work; a pack that has not ended begins again.
    """
    for waiting in _alike(flows, numbers):
        while len(waiting) > 1 and not flows.communicator.maximum(signals.received):
            waiting = _one_pack(flows, waiting, say, signals)


def _one_pack(flows, waiting: Sequence[int], say: Callable[[str], None], signals) -> list[int]:
    """Run one pack of members; returns those that wait for the next, none where it took none of them."""
    with ExitStack() as claims:
        candidates, phases = _Candidates(flows, claims), Phases()
        left = candidates.fill(waiting)
        phases.end(NODES)
        if len(candidates.surveys) > 1:
            _run(flows, candidates, phases, say, signals)
        return left if len(left) < len(waiting) else []


def _alike(flows, numbers: Sequence[int]) -> list[list[int]]:
    """Groups of members that have not ended and whose cases allow them to share a pack; collective."""
    members, communicator = flows.members, flows.communicator

    def grouped() -> list[list[int]]:
        groups: dict[str, list[int]] = defaultdict(list)
        for number in numbers:
            case = members.flow_case(number)
            if members.outcome(number) is None and not why_alone(case):
                groups[repr(in_common(case))].append(number)
        return list(groups.values())

    return from_root(communicator, grouped)


class _Candidates:
    """Members of the next pack, claimed, with their surveys and nodes."""

    def __init__(self, flows, claims: ExitStack):
        self._flows, self._claims = flows, claims
        self.surveys: dict[int, Survey] = {}
        self.nodes: dict[int, NodeList | None] = {}
        self._kind: tuple = ()
        self._size = 0, 0

    def fill(self, waiting: Sequence[int]) -> list[int]:
        """Claim members, as many as the pack may have; returns those that wait for the next pack."""
        left, most = [], self._flows.members.asked.section.pack
        for number in waiting:
            if len(self.surveys) == most:
                left.append(number)
            elif (found := self._surveyed(number)) is not None and not self._joins(number, *found):
                left.append(number)
        return left

    def _surveyed(self, number: int) -> tuple[Survey, Any] | None:
        """The survey and the nodes of a member; None where it is not for a pack, or another process is at it."""
        members, communicator = self._flows.members, self._flows.communicator
        case = members.flow_case(number)
        if communicator.broadcast(communicator.rank == 0 and members.outcome(number) is not None):
            return None
        try:
            nodes = self._flows.shared_nodes(case)
            survey = Survey(case, communicator, nodes)
        except InputError:  # reported when it is run alone
            return None
        return None if any(survey.header.periodic) else (survey, nodes)

    def _joins(self, number: int, survey: Survey, nodes: NodeList | None) -> bool:
        communicator = self._flows.communicator
        has_cuts = communicator.broadcast(nodes is not None and nodes.cuts is not None)
        kind = (*common(survey), has_cuts)
        size = self._size[0] + len(survey.header.openings), self._size[1] + survey.header.n_nodes
        if (self.surveys and kind != self._kind) or not fits(*size):
            return False
        if from_root(communicator, lambda: self._claims.enter_context(self._flows.members.claimed(number))):
            self.surveys[number], self.nodes[number] = survey, nodes
            self._kind, self._size = kind, size
        return True


def _run(flows, candidates: _Candidates, phases: Phases, say: Callable[[str], None], signals) -> None:
    """Step a pack until all of its members have ended. A member gets its share of the time that the pack took before,
    and all of the time that its own results take."""
    communicator, begun, count = flows.communicator, time.perf_counter(), len(candidates.surveys)
    left = count
    lists = None if communicator.rank else list(candidates.nodes.values())
    try:
        with quietly():
            pack: Pack | None = Pack(candidates.surveys, lists, communicator)  # type: ignore[arg-type]  # rank 0's
    except InputError as error:
        say(f"{count} members run one after another, since together they cannot: {error}")
        return
    n_nodes = sum(survey.header.n_nodes for survey in candidates.surveys.values())
    say(f"{count} members together, {n_nodes:,} nodes")
    phases.end(SET_UP)
    while pack is not None:
        ends = pack.advance(lambda: bool(communicator.maximum(signals.received)))
        phases.end(STEPS)
        if not ends:
            return
        share = phases.shared(left)
        for ended in filter(lambda each: each.reason, ends):
            outcome = flows.concluded(ended.key, ended, candidates.nodes[ended.key], share)
            say(f"member {ended.key}: {outcome.failure or outcome.verdict}, {outcome.steps:,} steps")
        phases = phases.without(len(ends), left)
        left -= len(ends)
        with quietly():
            pack = pack.without([ended.key for ended in ends])
    say(f"{count} members together took {time.perf_counter() - begun:.1f} s")

"""The permeability of a rock, along one direction or as a tensor: what ``muphy-lb permeability`` computes."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

from muphy_lb.apps.rock.refined_flow import RefinedFlow
from muphy_lb.apps.rock.refinement import Refinement
from muphy_lb.apps.rock.settled_flow import Desk, Flow, forget_flow, is_done
from muphy_lb.apps.rock.time_step import quick_flow
from muphy_lb.base.errors import InputError
from muphy_lb.base.files.atomic import atomic_write, check_file, check_writable, refuse_linked_folder
from muphy_lb.base.phases import PROFILE, SETTING_UP
from muphy_lb.case.case import Case, load_case
from muphy_lb.geometry.axes import AXES
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.porous.pores import pores_of
from muphy_lb.measure.permeability import DARCY_M2, driving_acceleration, refuse_other_drives
from muphy_lb.measure.permeability_observer import distribution_chart, permeability_lines
from muphy_lb.output.series import write_summary
from muphy_lb.parallel.watchdog import Sentry
from muphy_lb.run.loop import Clock, stopped
from muphy_lb.run.options import DEFAULT_OUTPUT
from muphy_lb.run.profile import profile_of_ranks, profile_table
from muphy_lb.run.solver import Ahead
from muphy_lb.run.stop_signals import StopSignals
from muphy_lb.setup.geometry import is_prepared, load_nodes, open_case_nodes

UNSETTLED_EXIT_CODE = 1


def permeability(options, say: Callable[[str], None], communicator) -> int:
    """Run one flow, or one along each axis, until k settles; returns the exit code: 1 if one did not, 75 if a flow was
    stopped, from where the same command continues.

    The tolerance is ``run.steady_tolerance``, 5e-4 without it, per ``run.steady_time_s``, without it the slowest time
    of the flow (:data:`muphy_lb.apps.rock.settled_flow.SLOWEST`); ``run.steps`` is the most. Files are written after
    every flow.

    Raises InputError: no flow of which this can be computed; DivergedError: a flow became unstable; OutputError: a file
    cannot be written.
    """
    PROFILE.enter(SETTING_UP)
    _refinement(options)
    case = communicator.broadcast(load_case(options.case, options.set) if communicator.rank == 0 else None)
    refuse_other_drives(case, case.openings)
    cases = dict(_cases(case, options))
    folder = Path(options.output or Path(DEFAULT_OUTPUT) / f"{Path(options.case).stem}-permeability")
    if communicator.rank == 0:
        _prepare(folder, cases, options)
    with StopSignals() as signals, Sentry(communicator, folder):
        ahead = Ahead(case, communicator)
        nodes = _checked_nodes(cases, folder, say, ahead) if communicator.rank == 0 else None
        desk = Desk(say, signals, Clock(), options.time_step)
        settled, stopped_by = _run_all(cases, folder, nodes, options, desk, communicator)
    profile = profile_of_ranks(communicator) if options.profile else None
    if profile:
        say(profile_table(profile))
    if stopped_by:
        return stopped(stopped_by, folder, say)
    return 0 if communicator.broadcast(settled) else UNSETTLED_EXIT_CODE


def _run_all(cases, folder: Path, nodes, options, desk: Desk, communicator) -> tuple[bool, str | None]:
    """Whether all flows have settled, on rank 0, and why one was stopped, if so."""
    flows: dict[str, Flow] = {}
    refined: dict[str, RefinedFlow] = {}
    for number, (name, case) in enumerate(cases.items(), start=1):
        if len(cases) > 1:
            desk.say(f"\nflow along {name}, {number} of {len(cases)}")
        refinement = _refinement(options)
        if refinement:
            refined[name] = RefinedFlow(case, refinement, folder / name, communicator, desk)
            flow = refined[name].run(nodes)
        else:
            flow = quick_flow(case, communicator, nodes, folder / name, desk)
        if flow is not None:
            flows[name] = flow
            desk.say(_described(flow))
            desk.say("\n".join(refined[name].lines() if name in refined and refined[name].is_complete else ()))
            _conclude(flows, refined, len(cases), options, desk.say)
        stopped_by = communicator.broadcast(flow.ended if flow is not None and flow.is_stopped else None)
        if stopped_by:
            return False, stopped_by
    unsettled = [name for name, flow in refined.items() if flow.unsettled]
    return not unsettled and all(flow.settled for flow in flows.values()), None


def tensor_m2(flows) -> np.ndarray:
    """(k, k) permeability tensor [m2] of flows along x, y (and z); column j belongs to the force along axis j."""
    return np.array([flow.permeability.column_m2[: len(flows)] for flow in flows]).T


def _prepare(folder: Path, cases, options) -> None:
    """Prove that all files can be written, and forget earlier flows if that is asked for."""
    for file in filter(None, (options.json, options.plot)):
        check_file(file)
    for name in cases:
        refuse_linked_folder(folder / name)
        check_writable(folder / name)
        if options.overwrite:
            forget_flow(folder / name)


def _cases(case: Case, options):
    if not (options.tensor or options.axis):
        yield "flow", case
        return
    strength = float(np.linalg.norm(case.flow.acceleration_m_s2))
    if strength == 0.0 or any(case.flow.pressure_drop_pa):
        raise InputError(
            "permeability: --tensor and --axis turn flow.acceleration_m_s2 along the axes, and the case has none, or a"
            " pressure_drop_pa beside it; give the body force alone, as in --set flow.acceleration_m_s2=[1.0, 0.0, 0.0]"
        )
    axes = ("xy" if case.lattice.name.startswith("D2") else "xyz") if options.tensor else options.axis
    for axis in axes:
        force = tuple(strength * (axis == other) for other in "xyz")
        flow = case.flow.model_copy(update={"acceleration_m_s2": force})
        yield axis, case.model_copy(update={"flow": flow, "geometry": _mirrored_along(case.geometry, axis)})


def _mirrored_along(geometry, axis: str):
    """The section of an image that is mirrored along a single axis, with ``axis`` in its place: two nodes for one in
    each flow, where mirroring along all axes at once would take eight."""
    options = geometry.options
    mirrored = options.get("mirror", "")
    if len(mirrored) != 1 or axis in (mirrored, *geometry.periodic):
        return geometry
    turned = {name: axis for name in ("mirror", "drop_unconnected") if options.get(name) == mirrored}
    return geometry.model_copy(update={"options": {**options, **turned}})


def _checked_nodes(cases, folder: Path, say, ahead: Ahead) -> NodeList | None:
    """Refuse, before the first flow, a direction in which nothing can be measured; on rank 0.

    Returns:
        The geometry, if it has been read and is that of all flows.
    """
    cases = {name: case for name, case in cases.items() if not is_done(folder / name, case)}
    first, *others = [case.geometry for case in cases.values()] or [None]
    if all(section == first for section in others):
        return _read(list(cases.values()), say, ahead) if cases else None
    say(f"checking the image along {', '.join(cases)}, mirrored along each in turn (so across them the tensor is zero)")
    for case in cases.values():
        _read([case], say, ahead)
    return None


def _read(cases: list[Case], say, ahead: Ahead) -> NodeList | None:
    """The nodes of flows, unless they stay in their file. Raises InputError: nothing flows along one of the forces."""
    if is_prepared(cases[0]):
        with open_case_nodes(cases[0]) as nodes:
            _refuse_closed(cases, nodes)
            return None
    nodes, report = load_nodes(cases[0], seen=ahead.seen)
    say(report)
    _refuse_closed(cases, nodes)
    return nodes


def _refuse_closed(cases: list[Case], nodes: NodeList) -> None:
    """Raise InputError: along a force no pore leads through, where memory suffices to look for one."""
    leads: np.ndarray = np.ones(3, dtype=bool)
    with suppress(GeometryError):
        leads = np.asarray(pores_of(nodes, "edges").percolates.any(axis=0))
    for case in cases:
        axes = driving_acceleration(case, nodes.header) != 0.0
        if not leads[axes].any():
            along = " or ".join(axis for axis, acts in zip(AXES, axes, strict=True) if acts)
            raise InputError(
                f"permeability: no pore leads from end to end along {along}, where the force acts, so that k is 0;"
                " check threshold and crop of the image, or choose other directions with --axis"
            )


def _described(flow: Flow) -> str:
    lines = permeability_lines(flow.permeability.record())
    word = "settled" if flow.settled else "warning: NOT settled"
    change = 100.0 * flow.unsettled_m2 / flow.limit_m2 if flow.limit_m2 > 0.0 else np.inf
    still = f"; by the last samples it may still change by {change:.2g} %" if np.isfinite(change) else ""
    steps = f"{flow.steps:,} steps of {flow.time_step_s:.4g} s"
    return "\n".join([*lines, f"{word} after {steps}; limit {flow.limit_m2:.5g} m2{still}"])


def _refinement(options) -> Refinement | None:
    if options.refine is None:
        if options.memory is not None:
            raise InputError("permeability: --memory bounds the flows of --refine; give --refine 1,2 with it")
        return None
    return Refinement.read(options.refine, options.memory)


def _conclude(flows: dict[str, Flow], refined: dict[str, RefinedFlow], n_flows: int, options, say) -> None:
    """The tensor, once it is whole, and the files."""
    record: dict[str, object] = {"flows": {name: flow.record() for name, flow in flows.items()}}
    if refined:
        record["refined"] = {name: flow.record() for name, flow in refined.items() if flow.is_complete}
    if options.tensor and len(flows) == n_flows:
        tensor = tensor_m2(list(flows.values()))
        record["tensor_m2"] = tensor
        say("\n".join(_tensor_lines(tensor)))
    if options.json:
        write_summary(options.json, record)
    if options.plot:
        chart = distribution_chart({name: flow.permeability.distribution for name, flow in flows.items()})
        with atomic_write(options.plot) as temporary:
            temporary.write_bytes(chart)


def _tensor_lines(tensor: np.ndarray) -> Iterator[str]:
    skew = np.abs(tensor - tensor.T).max() / np.abs(tensor).max()
    principal = np.linalg.eigvalsh(0.5 * (tensor + tensor.T))
    values = ", ".join(f"{value:.5g} m2 = {value / DARCY_M2:.5g} darcy" for value in principal)
    yield "tensor [m2], a column for each direction of the force:"
    yield from ("  ".join(f"{value:12.5g}" for value in row) for row in tensor)
    yield f"principal values: {values}"
    yield f"asymmetry: {skew:.2g} of the largest entry"

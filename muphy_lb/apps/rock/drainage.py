"""Capillary pressure or fractional flow against saturation: what ``muphy-lb drainage`` computes.

The second fluid enters through one opening, at one pressure after another, each for as long as the saturation still
changes. The capillary pressure is the difference of the pressures at that opening and at the others. Rising pressures
drain a rock that the first fluid wets, falling ones let that back in. With a porous plate at the others
the second fluid stays in the rock once it has come through.

With saturations instead of pressures both fluids enter at the flow rate of the case, and the share of the second one
follows from its balance: what has left in a window of time, and what is missing.
"""

import json
import shutil
import signal
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import nan
from pathlib import Path

import numpy as np

from muphy_lb.apps.rock.curve import (
    ERROR,
    FLUIDS,
    KR,
    LENGTHS,
    PERMEABILITIES,
    SATURATION,
    not_read,
    numbers,
    origin,
    other_origin,
    short_told,
    with_bars,
    write_curve,
)
from muphy_lb.apps.rock.displacement_steps import LEFT, PressureSteps, SaturationSteps, Steps, gradient_alone
from muphy_lb.base.errors import InputError
from muphy_lb.base.files.atomic import check_writable, refuse_linked_folder
from muphy_lb.case.case import Case, as_case, listed, load_case
from muphy_lb.case.toml import as_override
from muphy_lb.geometry.clean import component_labels
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.voxels import AT_INLET
from muphy_lb.measure.displacement import LONG, Displacement, displacement_of
from muphy_lb.measure.flow_view import whole_nodes
from muphy_lb.measure.permeability import other_forces
from muphy_lb.parallel import from_root
from muphy_lb.parallel.watchdog import Sentry
from muphy_lb.run.loop import stopped
from muphy_lb.run.options import DEFAULT_OUTPUT
from muphy_lb.run.preparation import Preparation
from muphy_lb.run.simulation import Simulation
from muphy_lb.run.stop_signals import StopSignals
from muphy_lb.setup.geometry import reservoirs_of


@dataclass(frozen=True)
class Curve:
    """A curve that the command computes."""

    option: str  #: by which its points are asked for
    asked: str  #: column of what is asked for
    shown: str  #: column against the saturation
    file: str  #: of the table
    title: str
    unit: str
    more: tuple[str, ...] = ()  #: further columns

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the table, besides those of the structure of both fluids."""
        found = "first_saturation", "saturation_error", "capillary_number", "steps", "is_settled", "reached"
        return self.asked, self.shown, *self.more, *found


BY_PRESSURE = Curve(
    "--pressures", "pressure_pa", "capillary_pressure_pa", "capillary_pressure", "Capillary pressure", "[Pa]"
)
BY_SATURATION = Curve(
    "--saturations",
    "asked_saturation",
    "second_share",
    "fractional_flow",
    "Share of the second fluid",
    "[1]",
    ("pressure_drop_pa", *PERMEABILITIES, LENGTHS),
)


def drainage(options, say: Callable[[str], None], communicator) -> int:
    """Press the second fluid in and out; returns the exit code: 1 if a saturation has not settled in the steps of the
    case, 75 if the flow was stopped, from where the same command continues.

    The table is written after each point, to ``capillary_pressure.csv`` or ``fractional_flow.csv`` in the output
    folder, with a chart.

    Raises:
        InputError: no second fluid, or not one opening through which it enters, at a pressure or a flow rate.
        DivergedError: the flow became unstable.
        OutputError: a file cannot be written.
    """
    curve, points = _asked(options)
    if not 0.0 <= options.settled_within < 1.0:
        raise InputError(f"drainage: --settled-within is {options.settled_within:g}; give a share from 0 to below 1")
    case = communicator.broadcast(load_case(options.case, options.set) if communicator.rank == 0 else None)
    fluids = displacement_of(case, "drainage")
    inlet, outside_pa = _openings(case, fluids, curve)
    reservoirs = from_root(communicator, lambda: reservoirs_of(case))
    if curve is BY_PRESSURE and reservoirs and (reservoirs.ends, inlet) != (AT_INLET, AT_INLET):
        say(
            "warning: a reservoir lies between the rock and the porous plate; once the second fluid comes through, it"
            " fills that, and the first one can no longer leave: give geometry.options.reservoir_ends = 'inlet',"
            " and let the second fluid enter there"
        )
    if curve is BY_PRESSURE:
        case = as_case(case, [as_override(f"openings.{inlet}.pressure_pa", points[0])])
    elif any(getattr(each, fluids.entering) for each in case.openings if each.name == inlet):
        say(f"openings.{inlet}.{fluids.entering} is not used: the saturations set the share that enters")
    folder = Path(options.output or Path(DEFAULT_OUTPUT) / f"{Path(options.case).stem}-drainage")
    rows = from_root(communicator, lambda: _earlier(folder, case, options, curve, points))
    if rows:
        say(f"{folder} holds {len(rows)} of {len(points)} points, which are not computed again")
    with StopSignals() as signals, Sentry(communicator, folder), ExitStack() as stack:
        alone: tuple[float, float] | None = nan, nan
        if curve is BY_SATURATION and len(rows) < len(points):  # ahead of both fluids: a device may not hold two flows
            prepared = Preparation(case, communicator)  # refuses both before the flow of one has cost time
            from_root(communicator, lambda: _refuse_closed_pores(whole_nodes(prepared), inlet))
            say("the first fluid alone")
            alone = gradient_alone(fluids.first_alone(case), inlet, communicator, signals)
        if alone is None:
            return _stopped(signals, folder, say, communicator)
        state = folder / f"state_{len(rows)}"
        sim = Simulation.load(state, communicator) if rows else Simulation(case, communicator=communicator)
        stack.enter_context(sim)
        say(sim.core.describe())
        from_root(communicator, lambda: _refuse_closed_pores(whole_nodes(sim.core), inlet))
        given = sim, fluids, inlet, options.settled_within, signals
        left = rows[-1].get(LEFT, 0.0) if rows else 0.0
        steps: Steps = PressureSteps(*given) if curve is BY_PRESSURE else SaturationSteps(*given, alone, left)
        if not rows:
            say(f"the rock begins at a saturation of the first fluid of {steps.saturation():.4g}")
        for point in points[len(rows) :]:
            row = steps.at(point)
            if row is None:
                return _stopped(signals, folder, say, communicator)
            of_pressure = {"capillary_pressure_pa": point - outside_pa} if curve is BY_PRESSURE else {}
            rows.append({curve.asked: point, **of_pressure, **row})
            say(_told(rows[-1], curve))
            sim.save(folder / f"state_{len(rows)}", overwrite=True)
            from_root(communicator, lambda: _write(folder, case, options, curve, rows, fluids.structure_columns))
    return 0 if all(row["is_settled"] for row in rows) else 1


def _stopped(signals: StopSignals, folder: Path, say: Callable[[str], None], communicator) -> int:
    """Say which signal asked to stop; collective. Returns the exit code."""
    return stopped(f"signal {signal.Signals(communicator.maximum(signals.received)).name}", folder, say)


def _asked(options) -> tuple[Curve, list[float]]:
    """The curve that the options ask for, and its points."""
    if options.saturations is None:
        found = numbers(options.pressures)
        if not found:
            raise InputError(f"drainage: --pressures is {options.pressures!r}; give numbers [Pa], as in 500,1000,2000")
        return BY_PRESSURE, found
    found = numbers(options.saturations)
    if not found or not all(0.0 < each < 1.0 for each in found):
        raise InputError(
            f"drainage: --saturations is {options.saturations!r}; give numbers between 0 and 1, as in 0.8,0.6,0.4"
        )
    return BY_SATURATION, found


def _openings(case: Case, fluids: Displacement, curve: Curve) -> tuple[str, float]:
    """The opening through which the second fluid enters, and the pressure [Pa] at all others."""
    by_rate = curve is BY_SATURATION
    inlets = [each for each in case.openings if (each.velocity_m_s or each.given_flow_m3_s(1.0) or 0.0) > 0.0]
    if not by_rate:
        inlets = [each for each in case.openings if getattr(each, fluids.entering) == 1.0 and each.has_pressure]
    others = [each for each in case.openings if each not in inlets]
    outside_pa = {each.pressure_pa for each in others}
    if len(inlets) != 1 or len(outside_pa) != 1 or None in outside_pa:
        raise InputError(
            f"drainage: the second fluid enters through one opening, with {fluids.entering} = 1.0 and pressure_pa (with"
            " --saturations at a flow rate above 0), and all others have one pressure_pa; here"
            f" {len(inlets)} of {len(case.openings)} openings are such: give them so"
        )
    plates = [each.name for each in others if each.blocks_second]
    if by_rate and plates:
        raise InputError(
            f"drainage: openings.{plates[0]}.blocks_second keeps the second fluid in the rock, which --saturations lets"
            " out at the share at which it enters; leave the key out"
        )
    forces = [key for key in ("acceleration_m_s2", "pressure_drop_pa") if any(getattr(case.flow, key))]
    forces = [f"flow.{key}" for key in forces] + other_forces(case)
    if forces:
        raise InputError(
            f"drainage: {forces[0]} drives the flow beside the pressures, whose difference is then not the capillary"
            " pressure; leave it out"
        )
    varying = [each.name for each in case.openings if each.waveform]
    if varying:
        raise InputError(
            f"drainage: openings.{varying[0]}.waveform changes what the command holds until the saturation has"
            " settled; leave it out"
        )
    return inlets[0].name, outside_pa.pop()


def _refuse_closed_pores(nodes: NodeList, inlet: str) -> None:
    """Raise InputError: some pores reach no opening, and their fluid would count, or none lead from the inlet to
    another opening."""
    part = component_labels(nodes)
    names = [opening.name for opening in nodes.openings]
    at = {name: part[nodes.group_start[1 + k] : nodes.group_start[2 + k]] for k, name in enumerate(names)}
    if not any(np.isin(at[inlet], found).any() for name, found in at.items() if name != inlet):
        raise InputError(
            f"drainage: no pore leads from openings.{inlet} to another opening, so that neither fluid can be displaced;"
            " take another part of the image, another geometry.options.reservoir_axis, or finer voxels"
        )
    is_reached = np.isin(part, part[nodes.group_start[1] :])
    if not is_reached.all():
        raise InputError(
            f"drainage: {1.0 - is_reached.mean():.2%} of the nodes lie in pores that no opening reaches, whose"
            " saturation stays for ever; give geometry.keep = 'openings'"
        )


def _told(row: dict, curve: Curve) -> str:
    word = "settled" if row["is_settled"] else "warning: NOT settled"
    reached = f"; the second fluid has reached {row['reached']}" if row["reached"] else ""
    if reached and curve is BY_PRESSURE:
        reached += ": where it covers a porous plate, the first one does not come back at lower pressures"
    k = [f"{row[f'{fluid}_{KR}']:.3g} +- {row[f'{fluid}_{ERROR}']:.1g}" for fluid in FLUIDS if f"{fluid}_{KR}" in row]
    flowing = f"; relative permeability {k[0]}, of the second {k[1]}" if k else ""
    if row.get(LENGTHS, LONG) < LONG:
        flowing += f"; {row[LENGTHS]:.2g} lengths of the rock: {short_told(row['steps'], row[LENGTHS])}"
    return (
        f"{curve.title.lower()} {row[curve.shown]:.4g} {curve.unit}: saturation of the first fluid"
        f" {row['first_saturation']:.4g} +- {row['saturation_error']:.1g}, {word} after {row['steps']:,} steps, at a"
        f" capillary number of up to {row['capillary_number']:.2g}{reached}{flowing}"
    )


def _identity(case: Case, options, folder: Path) -> dict:
    """Origin of the points of a folder, the change within which a saturation has settled, and the method."""
    method = displacement_of(case, "drainage").method
    return origin(case, folder) | {"settled_within": options.settled_within, "method": method}


def _earlier(folder: Path, case: Case, options, curve: Curve, points: list[float]) -> list[dict]:
    """The rows that a folder holds of this command, none without one; on rank 0."""
    refuse_linked_folder(folder)
    check_writable(folder)
    path = folder / f"{curve.file}.json"
    if options.overwrite:
        path.unlink(missing_ok=True)
    if not path.exists():
        return []
    now, remedy = _identity(case, options, folder), "give --overwrite to start again, or another output folder with -o"
    try:
        then = json.loads(path.read_text(encoding="utf-8"))
        rows = [{name: nan if value is None else value for name, value in row.items()} for row in then["points"]]
        changed = other_origin(then, now)
        earlier, within = [[row[name] for name in curve.columns][0] for row in rows], then["settled_within"]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"drainage: {path} {not_read(error)}; {remedy}") from error
    if then.get("method") != now["method"]:
        changed.append(f"the method was {then.get('method', 'that of an earlier version')}, is {now['method']}")
    if within != now["settled_within"]:
        changed.append(f"--settled-within was {within}, is {now['settled_within']}")
    if earlier != points[: len(rows)]:
        changed.append(f"{curve.option} began with {', '.join(f'{each:g}' for each in earlier)}")
    if changed:
        raise InputError(f"drainage: {folder} holds points of another case: {listed(changed)}; {remedy}")
    return rows


def _write(folder: Path, case: Case, options, curve: Curve, rows: list[dict], of_structure: Sequence[str]) -> None:
    """The table as CSV and JSON, and its chart; the state before the last one goes."""
    saturation, shown, error = (
        np.array([row[name] for row in rows]) for name in ("first_saturation", curve.shown, "saturation_error")
    )
    lines: dict[str, tuple] = {curve.title.lower(): (saturation, shown, error, np.zeros(len(rows)))}
    title, y_label = curve.title, f"{curve.title.lower()} {curve.unit}"
    if curve is BY_SATURATION:
        lines, title, y_label = lines | with_bars(rows), "Fractional flow", "share, relative permeability [1]"
    labels, columns = (title, SATURATION, y_label), (*curve.columns, *of_structure)
    write_curve(folder / curve.file, rows, columns, labels, lines, **_identity(case, options, folder))
    shutil.rmtree(folder / f"state_{len(rows) - 1}", ignore_errors=True)

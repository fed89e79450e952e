"""Relative permeabilities of a rock: what ``muphy-lb relative-permeability`` computes.

A uniform force drives both fluids through a periodic box, at one saturation after another, until the mean flow of each
is known. With the Darcy velocity U_i of fluid i along the force g, its viscosity nu_i, and U of the first fluid alone

    k_i = U_i nu_i / (U nu_1).

The first saturation starts with the fluid that does not wet where it comes from the first layer of pores along the
force, through throats of one width and more, as in primary drainage; every other from the end of the one before, with
the fluid advanced that gains: falling saturations of the fluid that wets are primary drainage, rising ones behind it
imbibition.
"""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from muphy_lb.apps.rock.curve import (
    ERROR,
    FLUIDS,
    KR,
    LENGTHS,
    PERMEABILITIES,
    SATURATION,
    numbers,
    short_told,
    with_bars,
    write_curve,
)
from muphy_lb.apps.rock.settled_flow import (
    Desk,
    Flow,
    forget_flow,
    is_done,
    keep_contents,
    other_contents,
    read_table,
)
from muphy_lb.apps.rock.time_step import quick_flow
from muphy_lb.base.errors import InputError
from muphy_lb.base.files.atomic import check_writable, refuse_linked_folder, write_text
from muphy_lb.case.case import Case, load_case
from muphy_lb.measure.displacement import LONG, Displacement, displacement_of
from muphy_lb.measure.field_snapshots import FieldSnapshots
from muphy_lb.measure.permeability import Permeability, refuse_other_drives
from muphy_lb.parallel import from_root
from muphy_lb.parallel.watchdog import Sentry
from muphy_lb.run.criteria import STEADY
from muphy_lb.run.folder import CASE_FILE, CHECKPOINTS, PATTERN, SUMMARY_FILE
from muphy_lb.run.loop import COMPLETED, Clock, Run, stopped
from muphy_lb.run.options import DEFAULT_OUTPUT
from muphy_lb.run.preparation import Preparation
from muphy_lb.run.solver import Solver
from muphy_lb.run.stop_signals import StopSignals
from muphy_lb.setup.geometry import reservoirs_of

KNOWN_WITHIN = 0.02
FILE, METHOD_FILE = KR, "method.txt"
PASSED = LENGTHS, "moved_share"
"""Lengths of the box that the flow has gone through, and share of the rock that has changed its fluid since a look in
the second quarter of the run."""
COLUMNS = (
    "first_saturation",
    *PERMEABILITIES,
    "capillary_number",
    "steps",
    *PASSED,
    "is_known",
    "started_from",
)
"""Of the table, besides those of the structure of both fluids."""
ANEW = "invasion"


def relative_permeability(options, say: Callable[[str], None], communicator) -> int:
    """Run the first fluid alone, then both at each saturation; returns the exit code: 1 if a mean flow is not known as
    well as asked for after the steps of the case, 75 if a flow was stopped, from where the same command continues.

    The table is written after each saturation, to ``relative_permeability.csv`` in the output folder, with a chart.

    Raises:
        InputError: no second fluid, or no flow that a uniform body force drives.
        DivergedError: a flow became unstable.
        OutputError: a file cannot be written.
    """
    saturations = _saturations(options.saturations)
    case = communicator.broadcast(load_case(options.case, options.set) if communicator.rank == 0 else None)
    fluids = displacement_of(case, "relative-permeability")
    if from_root(communicator, lambda: reservoirs_of(case)):
        raise InputError(
            "relative-permeability: both fluids would flow through geometry.options.reservoir_layers, too, at another"
            " saturation; leave the option out, and give mirror = 'x' to an image that does not repeat"
        )
    given = [key for key in fluids.starts if getattr(getattr(case, fluids.section), key) not in (None, ())]
    if given:
        say(f"{fluids.section}.{given[0]} is not used: the saturations set where both fluids are")
    alone = fluids.first_alone(case)
    refuse_other_drives(alone, alone.openings)
    folder = Path(options.output or Path(DEFAULT_OUTPUT) / f"{Path(options.case).stem}-relative-permeability")
    names = _names(saturations)
    if communicator.rank == 0:
        for name in ("single", *names):
            refuse_linked_folder(folder / name)
            check_writable(folder / name)
            if options.overwrite:
                forget_flow(folder / name)
                (folder / name / CASE_FILE).unlink(missing_ok=True)
    with StopSignals() as signals, Sentry(communicator, folder):
        if not from_root(communicator, lambda: is_done(folder / "single", alone)):
            Preparation(fluids.with_start(case, 1.0 - saturations[0], None, KNOWN_WITHIN), communicator)
        say("the first fluid alone")
        desk = Desk(say, signals, Clock())
        single = communicator.broadcast(quick_flow(alone, communicator, None, folder / "single", desk))
        if single.is_stopped:
            return stopped(single.ended, folder, say)
        say(f"permeability {single.permeability.permeability_m2:.5g} m2")
        for text in single.permeability.warnings:
            say(f"warning: {text}")
        rows: list[dict] = []
        before, is_new = "", False  # name of the flow before, and whether this call has run one
        for saturation, name in zip(saturations, names, strict=True):
            say(f"\nsaturation of the first fluid {saturation:g}, {len(rows) + 1} of {len(saturations)}")
            state = os.path.relpath(folder / before / FieldSnapshots.file, case.folder) if before else None
            start = fluids.with_start(case, 1.0 - saturation, state, KNOWN_WITHIN)
            if not is_new:
                say(_speed_told(single, fluids, case))
            summary, is_new = _flow(start, fluids.method, folder / name, is_new, desk, communicator)
            if summary["ended"] not in (STEADY, COMPLETED):
                return stopped(summary["ended"], folder, say)
            rows.append(_row(summary, fluids, case, single.permeability) | {"started_from": before or ANEW})
            before = name
            say(_told(rows[-1]))
            if communicator.rank == 0:
                _write(folder, rows, fluids.structure_columns)
    return 0 if all(row["is_known"] for row in rows) else 1


def _saturations(text: str) -> list[float]:
    """The saturations of the first fluid that an option names."""
    found = numbers(text)
    if not found or not all(0.0 < each < 1.0 for each in found):
        raise InputError(
            f"relative-permeability: --saturations is {text!r}; give numbers between 0 and 1, as in 0.2,0.4,0.6,0.8"
        )
    return found


def _names(saturations: list[float]) -> list[str]:
    """Folder of each flow; one for each visit of a saturation."""
    visits = [saturations[: number + 1].count(each) for number, each in enumerate(saturations)]
    plain = [f"saturation_{each:g}" for each in saturations]
    return [name if visit == 1 else f"{name}_{visit}" for name, visit in zip(plain, visits, strict=True)]


def _flow(case: Case, method: str, folder: Path, is_new: bool, desk: Desk, communicator) -> tuple[dict, bool]:
    """The summary of a flow, on every rank, and whether this call has run one; what its folder holds of it is continued
    with, unless this call has run the flow that it starts from (``is_new``)."""
    done, resume = from_root(communicator, lambda: _earlier(folder, case, method, is_new))
    if done:
        desk.say(f"{folder} holds this flow, which has ended: it is not run again")
        return done, is_new
    simulation = Solver(case, communicator)
    from_root(communicator, lambda: keep_contents(folder, case))
    from_root(communicator, lambda: write_text(folder / METHOD_FILE, method + "\n"))
    desk.say(simulation.describe())
    ended, summary = Run(simulation, folder, resume, Clock(desk.clock.started)).execute(desk.signals)
    return communicator.broadcast(summary) or {"ended": ended}, True


def _earlier(folder: Path, case: Case, method: str, is_new: bool) -> tuple[dict | None, bool]:
    """The summary of this flow in a folder if it has ended, and whether there is a checkpoint of it; on rank 0."""
    path, has_checkpoint = folder / CASE_FILE, any((folder / CHECKPOINTS).glob(PATTERN))
    by = folder / METHOD_FILE
    then = by.read_text(encoding="utf-8").strip() if by.exists() else "that of an earlier version"
    if then != method and path.exists():
        raise InputError(
            f"relative-permeability: {folder} holds a flow of another method ({then}; now {method}), whose numbers are"
            " others; give --overwrite to start again, or another output folder with -o"
        )
    is_same = not is_new and path.exists() and path.read_text(encoding="utf-8") == case.to_toml(folder)
    if not is_same or other_contents(folder, case):
        if has_checkpoint:
            raise InputError(
                f"relative-permeability: {folder} holds checkpoints of another flow; give --overwrite to start"
                " again, or another output folder with -o"
            )
        return None, False
    summary = read_table(folder / SUMMARY_FILE, json.loads)
    is_done = summary.get("ended") in (STEADY, COMPLETED) and (folder / FieldSnapshots.file).exists()
    return (summary if is_done else None), has_checkpoint


def _speed_told(single: Flow, fluids: Displacement, case: Case) -> str:
    """Capillary number of the first fluid alone, and what a lower one costs."""
    found, force = single.permeability, np.array(single.permeability.acceleration_m_s2)
    darcy = np.dot(found.darcy_velocity_m_s, force) / np.linalg.norm(force)
    number = darcy / found.porosity * found.tortuosity * case.fluid.viscosity_m2_s * case.fluid.density_kg_m3
    return (
        f"capillary number of the first fluid alone under this force: {number / fluids.tension_n_m(case):.3g}; that of"
        " both is seldom larger, unless the second one is thinner. A tenth of the force gives a tenth of it and takes"
        f" ten times the steps: a pore diameter passes in {found.pore_size_m * found.porosity / darcy:.3g} s now"
    )


def _row(summary: dict, fluids: Displacement, case: Case, alone: Permeability) -> dict:
    """Relative permeabilities of a flow, by column."""
    both = summary[fluids.section]
    along = np.array(alone.acceleration_m_s2) / np.linalg.norm(alone.acceleration_m_s2)
    scale = 1.0 / (np.dot(alone.darcy_velocity_m_s, along) * case.fluid.viscosity_m2_s)
    row = {"first_saturation": 1.0 - both[fluids.starts[0]]}
    unknown = dict.fromkeys((*fluids.flows[0], *fluids.flows[1]), np.nan)
    mean, error = (both.get(name) or unknown for name in ("mean", "standard_error"))
    for name, viscosity, flows in zip(FLUIDS, fluids.viscosities_m2_s(case), fluids.flows, strict=True):
        row[f"{name}_{KR}"] = float(scale * viscosity * np.dot([mean[each] for each in flows], along))
        of_axes = np.array([error[each] for each in flows]) * along
        row[f"{name}_{ERROR}"] = float(scale * viscosity * np.linalg.norm(of_axes))
    row |= {"capillary_number": both["capillary_number"], "steps": summary["steps"]}
    row |= {name: both.get(name, np.nan) for name in PASSED}
    return row | {name: both[name] for name in fluids.structure_columns} | {"is_known": summary["ended"] == STEADY}


def _told(row: dict) -> str:
    first, second = (f"{row[f'{fluid}_{KR}']:.4g} +- {row[f'{fluid}_{ERROR}']:.2g}" for fluid in FLUIDS)
    lengths, moved = (row[name] for name in PASSED)
    word = "known" if row["is_known"] else "warning: NOT known as well as asked for"
    if np.isnan(row[f"{FLUIDS[0]}_{KR}"]):
        word = "warning: NOT known, by too few looks: give more run.steps, or fewer output.series_every_steps;"
    why = ""
    if lengths < LONG:
        of_start = "interfaces rest, and the flow is that of its start"
        so = of_start if row["is_known"] else short_told(row["steps"], lengths)
        why = f"; {moved:.2g} of the rock has changed its fluid since the second quarter of the run: {so}"
    return (
        f"saturation of the first fluid {row['first_saturation']:.4g}: relative permeability {first}, of the second"
        f" {second}; capillary number {row['capillary_number']:.3g}; {word} after {row['steps']:,} steps and"
        f" {lengths:.2g} lengths of the box{why}"
    )


def _write(folder: Path, rows: list[dict], of_structure: Sequence[str]) -> None:
    """The table as CSV and JSON, and its chart."""
    labels = "Relative permeability", SATURATION, "relative permeability"
    write_curve(folder / FILE, rows, (*COLUMNS, *of_structure), labels, with_bars(rows))

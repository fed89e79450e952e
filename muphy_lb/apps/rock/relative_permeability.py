"""Relative permeabilities of a rock: what ``muphy-lb relative-permeability`` computes.

A uniform force drives both fluids through a periodic box, at one saturation after another, until the mean flow of each
is known. With the Darcy velocity U_i of fluid i along the force g, its viscosity nu_i, and U of the first fluid alone

    k_i = U_i nu_i / (U nu_1).

Each saturation starts anew, with the fluid that does not wet in the widest pores.
"""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from muphy_lb.apps.rock.curve import numbers, write_curve
from muphy_lb.apps.rock.settled_flow import Desk, changed_contents, forget_flow, keep_contents, read_table
from muphy_lb.apps.rock.time_step import quick_flow
from muphy_lb.base.errors import InputError
from muphy_lb.base.files.atomic import check_writable, refuse_linked_folder
from muphy_lb.case.case import Case, load_case
from muphy_lb.measure.displacement import Displacement, displacement_of
from muphy_lb.measure.permeability import Permeability, refuse_other_drives
from muphy_lb.parallel.watchdog import Sentry
from muphy_lb.run.criteria import STEADY
from muphy_lb.run.folder import CASE_FILE, CHECKPOINTS, PATTERN, SUMMARY_FILE
from muphy_lb.run.loop import COMPLETED, Clock, Run, stopped
from muphy_lb.run.options import DEFAULT_OUTPUT
from muphy_lb.run.solver import Solver
from muphy_lb.run.stop_signals import StopSignals

KNOWN_WITHIN = 0.02
FLUIDS = ("first", "second")
FILE = "relative_permeability"
COLUMNS = (
    "first_saturation",
    "first_relative_permeability",
    "first_standard_error",
    "second_relative_permeability",
    "second_standard_error",
    "capillary_number",
    "steps",
    "is_known",
)


def relative_permeability(options, say: Callable[[str], None], communicator) -> int:
    """Run the first fluid alone, then both at each saturation; returns the exit code: 1 if a mean flow is not known as
    well as asked for after the steps of the case, 75 if a flow was stopped, from where the same command goes on.

    The table is written after each saturation, to ``relative_permeability.csv`` in the output folder, with a chart.

    Raises:
        InputError: no second fluid, or no flow that a uniform body force drives.
        DivergedError: a flow became unstable.
        OutputError: a file cannot be written.
    """
    saturations = _saturations(options.saturations)
    case = communicator.broadcast(load_case(options.case, options.set) if communicator.rank == 0 else None)
    fluids = displacement_of(case, "relative-permeability")
    if case.geometry.options.get("reservoir_layers"):
        raise InputError(
            "relative-permeability: both fluids would flow through geometry.options.reservoir_layers, too, at another"
            " saturation; leave the key out, and give mirror = 'x' to an image that does not repeat"
        )
    alone = fluids.first_alone(case)
    refuse_other_drives(alone, alone.openings)
    folder = Path(options.output or Path(DEFAULT_OUTPUT) / f"{Path(options.case).stem}-relative-permeability")
    names = [f"saturation_{saturation:g}" for saturation in saturations]
    if communicator.rank == 0:
        for name in ("single", *names):
            refuse_linked_folder(folder / name)
            check_writable(folder / name)
            if options.overwrite:
                forget_flow(folder / name)
    with StopSignals() as signals, Sentry(communicator, folder):
        say("the first fluid alone")
        desk = Desk(say, signals, Clock())
        single = communicator.broadcast(quick_flow(alone, communicator, None, folder / "single", desk))
        if single.is_stopped:
            return stopped(single.ended, folder, say)
        say(f"permeability {single.permeability.permeability_m2:.5g} m2")
        rows: list[dict] = []
        for saturation, name in zip(saturations, names, strict=True):
            say(f"\nsaturation of the first fluid {saturation:g}, {len(rows) + 1} of {len(saturations)}")
            summary = _flow(fluids.with_start(case, 1.0 - saturation, KNOWN_WITHIN), folder / name, desk, communicator)
            if summary["ended"] not in (STEADY, COMPLETED):
                return stopped(summary["ended"], folder, say)
            rows.append(_row(summary, fluids, case, single.permeability))
            say(_told(rows[-1]))
            if communicator.rank == 0:
                _write(folder, rows)
    return 0 if all(row["is_known"] for row in rows) else 1


def _saturations(text: str) -> list[float]:
    """The saturations of the first fluid that an option names."""
    found = numbers(text)
    if not found or not all(0.0 < each < 1.0 for each in found):
        raise InputError(
            f"relative-permeability: --saturations is {text!r}; give numbers between 0 and 1, as in 0.2,0.4,0.6,0.8"
        )
    return found


def _flow(case: Case, folder: Path, desk: Desk, communicator) -> dict:
    """The summary of a flow, on every rank; what its folder holds of it is gone on with."""
    done, resume = communicator.broadcast(_earlier(folder, case) if communicator.rank == 0 else None)
    if done:
        desk.say(f"{folder} holds this flow, which has ended: it is not run again")
        return done
    simulation = Solver(case, communicator)
    if communicator.rank == 0:
        keep_contents(folder, case)
    desk.say(simulation.describe())
    ended, summary = Run(simulation, folder, resume, Clock(desk.clock.started)).execute(desk.signals)
    return communicator.broadcast(summary) or {"ended": ended}


def _earlier(folder: Path, case: Case) -> tuple[dict | None, bool]:
    """The summary of this flow in a folder if it has ended, and whether there is a checkpoint of it; on rank 0."""
    path, has_checkpoint = folder / CASE_FILE, any((folder / CHECKPOINTS).glob(PATTERN))
    is_same = path.exists() and path.read_text(encoding="utf-8") == case.to_toml(folder)
    if not is_same or changed_contents(folder, case):
        if has_checkpoint:
            raise InputError(
                f"relative-permeability: {folder} holds checkpoints of another flow; give --overwrite to begin anew, or"
                " another output folder with -o"
            )
        return None, False
    summary = read_table(folder / SUMMARY_FILE, json.loads)
    return (summary if summary.get("ended") in (STEADY, COMPLETED) else None), has_checkpoint


def _row(summary: dict, fluids: Displacement, case: Case, alone: Permeability) -> dict:
    """Relative permeabilities of a flow, by column."""
    both = summary[fluids.section]
    along = np.array(alone.acceleration_m_s2) / np.linalg.norm(alone.acceleration_m_s2)
    scale = 1.0 / (np.dot(alone.darcy_velocity_m_s, along) * case.fluid.viscosity_m2_s)
    row = {"first_saturation": 1.0 - both[fluids.starts[0]]}
    unknown = dict.fromkeys((*fluids.flows[0], *fluids.flows[1]), np.nan)
    mean, error = (both.get(name) or unknown for name in ("mean", "standard_error"))
    for name, viscosity, flows in zip(FLUIDS, fluids.viscosities_m2_s(case), fluids.flows, strict=True):
        row[f"{name}_relative_permeability"] = float(scale * viscosity * np.dot([mean[each] for each in flows], along))
        of_axes = np.array([error[each] for each in flows]) * along
        row[f"{name}_standard_error"] = float(scale * viscosity * np.linalg.norm(of_axes))
    is_known = summary["ended"] == STEADY
    return row | {"capillary_number": both["capillary_number"], "steps": summary["steps"], "is_known": is_known}


def _told(row: dict) -> str:
    first, second = (
        f"{row[f'{fluid}_relative_permeability']:.4g} +- {row[f'{fluid}_standard_error']:.2g}" for fluid in FLUIDS
    )
    word = "known" if row["is_known"] else "warning: NOT known as well as asked for"
    return (
        f"saturation of the first fluid {row['first_saturation']:.4g}: relative permeability {first}, of the second"
        f" {second}; capillary number {row['capillary_number']:.3g}; {word} after {row['steps']:,} steps"
    )


def _write(folder: Path, rows: list[dict]) -> None:
    """The table as CSV and JSON, and its chart."""
    ordered = sorted(rows, key=lambda row: row["first_saturation"])
    lines = {
        f"{fluid} fluid": tuple(
            np.array([row[name] for row in ordered]) for name in ("first_saturation", f"{fluid}_relative_permeability")
        )
        for fluid in FLUIDS
    }
    write_curve(folder / FILE, rows, COLUMNS, ("Relative permeability", "relative permeability"), lines)

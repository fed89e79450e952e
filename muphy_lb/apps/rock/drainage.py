"""Capillary pressure against saturation, by steps of pressure: what ``muphy-lb drainage`` computes.

The second fluid enters through one opening, at one pressure after another, each for as long as the saturation still
changes. The capillary pressure is the difference of the pressures at that opening and at the others. Rising pressures
drain a rock that the first fluid wets, falling ones let that back in. With a porous plate at the others
(``blocks_second`` of an opening) the second fluid stays in the rock once it has come through.
"""

import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.files.atomic import atomic_write, check_writable, refuse_linked_folder
from muphy_lb.case.case import Case, as_case, load_case
from muphy_lb.case.toml import as_override
from muphy_lb.measure.flow_view import whole_nodes
from muphy_lb.measure.permeability import rock_of
from muphy_lb.output.charts import line_chart
from muphy_lb.output.series import write_summary
from muphy_lb.parallel import from_root
from muphy_lb.parallel.watchdog import Sentry
from muphy_lb.physics.two_fluid.observers import exact_sum
from muphy_lb.physics.two_fluid.operators import FIRST, PHASE, SECOND
from muphy_lb.run.loop import STOPPED_EXIT_CODE
from muphy_lb.run.options import DEFAULT_OUTPUT
from muphy_lb.run.simulation import Simulation
from muphy_lb.run.stop_signals import StopSignals

FILE = "capillary_pressure"
COLUMNS = ("pressure_pa", "capillary_pressure_pa", "first_saturation", "steps", "is_settled", "reached")
LOOKS = 10


def drainage(options, say: Callable[[str], None], communicator) -> int:
    """Press the second fluid in and out; returns the exit code: 1 if the saturation went on changing after the steps of
    the case at a pressure, 75 if the flow was stopped, from where the same command goes on.

    The table is written after each pressure, to ``capillary_pressure.csv`` in the output folder, with a chart.

    Raises:
        InputError: no [two_fluid], or not one opening with a pressure through which the second fluid alone enters.
        DivergedError: the flow became unstable.
        OutputError: a file cannot be written.
    """
    pressures = _pressures(options.pressures)
    case = communicator.broadcast(load_case(options.case, options.set) if communicator.rank == 0 else None)
    inlet, outside_pa = _openings(case)
    folder = Path(options.output or Path(DEFAULT_OUTPUT) / f"{Path(options.case).stem}-drainage")
    rows = from_root(communicator, lambda: _earlier(folder, case, options, pressures))
    key = f"openings.{inlet}.pressure_pa"
    with StopSignals() as signals, Sentry(communicator, folder):
        if rows:
            say(f"{folder} holds {len(rows)} of {len(pressures)} pressures, which are not computed again")
            simulation = Simulation.load(folder / f"state_{len(rows)}", communicator)
        else:
            simulation = Simulation(as_case(case, [as_override(key, pressures[0])]), communicator=communicator)
        with simulation as sim:
            say(sim.core.describe())
            for pressure_pa in pressures[len(rows) :]:
                sim.change({key: pressure_pa})
                row, number = _settled(sim, sim.core.numerics.steps, options.settled_within, communicator, signals)
                if number:
                    name = signal.Signals(number).name
                    say(
                        f"stopped by signal {name}; to go on, give the same command again (what is done is in {folder})"
                    )
                    return STOPPED_EXIT_CODE
                reached = ", ".join(_reached(sim, inlet))
                row |= {
                    "pressure_pa": pressure_pa,
                    "capillary_pressure_pa": pressure_pa - outside_pa,
                    "reached": reached,
                }
                rows.append(row)
                say(_told(rows[-1]))
                sim.save(folder / f"state_{len(rows)}", overwrite=True)
                if communicator.rank == 0:
                    _write(folder, case, rows)
                    shutil.rmtree(folder / f"state_{len(rows) - 1}", ignore_errors=True)
                communicator.barrier()
    return 0 if all(row["is_settled"] for row in rows) else 1


def _pressures(text: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or not np.isfinite(found).all():
        raise InputError(f"drainage: --pressures is {text!r}; give numbers [Pa], as in 500,1000,2000")
    return found


def _openings(case: Case) -> tuple[str, float]:
    """The opening through which the second fluid enters, and the pressure [Pa] at all others."""
    if case.two_fluid is None:
        raise InputError("drainage: the case has no section [two_fluid], the second fluid; add one")
    inlets = [each for each in case.openings if each.second_fluid == 1.0 and each.pressure_pa is not None]
    others = [each for each in case.openings if each not in inlets]
    outside_pa = {each.pressure_pa for each in others}
    if len(inlets) != 1 or len(outside_pa) != 1 or None in outside_pa:
        raise InputError(
            "drainage: the second fluid enters through one opening, with second_fluid = 1.0 and pressure_pa, and all"
            f" others have one pressure_pa; here {len(inlets)} of {len(case.openings)} openings are such: give them so"
        )
    return inlets[0].name, outside_pa.pop()


def _settled(sim: Simulation, n_most: int, within: float, communicator, signals) -> tuple[dict, int]:
    """Step until the saturation has settled; the row of the table, and the signal that asked to stop, or 0."""
    window, first, is_settled = max(n_most // LOOKS, 1), sim.step_number, False
    before = _saturation(sim)
    while sim.step_number - first < n_most and not is_settled:
        sim.step(window)
        if number := communicator.maximum(signals.received):
            return {}, number
        now = _saturation(sim)
        is_settled, before = abs(now - before) <= within, now
    return {"first_saturation": before, "steps": sim.step_number - first, "is_settled": is_settled}, 0


def _saturation(sim: Simulation) -> float:
    """Saturation of the first fluid in the rock, reservoirs left out, on every rank."""
    core = sim.core
    first, second = core.model_field(FIRST), core.model_field(SECOND)
    saturation = None
    if first is not None and second is not None:
        inside = rock_of(core.case, core.header).holds(np.asarray(whole_nodes(core).voxel), core.header.shape)
        found = exact_sum(first[inside]), exact_sum(second[inside])
        saturation = found[0] / sum(found)
    return core.communicator.broadcast(saturation)


def _reached(sim: Simulation, inlet: str) -> list[str]:
    """Names of the other openings that the second fluid has reached."""
    core = sim.core
    links, phase = core.domain.links, core.local_field(PHASE)
    found = []
    for number, opening in enumerate(core.header.openings):
        is_there = bool((phase[links.node[links.boundary == number]] < 0.0).any())
        if core.communicator.maximum(int(is_there)) and opening.name != inlet:
            found.append(opening.name)
    return found


def _told(row: dict) -> str:
    word = "settled" if row["is_settled"] else "warning: NOT settled"
    reached = f"; the second fluid has reached {row['reached']}" if row["reached"] else ""
    return (
        f"capillary pressure {row['capillary_pressure_pa']:.4g} Pa: saturation of the first fluid"
        f" {row['first_saturation']:.4g}, {word} after {row['steps']:,} steps{reached}"
    )


def _identity(case: Case) -> dict:
    """The tables of a case that identify its flow."""
    return {name: json.loads(getattr(case, name).model_dump_json()) for name in ("geometry", "fluid", "two_fluid")}


def _earlier(folder: Path, case: Case, options, pressures: list[float]) -> list[dict]:
    """The rows that a folder holds of this command, none without one; on rank 0."""
    refuse_linked_folder(folder)
    check_writable(folder)
    path = folder / f"{FILE}.json"
    if options.overwrite:
        path.unlink(missing_ok=True)
    if not path.exists():
        return []
    record = json.loads(path.read_text(encoding="utf-8"))
    rows = record["points"]
    if record["case"] != _identity(case) or [row["pressure_pa"] for row in rows] != pressures[: len(rows)]:
        raise InputError(
            f"drainage: {folder} holds pressures of another case, or others than --pressures begins with; give"
            " --overwrite to begin anew, or another output folder with -o"
        )
    return rows


def _write(folder: Path, case: Case, rows: list[dict]) -> None:
    """The table as CSV and JSON, and its chart."""
    lines = [",".join(COLUMNS), *(",".join(str(row[name]).replace(",", ";") for name in COLUMNS) for row in rows)]
    curve = tuple(np.array([row[name] for row in rows]) for name in ("first_saturation", "capillary_pressure_pa"))
    chart = line_chart("Capillary pressure", "saturation of the first fluid", "capillary pressure [Pa]", {"": curve})
    for ending, content in ((".csv", ("\n".join(lines) + "\n").encode()), (".png", chart)):
        with atomic_write(folder / f"{FILE}{ending}") as temporary:
            temporary.write_bytes(content)
    write_summary(folder / f"{FILE}.json", {"case": _identity(case), "points": rows})

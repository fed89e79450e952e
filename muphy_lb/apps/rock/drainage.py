"""Capillary pressure against saturation, by steps of pressure: what ``muphy-lb drainage`` computes.

The second fluid enters through one opening, at one pressure after another, each for as long as the saturation still
changes. The capillary pressure is the difference of the pressures at that opening and at the others. Rising pressures
drain a rock that the first fluid wets, falling ones let that back in. With a porous plate at the others
the second fluid stays in the rock once it has come through.
"""

import json
import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from muphy_lb.apps.rock.curve import SATURATION, numbers, write_curve
from muphy_lb.base.errors import InputError
from muphy_lb.base.files.atomic import check_writable, refuse_linked_folder
from muphy_lb.case.case import Case, as_case, changed_contents, changed_keys, listed, load_case
from muphy_lb.case.toml import as_override
from muphy_lb.measure.displacement import Displacement, displacement_of
from muphy_lb.measure.flow_view import whole_nodes
from muphy_lb.measure.permeability import rock_of
from muphy_lb.parallel import from_root
from muphy_lb.parallel.watchdog import Sentry
from muphy_lb.run.loop import stopped
from muphy_lb.run.options import DEFAULT_OUTPUT
from muphy_lb.run.simulation import Simulation
from muphy_lb.run.stop_signals import StopSignals

FILE = "capillary_pressure"
COLUMNS = ("pressure_pa", "capillary_pressure_pa", "first_saturation", "steps", "is_settled", "reached")
LOOKS, AGREEING = 10, 2
"""Looks at a pressure, and of those in a row between which the saturation has to stay."""


def drainage(options, say: Callable[[str], None], communicator) -> int:
    """Press the second fluid in and out; returns the exit code: 1 if the saturation went on changing after the steps of
    the case at a pressure, 75 if the flow was stopped, from where the same command goes on.

    The table is written after each pressure, to ``capillary_pressure.csv`` in the output folder, with a chart.

    Raises:
        InputError: no second fluid, or not one opening with a pressure through which it alone enters.
        DivergedError: the flow became unstable.
        OutputError: a file cannot be written.
    """
    pressures = _pressures(options.pressures)
    if not 0.0 <= options.settled_within < 1.0:
        raise InputError(f"drainage: --settled-within is {options.settled_within:g}; give a share from 0 to below 1")
    case = communicator.broadcast(load_case(options.case, options.set) if communicator.rank == 0 else None)
    fluids = displacement_of(case, "drainage")
    inlet, outside_pa = _openings(case, fluids)
    case = as_case(case, [as_override(f"openings.{inlet}.pressure_pa", pressures[0])])
    folder = Path(options.output or Path(DEFAULT_OUTPUT) / f"{Path(options.case).stem}-drainage")
    rows = from_root(communicator, lambda: _earlier(folder, case, options, pressures))
    if rows:
        say(f"{folder} holds {len(rows)} of {len(pressures)} pressures, which are not computed again")
        simulation = Simulation.load(folder / f"state_{len(rows)}", communicator)
    else:
        simulation = Simulation(case, communicator=communicator)
    with StopSignals() as signals, Sentry(communicator, folder), simulation as sim:
        say(sim.core.describe())
        steps = Steps(sim, fluids, inlet, options.settled_within, signals)
        for pressure_pa in pressures[len(rows) :]:
            row = steps.at(pressure_pa)
            if row is None:
                name = signal.Signals(communicator.maximum(signals.received)).name
                return stopped(f"signal {name}", folder, say)
            rows.append({**row, "pressure_pa": pressure_pa, "capillary_pressure_pa": pressure_pa - outside_pa})
            say(_told(rows[-1]))
            sim.save(folder / f"state_{len(rows)}", overwrite=True)
            from_root(communicator, lambda: _write(folder, case, options, rows, fluids.structure_columns))
    return 0 if all(row["is_settled"] for row in rows) else 1


def _pressures(text: str) -> list[float]:
    found = numbers(text)
    if not found:
        raise InputError(f"drainage: --pressures is {text!r}; give numbers [Pa], as in 500,1000,2000")
    return found


def _openings(case: Case, fluids: Displacement) -> tuple[str, float]:
    """The opening through which the second fluid enters, and the pressure [Pa] at all others."""
    inlets = [each for each in case.openings if getattr(each, fluids.entering) == 1.0 and each.pressure_pa is not None]
    others = [each for each in case.openings if each not in inlets]
    outside_pa = {each.pressure_pa for each in others}
    if len(inlets) != 1 or len(outside_pa) != 1 or None in outside_pa:
        raise InputError(
            f"drainage: the second fluid enters through one opening, with {fluids.entering} = 1.0 and pressure_pa, and"
            f" all others have one pressure_pa; here {len(inlets)} of {len(case.openings)} openings are such: give them"
            " so"
        )
    forces = [key for key in ("acceleration_m_s2", "pressure_drop_pa") if any(getattr(case.flow, key))]
    forces = [f"flow.{key}" for key in forces] + list(case.flow.not_uniform)
    if forces:
        raise InputError(
            f"drainage: {forces[0]} drives the flow beside the pressures, whose difference is then not the capillary"
            " pressure; leave it out"
        )
    varying = [each.name for each in case.openings if each.waveform]
    if varying:
        raise InputError(
            f"drainage: openings.{varying[0]}.waveform changes a pressure that the command holds until the saturation"
            " has settled; leave it out"
        )
    return inlets[0].name, outside_pa.pop()


class Steps:
    """Steps of the pressure, each until the saturation has settled.

    Args:
        sim: the flow.
        fluids: both fluids.
        inlet: opening through which the second one enters.
        within: change of the saturation over a tenth of the steps of the case, within which it has settled if that is
            so twice in a row: a change of pressure takes time to reach the interface.
        signals: those that ask to stop.
    """

    def __init__(self, sim: Simulation, fluids: Displacement, inlet: str, within: float, signals: StopSignals):
        self._sim, self._fluids, self._inlet, self._within, self._signals = sim, fluids, inlet, within, signals
        self._n_most = sim.core.numerics.steps

    def at(self, pressure_pa: float) -> dict | None:
        """The row of the table for a pressure; None if a signal asked to stop. Collective."""
        sim, window = self._sim, max(self._n_most // LOOKS, 1)
        sim.change({f"openings.{self._inlet}.pressure_pa": pressure_pa})
        first, before, n_agreeing = sim.step_number, self._saturation(), 0
        while sim.step_number - first < self._n_most and n_agreeing < AGREEING:
            sim.step(window)
            if sim.core.communicator.maximum(self._signals.received):
                return None
            now = self._saturation()
            n_agreeing, before = n_agreeing + 1 if abs(now - before) <= self._within else 0, now
        found = {"first_saturation": before, "steps": sim.step_number - first, "is_settled": n_agreeing >= AGREEING}
        structure = sim.core.communicator.broadcast(self._fluids.structure(sim.core))
        return found | structure | {"reached": ", ".join(self._reached())}

    def _saturation(self) -> float:
        """Saturation of the first fluid in the rock, reservoirs left out, on every rank."""
        core = self._sim.core
        chosen: np.ndarray | slice = slice(None)
        if core.communicator.rank == 0:
            chosen = rock_of(core.case, core.header).holds(np.asarray(whole_nodes(core).voxel), core.header.shape)
        second = self._fluids.saturation(core, chosen)
        return 1.0 - core.communicator.broadcast(second)

    def _reached(self) -> list[str]:
        """Names of the other openings that the second fluid has reached."""
        core = self._sim.core
        links, is_second, found = core.domain.links, self._fluids.is_second(core), []
        for number, opening in enumerate(core.header.openings):
            is_there = bool(is_second[links.node[links.boundary == number]].any())
            if core.communicator.maximum(int(is_there)) and opening.name != self._inlet:
                found.append(opening.name)
        return found


def _told(row: dict) -> str:
    word = "settled" if row["is_settled"] else "warning: NOT settled"
    reached = f"; the second fluid has reached {row['reached']}" if row["reached"] else ""
    return (
        f"capillary pressure {row['capillary_pressure_pa']:.4g} Pa: saturation of the first fluid"
        f" {row['first_saturation']:.4g}, {word} after {row['steps']:,} steps{reached}"
    )


def _identity(case: Case, options, folder: Path) -> dict:
    """Origin of the points of a folder: the case as text, but for its title and output, what its files hold, and the
    change within which a saturation has settled."""
    bare = as_case(case, [as_override(section, None) for section in ("title", "output")])
    return {"case": bare.to_toml(folder), "contents": bare.contents(), "settled_within": options.settled_within}


def _earlier(folder: Path, case: Case, options, pressures: list[float]) -> list[dict]:
    """The rows that a folder holds of this command, none without one; on rank 0."""
    refuse_linked_folder(folder)
    check_writable(folder)
    path = folder / f"{FILE}.json"
    if options.overwrite:
        path.unlink(missing_ok=True)
    if not path.exists():
        return []
    now, remedy = _identity(case, options, folder), "give --overwrite to begin anew, or another output folder with -o"
    try:
        then = json.loads(path.read_text(encoding="utf-8"))
        rows, changed = then["points"], changed_keys(then["case"], now["case"])
        earlier, within = [row["pressure_pa"] for row in rows], then["settled_within"]
        changed += changed_contents(then["contents"], now["contents"])
    except (ValueError, LookupError, TypeError) as error:
        raise InputError(f"drainage: {path} is damaged, or no record of this command; {remedy}") from error
    if within != now["settled_within"]:
        changed.append(f"--settled-within was {within}, is {now['settled_within']}")
    if earlier != pressures[: len(rows)]:
        changed.append(f"--pressures began with {', '.join(f'{each:g}' for each in earlier)}")
    if changed:
        raise InputError(f"drainage: {folder} holds pressures of another case: {listed(changed)}; {remedy}")
    return rows


def _write(folder: Path, case: Case, options, rows: list[dict], of_structure: Sequence[str]) -> None:
    """The table as CSV and JSON, and its chart; the state before the last one goes."""
    curve = tuple(np.array([row[name] for row in rows]) for name in ("first_saturation", "capillary_pressure_pa"))
    labels = "Capillary pressure", SATURATION, "capillary pressure [Pa]"
    write_curve(folder / FILE, rows, (*COLUMNS, *of_structure), labels, {"": curve}, **_identity(case, options, folder))
    shutil.rmtree(folder / f"state_{len(rows) - 1}", ignore_errors=True)

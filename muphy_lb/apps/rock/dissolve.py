"""A solid that dissolves or grows, and porosity and permeability over time: ``muphy-lb dissolve``."""

import io
import json
import signal
from collections.abc import Callable
from math import nan
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from muphy_lb.apps.rock.curve import not_read, origin, other_origin, write_points
from muphy_lb.apps.rock.moving_surface import GONE, Course, Settled, Surface
from muphy_lb.base.errors import InputError
from muphy_lb.base.files.atomic import atomic_write, check_writable, refuse_linked_folder
from muphy_lb.base.registry import moving_solid
from muphy_lb.case.case import Case, listed, load_case
from muphy_lb.domain import PULL
from muphy_lb.geometry.voxels import Voxels
from muphy_lb.output.charts import line_chart
from muphy_lb.parallel import agreed_on_root, from_root
from muphy_lb.parallel.watchdog import Sentry
from muphy_lb.run.loop import stopped
from muphy_lb.run.options import DEFAULT_OUTPUT
from muphy_lb.run.stop_signals import StopSignals
from muphy_lb.setup.geometry import solid_of

FILE, STATE, PICTURE = "solid", "state.npz", "outlines.png"
COLUMNS = (
    *("time_s", "solid_m3", "porosity", "permeability_m2", "area_m2", "mean_flux", "solid_rate_m3_s", *GONE),
    *("flow_steps", "scalar_steps", "is_settled"),
)
CHARTED = {"solid": "solid_m3", "porosity": "porosity", "permeability": "permeability_m2", "surface": "area_m2"}
OF_SURFACE = ("time_s", "shares", *GONE)
MOST_OUTLINES = 8
GONE_ROW = {
    **{"permeability_m2": nan, "area_m2": 0.0, "mean_flux": 0.0, "solid_rate_m3_s": 0.0},
    **{"flow_steps": 0, "scalar_steps": 0, "is_settled": True},
}
"""The row of a solid that has gone, around which no flow is computed."""


def dissolve(options, say: Callable[[str], None], communicator) -> int:
    """Move the surface of the solid of a case; returns the exit code: 1 if a flow or a flux was not steady within the
    steps of the case, 75 if it was stopped, from where the same command continues.

    ``solid.csv`` has a row for each steady state, with a chart; ``outlines.png`` shows the solid, ``state.npz`` has
    the shares of solid (nz, ny, nx) and all else that the next step follows from.

    Raises InputError: the case has no solid that moves, or a time step in which it would move too far; DivergedError: a
    flow became unstable; OutputError: a file cannot be written.
    """
    case = communicator.broadcast(load_case(options.case, options.set) if communicator.rank == 0 else None)
    moved = moving_solid(case)
    if moved is None:
        raise InputError(f"dissolve: {options.case} has no solid that dissolves or grows; add one")
    if case.compute.streaming != PULL.name:
        raise InputError(
            f"dissolve: compute.streaming is {case.compute.streaming!r}, with which a flow cannot be frozen: set"
            f" compute.streaming = {PULL.name!r}"
        )
    if case.run.frozen_after_s is not None:
        raise InputError(
            "dissolve: run.frozen_after_s is given, but the command freezes each flow once it is steady; leave it out"
        )
    folder = Path(options.output or Path(DEFAULT_OUTPUT) / f"{Path(options.case).stem}-dissolve")
    history = agreed_on_root(communicator, lambda: History(folder, case, options.overwrite))
    rows = communicator.broadcast(history and history.rows)
    if rows:
        say(f"{folder} holds {len(rows)} steady states, which are not computed again")
    with StopSignals() as signals, Sentry(communicator, folder):
        course = Course(case, moved, history and history.solid, signals, communicator)
        while not from_root(communicator, lambda: history.is_done):
            settled = course.settled(history and history.surface, not rows)
            if settled is None:
                from_root(communicator, lambda: history.rows and history.draw())
                name = signal.Signals(communicator.maximum(signals.received)).name
                return stopped(f"signal {name}", folder, say)
            rows = from_root(communicator, lambda settled=settled: history.take(course, settled))
            say(_told(rows))
        from_root(communicator, lambda: history.draw())
    return 0 if all(row["is_settled"] for row in rows) else 1


class History:
    """The rows so far and the surface, in a folder; on rank 0.

    Args:
        folder: made if missing.
        case: the case.
        is_anew: whether what the folder holds is forgotten.

    Attributes:
        solid: the room of the solid.
        surface: its surface now.
        rows: numbers of each steady state, by column.
        drawn: middle layers of the shares, by time.
    """

    def __init__(self, folder: Path, case: Case, is_anew: bool):
        self._folder, self._end_s, self.solid = folder, moving_solid(case).end_s, solid_of(case)
        self._origin = origin(case, folder)
        self.surface, self.rows = Surface(0.0, self.solid.start), list[dict]()
        self.drawn: dict[float, np.ndarray] = {}
        refuse_linked_folder(folder)
        check_writable(folder)
        if is_anew:
            (folder / STATE).unlink(missing_ok=True)
        if (folder / STATE).exists():
            self._read()

    @property
    def is_done(self) -> bool:
        """Whether the end is reached, or nothing is left to dissolve."""
        return bool(self.rows) and (self.rows[-1]["time_s"] >= self._end_s or self.rows[-1]["area_m2"] == 0.0)

    def take(self, course: Course, settled: Settled) -> list[dict]:
        """The rows with that of a steady state; the surface takes its step, and both are written."""
        self._add(settled.row)
        if not self.is_done:
            self.surface = course.next(self.surface, settled)
        if self.solid.is_gone(self.surface.shares):
            self._add(GONE_ROW)
        self._write()
        return self.rows

    def _add(self, row: dict) -> None:
        surface, solid = self.surface, self.solid
        volumes = {"solid_m3": solid.volume_m3(surface.shares), "porosity": solid.porosity(surface.shares)}
        self.rows.append({"time_s": surface.time_s, **volumes, **row, **surface.gone})
        self.drawn[surface.time_s] = surface.shares[len(surface.shares) // 2].astype(np.float32)

    def _read(self) -> None:
        path, remedy = self._folder / STATE, "give --overwrite to start again, or another output folder with -o"
        try:
            with np.load(path, allow_pickle=False) as arrays:
                found = {name: arrays[name] for name in arrays.files}
            record = json.loads(str(found.pop("record")))
            changed = other_origin(record, self._origin)
            self.rows, before = record["rows"], tuple(found.pop("before").tolist())
            self.drawn = dict(zip(found.pop("drawn_s").tolist(), found.pop("drawn"), strict=True))
            time_s, shares, *gone = (found.pop(name) for name in OF_SURFACE)
            volumes = dict(zip(GONE, map(float, gone), strict=True))
            self.surface = Surface(float(time_s), shares, volumes, found, before)
        except (ValueError, LookupError, TypeError, OSError, BadZipFile) as error:
            raise InputError(f"dissolve: {path} {not_read(error)}; {remedy}") from error
        if changed:
            raise InputError(f"dissolve: {self._folder} holds a solid of another case: {listed(changed)}; {remedy}")

    def _write(self) -> None:
        """Write state and table."""
        surface, rows = self.surface, self.rows
        arrays: dict[str, Any] = dict(
            zip(OF_SURFACE, (surface.time_s, surface.shares, *surface.gone.values()), strict=True)
        )
        arrays |= {"record": json.dumps(self._origin | {"rows": rows}), "before": surface.before}
        arrays |= {"drawn_s": [*self.drawn], "drawn": np.stack([*self.drawn.values()]), **surface.flow}
        with atomic_write(self._folder / STATE) as temporary, open(temporary, "wb") as file:
            np.savez(file, **arrays)
        write_points(self._folder / FILE, rows, COLUMNS, **self._origin)

    def draw(self) -> None:
        """The chart of the table, and the picture of the solid."""
        columns = {name: np.array([row[name] for row in self.rows], dtype=np.float64) for name in COLUMNS}
        lines = {
            name: (columns["time_s"], columns[column] / columns[column][0])
            for name, column in CHARTED.items()
            if columns[column][0] > 0.0
        }
        chart = line_chart("Solid, pores and flow", "time [s]", "over that of the start", lines)
        for file, content in ((f"{FILE}.png", chart), (PICTURE, _outlines(self.drawn, self.solid.voxels))):
            with atomic_write(self._folder / file) as temporary:
                temporary.write_bytes(content)


def _told(rows: list[dict]) -> str:
    first, row = rows[0], rows[-1]
    word = "" if row["is_settled"] else "; warning: NOT steady within the steps of the case"
    share = row["solid_m3"] / first["solid_m3"]
    return (
        f"{row['time_s']:.5g} s: solid {row['solid_m3']:.5g} m3 ({100.0 * share:.4g} %), porosity"
        f" {row['porosity']:.4g}, permeability {row['permeability_m2']:.4g} m2, surface {row['area_m2']:.4g} m2 (steps:"
        f" flow {row['flow_steps']:,}, solutes {row['scalar_steps']:,}){word}"
    )


def _outlines(drawn: dict[float, np.ndarray], voxels: Voxels) -> bytes:
    """A picture of the surface in the middle layer at some times."""
    from matplotlib import colormaps
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    times = [*drawn]
    chosen = sorted({round(k) for k in np.linspace(0, len(times) - 1, MOST_OUTLINES)})
    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    canvas, axes = FigureCanvasAgg(figure), figure.subplots()
    for number, k in enumerate(chosen):
        layer, colour = drawn[times[k]], colormaps["viridis"](number / max(len(chosen) - 1, 1))
        if min(layer.shape) > 1 and layer.min() < 0.5 < layer.max():
            x, y = (voxels.origin_m[axis] + voxels.spacing_m * np.arange(n) for axis, n in enumerate(layer.shape[::-1]))
            axes.contour(x, y, layer, [0.5], colors=[colour], linewidths=1.2)
        axes.plot([], [], color=colour, label=f"{times[k]:.3g} s")
    axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    axes.legend(fontsize=8)
    buffer = io.BytesIO()
    canvas.print_png(buffer)
    return buffer.getvalue()

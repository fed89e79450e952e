"""Pictures of a flow: one at its end; ``frames/NAME_STEP.png`` and their film on its way, with one scale of colours."""

import importlib
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from muphy_lb.base.files.atomic import atomic_write, check_writable, is_own_file, no_link, output_errors
from muphy_lb.base.kept import helpers
from muphy_lb.case.output import FIELDS, SPEED
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.measure.at_particles import particles_drawn
from muphy_lb.measure.field_snapshots import known_fields
from muphy_lb.measure.flow_view import FlowView, nodes_with_fluid, whole_nodes
from muphy_lb.measure.observer import Observer
from muphy_lb.output.drawing import FRAMES_FOLDER, drawing, frame_files, picture_files
from muphy_lb.output.report_html import ReportPart
from muphy_lb.parallel import agreed_on_root

if TYPE_CHECKING:
    from muphy_lb.output.pictures.cut import Sight
    from muphy_lb.output.pictures.particles import Points
    from muphy_lb.output.pictures.theme import Theme
    from muphy_lb.output.pictures.vessel import Presentation

FILM_FILE = "film.gif"


class Frames:
    """The frames of a run, on rank 0: files alone know of them, so a resumed run continues with its film.
    ``resume_step``: frames up to that step are kept; None for a new run. Raises OutputError: the folder cannot be
    written."""

    def __init__(self, view: FlowView, folder: Path, name: str, resume_step: int | None):
        self._folder, self._name = folder, name
        self._makes_film = view.case.output.film
        with output_errors(folder):
            for step, path in self.drawn().items():
                if resume_step is None or step > resume_step:
                    path.unlink()
        check_writable(folder / FRAMES_FOLDER)

    def file(self, step: int) -> str:
        """The frame of a step, beside the other files of the run."""
        return frame_files(self._name).replace("*", f"{step:08d}")

    def drawn(self) -> dict[int, Path]:
        """The frames that are there by step, ascending."""
        paths = self._folder.glob(frame_files(self._name))
        steps = {path: path.stem.rpartition("_")[2] for path in paths if is_own_file(path)}
        return dict(sorted((int(step), path) for path, step in steps.items() if step.isdecimal()))

    def make_film(self) -> None:
        """Make the film, if the case asks for it and there are frames."""
        pictures = list(self.drawn().values())
        if self._makes_film and pictures:
            from muphy_lb.output.film import write_film

            with drawing(FILM_FILE):
                write_film(self._folder / FILM_FILE, pictures)


class FlowPicture(Observer):
    """Draws the speed on the vessel and on a cut."""

    file = "picture.png"
    files = picture_files(file)

    def __init__(self, view: FlowView, folder: Path):
        self._view, self._folder = view, folder
        if view.communicator.rank == 0:
            _prepare()

    @classmethod
    def create(cls, view, folder, resume_step) -> Sequence[Observer]:
        """A single observer, unless the case disables pictures."""
        return (cls(view, folder),) if view.case.output.picture else ()

    def close(self) -> None:
        """Draw the picture."""
        from muphy_lb.output.pictures.theme import chosen_theme
        from muphy_lb.output.pictures.vessel import draw_vessel

        view = self._view
        shown = shown_flow(view, chosen_theme(view.case.output))
        if shown is not None:
            nodes, speed, how = shown
            with drawing(self.file):
                draw_vessel(self._folder / self.file, nodes, speed, view.case.title, how)

    def section(self, summary: Mapping) -> ReportPart:
        """The picture for report.html."""
        return ReportPart(pictures={self.file: "geometry and speed"})


def _prepare() -> None:
    """Import the drawing modules beside the steps, and request their kernels from helpers that are at work."""
    if helpers.are_at_work():
        from muphy_lb.output.pictures.projection import RAYS

        helpers.expected(RAYS)
    threading.Thread(target=_import_drawing).start()


def _import_drawing() -> None:
    with suppress(ImportError):  # drawing reports what is missing
        importlib.import_module("muphy_lb.output.pictures.vessel")


def shown_flow(view: FlowView, theme: "Theme") -> "tuple[NodeList, np.ndarray, Presentation] | None":
    """The content of the picture of a flow, on rank 0 (None elsewhere): the nodes with fluid, (n,) their speed [m/s],
    and how; where a physics has a field of its own, on the cut that shows most of that. Collective."""
    from muphy_lb.output.pictures.vessel import Presentation

    velocity = view.velocity_m_s()
    chosen = [physics.cut_field for physics in view.physics if physics.cut_field]
    telling = view.field(chosen[0]) if chosen else None
    points = particles_drawn(view)
    found = nodes_with_fluid(view, None if velocity is None else np.linalg.norm(velocity, axis=1), telling)
    if found is None:
        return None
    nodes, (speed, telling) = found
    mirrors, sight = str(view.case.geometry.options.get("mirror", "")), sight_of(view)
    room = None if sight is None else whole_nodes(view)
    return nodes, speed, Presentation(mirrors, telling, theme, sight=sight, room=room, points=points)


def sight_of(view: FlowView) -> "Sight | None":
    """The direction that is up in pictures of a flow, where a physics gives one."""
    return next((sight for physics in view.physics if (sight := physics.sight()) is not None), None)


N_STEPS_OF_SCALE = 6  # most steps of round numbers between the limits of a scale

TIME_UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


class SliceFrames(Observer):
    """Draws a field on the plane that shows most, and makes a film of it.

    The scale of colours reaches from and to what has been seen so far, and is rounded; at the end frames that were
    drawn with a smaller one are drawn again. Their content is kept for that in a small file beside each of them, so
    nothing of them stays in memory.

    Args:
        resume_step: frames up to that step are kept; None for a new run.
    """

    files = (*(frame_files(name) for name in (SPEED, *FIELDS)), "frames/*.npz", FILM_FILE)

    def __init__(self, view: FlowView, folder: Path, resume_step: int | None):
        self.every = view.case.output.frames_every_steps
        self._view, self._folder = view, folder
        chosen = view.case.output.frames_field or SPEED
        self._source, self._field = ("velocity", SPEED) if chosen in (SPEED, "velocity") else (chosen, chosen)
        self._drawn_with: dict[int, tuple[float, float, float]] = {}
        self._low, self._high, self._top_of_points = np.inf, -np.inf, 0.0
        self._frames = agreed_on_root(view.communicator, lambda: Frames(view, folder, self._field, resume_step))
        agreed_on_root(view.communicator, self._go_on)

    @classmethod
    def create(cls, view, folder, resume_step) -> Sequence[Observer]:
        """A single observer, if the case asks for frames and no physics draws them in its own way."""
        output = view.case.output
        is_left = output.frames_field is None and any(physics.draws_frames for physics in view.physics)
        return (cls(view, folder, resume_step),) if output.frames_every_steps and not is_left else ()

    def act(self) -> None:
        """Draw a frame."""
        view = self._view
        values, points = view.field(self._source), particles_drawn(view)
        if values is None:
            return
        with drawing(self._frames.file(view.step_number)):
            from muphy_lb.output.pictures.vessel import as_scalar

            shown = self._raster.image(as_scalar(self._source, values)[1]).values
            self._widen(shown, points.top if points else 0.0)
            with atomic_write(self._kept(view.step_number)) as temporary, open(temporary, "wb") as file:
                of_points = {} if points is None else {f"points_{name}": each for name, each in vars(points).items()}
                np.savez_compressed(file, time_s=view.time_s, values=shown.astype(np.float32), **of_points)
            self._draw(view.step_number)

    def close(self) -> None:
        """Redraw frames with another scale, and make the film."""
        if self._view.communicator.rank != 0:
            return
        for step in self._frames.drawn():
            if self._drawn_with.get(step) != self._limits() and is_own_file(self._kept(step)):
                with drawing(self._frames.file(step)):
                    self._draw(step)
        self._frames.make_film()

    @cached_property
    def _raster(self):
        from muphy_lb.output.pictures.cut import best_raster, upright_raster

        nodes, sight = whole_nodes(self._view), sight_of(self._view)
        return best_raster(nodes) if sight is None else upright_raster(nodes, nodes, sight)

    @cached_property
    def _grains(self) -> bool:
        from muphy_lb.output.pictures.projection import is_rock

        nodes = whole_nodes(self._view)
        return nodes.shape[0] > 1 and is_rock(nodes)

    def _go_on(self) -> None:
        """Take note of what the frames of an earlier part of the run show, and remove what later ones showed."""
        drawn = self._frames.drawn()
        with output_errors(self._folder):
            for path in (self._folder / self._frames.file(0)).parent.glob(f"{self._field}_*.npz"):
                if path.with_suffix(".png") not in drawn.values():
                    path.unlink()
        for step in drawn:
            if is_own_file(self._kept(step)):
                _, values, points = self._read(step)
                self._widen(values, points.top if points else 0.0)

    def _kept(self, step: int) -> Path:
        return (self._folder / self._frames.file(step)).with_suffix(".npz")

    def _read(self, step: int) -> "tuple[float, np.ndarray, Points | None]":
        """(time [s], values on the plane, particles) of a frame."""
        from muphy_lb.output.pictures.particles import Points

        with open(self._kept(step), "rb", opener=no_link) as file, np.load(file) as kept:
            own = {name.removeprefix("points_"): kept[name] for name in kept.files if name.startswith("points_")}
            told = {name: value if value.ndim else value.item() for name, value in own.items()}
            return float(kept["time_s"]), kept["values"], Points(**told) if told else None

    def _widen(self, shown: np.ndarray, top_of_points: float) -> None:
        from muphy_lb.output.pictures.vessel import reach

        low, high = reach(self._field, shown)
        self._low, self._high = min(self._low, low), max(self._high, high)
        self._top_of_points = max(self._top_of_points, top_of_points)

    def _limits(self) -> tuple[float, float, float]:
        """Round numbers that enclose all that was seen, and the largest value of particles."""
        from matplotlib.ticker import MaxNLocator

        low, high = self._low, self._high
        if not high > low:
            room = abs(low) or 1.0
            low, high = (0.0 if self._field == SPEED else low - room), high + room
        ticks = MaxNLocator(N_STEPS_OF_SCALE, steps=[1, 2, 5, 10]).tick_values(low, high)
        return float(ticks[0]), float(ticks[-1]), self._top_of_points

    def _draw(self, step: int) -> None:
        from muphy_lb.output.pictures.panels import figure_at
        from muphy_lb.output.pictures.theme import THEMES
        from muphy_lb.output.pictures.vessel import Shown, fill_slice, one_scale

        case, limits = self._view.case, self._limits()
        time_s, values, points = self._read(step)
        shown = Shown(
            self._field,
            known_fields(self._view)[self._field],
            one_scale(self._field, limits[:2]),
            case.title,
            (self._time_stamp(time_s),),
            str(case.geometry.options.get("mirror", "")),
            self._grains,
            points and replace(points, top=limits[2]),
        )
        with figure_at(self._folder / self._frames.file(step), THEMES[case.output.picture_style]) as figure:
            fill_slice(figure, whole_nodes(self._view), self._raster.of_pixels(values), shown)
        self._drawn_with[step] = limits

    def _time_stamp(self, time_s: float) -> str:
        from muphy_lb.output.drawing import suitable_unit

        end_s = self._view.numerics.steps * self._view.units.time_step_s
        unit, unit_s = suitable_unit(TIME_UNITS, end_s, 1.0)
        return f"t = {time_s / unit_s:.4g} {unit}"

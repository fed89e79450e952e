"""Frames of a flow: a field on a plane, all with one scale of colours."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from muphy_lb.base.files.atomic import atomic_write, is_own_file, no_link, output_errors
from muphy_lb.case.output import FIELDS, SPEED
from muphy_lb.measure.field_snapshots import UNITS
from muphy_lb.measure.flow_picture import sight_of
from muphy_lb.measure.flow_view import FlowView, whole_nodes
from muphy_lb.measure.frames import FILM_FILE, Frames
from muphy_lb.measure.observer import Observer
from muphy_lb.output.drawing import drawing, frame_files
from muphy_lb.parallel import agreed_on_root

N_STEPS_OF_SCALE = 6
"""Most steps of round numbers between the limits of a scale."""

TIME_UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


class SliceFrames(Observer):
    """Draws a field on the plane that shows most, and makes a film of it.

    The scale of colours reaches from and to what has been seen so far, and is rounded; at the end frames that were
    drawn with a smaller one are drawn again. What they show is kept for that in a small file beside each of them, so
    nothing of them stays in memory.

    Args:
        view: the flow.
        folder: output folder.
        resume_step: frames up to that step are kept; None for a new run.
    """

    files = (*(frame_files(name) for name in (SPEED, *FIELDS)), "frames/*.npz", FILM_FILE)

    def __init__(self, view: FlowView, folder: Path, resume_step: int | None):
        self.every = view.case.output.frames_every_steps
        self._view, self._folder = view, folder
        chosen = view.case.output.frames_field or SPEED
        self._source, self._field = ("velocity", SPEED) if chosen in (SPEED, "velocity") else (chosen, chosen)
        self._drawn_with: dict[int, tuple[float, float]] = {}
        self._low, self._high = np.inf, -np.inf
        self._frames = agreed_on_root(view.communicator, lambda: Frames(view, folder, self._field, resume_step))
        agreed_on_root(view.communicator, self._go_on)

    @classmethod
    def create(cls, view, folder, resume_step) -> Sequence[Observer]:
        """A single observer, if the case asks for frames and no physics draws them in its own way."""
        output = view.case.output
        if not output.frames_every_steps or (output.frames_field is None and _physics_draws(view)):
            return ()
        return (cls(view, folder, resume_step),)

    def act(self) -> None:
        """Draw a frame."""
        view = self._view
        values = view.field(self._source)
        if values is None:
            return
        with drawing(self._frames.file(view.step_number)):
            from muphy_lb.output.pictures.slice import as_scalar

            shown = self._raster.image(as_scalar(self._source, values)[1]).values
            self._keep(view.step_number, view.time_s, shown)
            self._draw(view.step_number)

    def close(self) -> None:
        """Draw frames anew whose scale was another, and make the film."""
        if self._view.communicator.rank != 0:
            return
        for step in self._frames.drawn():
            if self._drawn_with.get(step) != self._limits() and is_own_file(self._kept(step)):
                with drawing(self._frames.file(step)):
                    self._draw(step)
        self._frames.make_film()

    @cached_property
    def _raster(self):
        from muphy_lb.output.pictures.cut import best_raster
        from muphy_lb.output.pictures.sight import upright_raster

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
                self._widen(self._read(step)[1])

    def _kept(self, step: int) -> Path:
        """The file of what a frame shows."""
        return (self._folder / self._frames.file(step)).with_suffix(".npz")

    def _keep(self, step: int, time_s: float, shown: np.ndarray) -> None:
        self._widen(shown)
        with atomic_write(self._kept(step)) as temporary, open(temporary, "wb") as file:
            np.savez_compressed(file, time_s=time_s, values=shown.astype(np.float32))

    def _read(self, step: int) -> tuple[float, np.ndarray]:
        """(time [s], values on the plane) of a frame."""
        with open(self._kept(step), "rb", opener=no_link) as file, np.load(file) as kept:
            return float(kept["time_s"]), kept["values"]

    def _widen(self, shown: np.ndarray) -> None:
        from muphy_lb.output.pictures.slice import reach

        low, high = reach(self._field, shown)
        self._low, self._high = min(self._low, low), max(self._high, high)

    def _limits(self) -> tuple[float, float]:
        """Round numbers that enclose all that was seen."""
        from matplotlib.ticker import MaxNLocator

        low, high = self._low, self._high
        if not high > low:
            room = abs(low) or 1.0
            low, high = (0.0 if self._field == SPEED else low - room), high + room
        ticks = MaxNLocator(N_STEPS_OF_SCALE, steps=[1, 2, 5, 10]).tick_values(low, high)
        return float(ticks[0]), float(ticks[-1])

    def _draw(self, step: int) -> None:
        from muphy_lb.output.pictures.slice import Shown, draw_slice, one_scale
        from muphy_lb.output.pictures.theme import THEMES

        case, limits = self._view.case, self._limits()
        time_s, values = self._read(step)
        unit = (UNITS | {SPEED: UNITS["velocity"]} | _units_of_physics(self._view))[self._field]
        shown = Shown(
            self._field,
            unit,
            one_scale(self._field, limits),
            case.title,
            (self._time_stamp(time_s),),
            str(case.geometry.options.get("mirror", "")),
            self._grains,
        )
        cut = self._raster.of_pixels(values)
        theme = THEMES[case.output.picture_style]
        draw_slice(self._folder / self._frames.file(step), whole_nodes(self._view), cut, shown, theme)
        self._drawn_with[step] = limits

    def _time_stamp(self, time_s: float) -> str:
        """The time in the unit that suits the whole run."""
        from muphy_lb.output.shown_units import suitable_unit

        end_s = self._view.numerics.steps * self._view.units.time_step_s
        unit, unit_s = suitable_unit(TIME_UNITS, end_s, 1.0)
        return f"t = {time_s / unit_s:.4g} {unit}"


def _physics_draws(view: FlowView) -> bool:
    return any(physics.draws_frames for physics in view.physics)


def _units_of_physics(view: FlowView) -> dict[str, str]:
    return {name: field.unit for physics in view.physics for name, field in physics.output_fields.items()}

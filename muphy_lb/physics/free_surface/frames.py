"""The pictures of the liquid that a run draws: ``surface.png`` at the end, ``frames/surface_STEP.png`` before."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import floor, log10
from pathlib import Path

import numpy as np

from muphy_lb.geometry.nodes import NodeList
from muphy_lb.measure.flow_view import FlowView, whole_nodes
from muphy_lb.measure.observer import Observer
from muphy_lb.measure.pictures import Frames
from muphy_lb.output.beside import Beside
from muphy_lb.output.drawing import drawing, frame_files
from muphy_lb.output.report_html import ReportPart
from muphy_lb.parallel import agreed_on_root
from muphy_lb.physics.free_surface.filling import Liquid, Snapshot, gravity_m_s2
from muphy_lb.physics.free_surface.section import PICTURE_FILE


class SurfacePicture(Observer):
    """Draws the liquid.

    All pictures of a run have one scale of colours, up to the speed of a fall through the whole box, with the velocity
    that the case starts with. Without either it grows with the largest speed so far.

    Args:
        view: the flow.
        folder: output folder.
        resume_step: frames up to that step are kept; None for a new run.
        liquid: of the present step.

    Raises OutputError: the folder of the frames cannot be made.
    """

    def __init__(self, view: FlowView, folder: Path, resume_step: int | None, liquid: Snapshot):
        self._liquid, self._beside = liquid, Beside()
        self.every = 0 if view.case.output.frames_field else view.case.output.frames_every_steps
        self._view, self._folder = view, folder
        gravity = gravity_m_s2(view)
        strength = float(np.linalg.norm(gravity))
        self._up = -gravity / strength if strength > 0.0 else np.array([0.0, 0.0, 1.0])
        size_m = view.header.spacing_m * np.array(view.header.shape[::-1])
        starts = [np.linalg.norm(liquid.velocity_m_s) for liquid in view.case.free_surface.liquid]
        self._top_m_s = float(np.sqrt(2.0 * strength * (np.abs(self._up) @ size_m) + max(starts) ** 2))
        self._grows = self._top_m_s == 0.0
        if self.every:
            self._frames = agreed_on_root(view.communicator, lambda: Frames(view, folder, "surface", resume_step))

    def forget(self) -> None:
        """Draw the present step again."""
        self._liquid.forget()

    def act(self) -> None:
        """Draw a frame."""
        self._draw(frame_files("surface").replace("*", f"{self._view.step_number:08d}"))

    def close(self) -> None:
        """Draw the last picture, unless the case disables pictures, and make the film of the frames."""
        if self._view.case.output.picture:
            from muphy_lb.output.pictures.theme import chosen_theme

            self._draw(PICTURE_FILE, chosen_theme(self._view.case.output).formats)
        self.wait()
        if self.every and self._view.communicator.rank == 0:
            self._frames.make_film()

    def wait(self) -> None:
        """Wait for all pictures."""
        self._beside.wait()

    def section(self, summary: Mapping) -> ReportPart:
        """The last picture for report.html."""
        return ReportPart(pictures={PICTURE_FILE: "liquid and its speed"})

    def _draw(self, file: str, formats: tuple[str, ...] = ()) -> None:
        """Draw a picture, beside its PNG in further formats."""
        view, liquid = self._view, self._liquid.now()
        if liquid is None:
            return
        fastest = float(np.linalg.norm(liquid.velocity_m_s, axis=1).max(initial=0.0))
        if self._grows:
            self._top_m_s = max(self._top_m_s, _round_number_above(fastest))
        seen = {"up": self._up, "top_m_s": self._top_m_s or 1.0, "time_s": view.time_s, "title": view.case.title}
        self._beside.do(partial(_draw_beside, self._folder / file, formats, whole_nodes(view), liquid, seen))


def _draw_beside(path: Path, formats: tuple[str, ...], nodes: NodeList, liquid: Liquid, seen: Mapping) -> None:
    """Write a picture of a liquid; ``seen``: the other attributes of a :class:`Scene`."""
    with drawing(path.name):
        from muphy_lb.output.pictures.theme import DARK
        from muphy_lb.physics.free_surface.picture import Scene, draw_liquid  # with Matplotlib

        draw_liquid(path, Scene(nodes, *liquid.spread(), **seen, theme=replace(DARK, formats=formats)))


def _round_number_above(value: float) -> float:
    """The smallest 1, 2 or 5 times a power of ten that is not below a value; 0 for 0."""
    if value == 0.0:
        return 0.0
    power = 10.0 ** floor(log10(value))
    return next(digit * power for digit in (1, 2, 5, 10) if digit * power >= value)

"""The picture of a flow at its end, ``picture.png``."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from muphy_lb.geometry.nodes import NodeList
from muphy_lb.measure.flow_view import FlowView, nodes_with_fluid, whole_nodes
from muphy_lb.measure.observer import Observer
from muphy_lb.output.drawing import drawing, picture_files
from muphy_lb.output.report_html import ReportPart

if TYPE_CHECKING:
    from muphy_lb.output.pictures.sight import Sight
    from muphy_lb.output.pictures.theme import Theme
    from muphy_lb.output.pictures.vessel import Presentation


class FlowPicture(Observer):
    """Draws the speed on the vessel and on a cut.

    Args:
        view: the flow.
        folder: output folder.
    """

    file = "picture.png"
    files = picture_files(file)

    def __init__(self, view: FlowView, folder: Path):
        self._view, self._folder = view, folder

    @classmethod
    def create(cls, view, folder, resume_step) -> Sequence[Observer]:
        """A single observer, unless the case disables pictures."""
        return (cls(view, folder),) if view.case.output.picture else ()

    def close(self) -> None:
        """Draw."""
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


def shown_flow(view: FlowView, theme: "Theme") -> "tuple[NodeList, np.ndarray, Presentation] | None":
    """What the picture of a flow shows, on rank 0 (None elsewhere): the nodes with fluid, (n,) their speed [m/s], and
    how; where a physics has a field of its own, on the cut that shows most of that. Collective."""
    from muphy_lb.output.pictures.vessel import Presentation

    velocity = view.velocity_m_s()
    chosen = [physics.cut_field for physics in view.physics if physics.cut_field]
    telling = view.field(chosen[0]) if chosen else None
    found = nodes_with_fluid(view, None if velocity is None else np.linalg.norm(velocity, axis=1), telling)
    if found is None:
        return None
    nodes, (speed, telling) = found
    mirrors, sight = str(view.case.geometry.options.get("mirror", "")), sight_of(view)
    room = None if sight is None else whole_nodes(view)
    return nodes, speed, Presentation(mirrors, telling, theme, sight=sight, room=room)


def sight_of(view: FlowView) -> "Sight | None":
    """What is up in pictures of a flow, where a physics says so."""
    return next((sight for physics in view.physics if (sight := physics.sight()) is not None), None)

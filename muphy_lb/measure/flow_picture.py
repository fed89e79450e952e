"""The picture of a flow at its end, ``picture.png``."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from muphy_lb.measure.flow_view import FlowView, whole_nodes
from muphy_lb.measure.observer import Observer
from muphy_lb.output.drawing import drawing, picture_files
from muphy_lb.output.report_html import ReportPart


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
        """Draw; where a physics has a field of its own, on the cut that shows most of that."""
        from muphy_lb.output.pictures.theme import chosen_theme
        from muphy_lb.output.pictures.vessel import Presentation, draw_vessel

        view = self._view
        velocity = view.velocity_m_s()
        chosen = [physics.cut_field for physics in view.physics if physics.cut_field]
        telling = view.field(chosen[0]) if chosen else None
        if velocity is not None:
            speed = (velocity**2).sum(axis=1) ** 0.5
            with drawing(self.file):
                mirrors = str(view.case.geometry.options.get("mirror", ""))
                how = Presentation(mirrors, telling, chosen_theme(view.case.output))
                draw_vessel(self._folder / self.file, whole_nodes(view), speed, view.case.title, how)

    def section(self, summary: Mapping) -> ReportPart:
        """The picture for report.html."""
        return ReportPart(pictures={self.file: "geometry and speed"})

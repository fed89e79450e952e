"""The surface over time for ParaView, ``surface.vtkhdf``."""

from pathlib import Path

from muphy_lb.measure.flow_view import FlowView, whole_nodes
from muphy_lb.measure.observer import Observer
from muphy_lb.output.polydata import PolyData, PolyDataSeries, cells_of
from muphy_lb.parallel import agreed_on_root
from muphy_lb.physics.free_surface.filling import fill
from muphy_lb.physics.free_surface.isosurface import liquid_surface
from muphy_lb.physics.free_surface.section import SURFACE_FILE


class SurfaceSnapshots(Observer):
    """Appends the surface as triangles, or as lines in two dimensions, with the velocity at its vertices.

    Args:
        view: the flow.
        folder: output folder.
        resume_step: snapshots up to that step are kept; None for a new file.
    """

    def __init__(self, view: FlowView, folder: Path, resume_step: int | None):
        self._view, self.every = view, view.case.free_surface.surface_every_steps

        def series() -> PolyDataSeries:
            text = view.case.to_toml(folder)
            return PolyDataSeries(folder / SURFACE_FILE, text, {"velocity": "m/s"}, resume_step=resume_step)

        self._series = agreed_on_root(view.communicator, series)
        self._written_step = view.communicator.broadcast(self._series.last_step if self._series else None)

    def act(self) -> None:
        """Write one snapshot, unless this step is already written."""
        view = self._view
        if view.step_number == self._written_step:
            return
        self._written_step = view.step_number
        filling, velocity = fill(view), view.velocity_m_s()
        if self._series and filling is not None and velocity is not None:
            surface = liquid_surface(whole_nodes(view), filling, velocity)
            kind = "Lines" if view.header.shape[0] == 1 else "Polygons"
            cells, fields = {kind: cells_of(surface.facets)}, {"velocity": surface.velocity_m_s}
            self._series.append(PolyData(view.step_number, view.time_s, surface.points_m, cells, fields))

    def close(self) -> None:
        """Write the last snapshot."""
        self.act()

"""What a run writes of its wall shear stress: fields at the nodes and on the input surface, a table, a picture."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from muphy_lb.base.files.atomic import write_text
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.measure.flow_view import FlowView, whole_nodes
from muphy_lb.measure.shear.wall_nodes import INDICES, STRESS, Quantity, statistics_table
from muphy_lb.measure.shear.wall_shear import WallShear
from muphy_lb.output.drawing import drawing
from muphy_lb.output.polydata import PolyData, PolyDataSeries
from muphy_lb.output.polydata_parts import cells_of
from muphy_lb.output.surface_values import on_surface
from muphy_lb.output.vtkhdf import VtkHdfSeries
from muphy_lb.output.vtp import write_vtp
from muphy_lb.setup.geometry import input_surface
from muphy_lb.setup.waveforms import longest_period_s

SHEAR_FILE = "wall_shear.vtkhdf"
SHEAR_PICTURE = "wall_shear.png"
TAWSS_PICTURE, OSI_PICTURE = "wall_tawss.png", "wall_osi.png"
SHEAR_SURFACE = "wall_shear_surface.vtp"
SHEAR_SURFACE_HDF = "wall_shear_surface.vtkhdf"
SHEAR_TABLE = "wall_shear.csv"
LOG = logging.getLogger(__name__)
LEAST_MISSING = 1e-6
"""Part of a period that rounding may take from it."""

AREA, MAGNITUDE = "wall_area", "wall_shear_magnitude"
UNITS = {quantity.field: quantity.unit for quantity in (STRESS, *INDICES.values())} | {"counted": "1", AREA: "m2"}
OF_SURFACE = UNITS | {MAGNITUDE: "Pa"}


@dataclass(frozen=True)
class ShearFiles:
    """Writes the files of the wall shear stress at the end of a run, on rank 0.

    Attributes:
        view: the flow.
        folder: output folder.
        shear: its wall.
    """

    view: FlowView
    folder: Path
    shear: WallShear

    def write(
        self, traction: np.ndarray, scalars: Mapping[Quantity, np.ndarray], counted: np.ndarray, sampled_s: float
    ) -> None:
        """Write fields and pictures.

        Args:
            traction: (m, 3) stress at the end [Pa].
            scalars: (m,) indices of the last period; none without one.
            counted: (m,) mask of the nodes that the statistics count.
            sampled_s: time over which the indices are averaged [s].
        """
        view = self.view
        area_m2 = self.shear.areas.area * view.header.spacing_m**2
        # An infinite value spoils the range of colours of a whole picture.
        fields = {quantity.field: np.where(np.isfinite(x), x, np.nan) for quantity, x in scalars.items()}
        fields = {STRESS.field: traction, **fields, AREA: area_m2, "counted": counted.astype(np.float32)}
        series = VtkHdfSeries(self.folder / SHEAR_FILE, self.shear.nodes(), view.case.to_toml(self.folder), UNITS)
        series.append(view.time_s, view.step_number, fields)
        if view.case.output.vtk:
            self._write_on_surface({name: values for name, values in fields.items() if name != AREA})
        if view.case.output.picture:
            self._draw(fields, counted)
            self._draw_indices(fields, counted, sampled_s)

    def write_table(self, parts: Mapping[str, Mapping]) -> None:
        """Write the statistics of the parts of the wall."""
        write_text(self.folder / SHEAR_TABLE, statistics_table(parts))

    def _write_on_surface(self, fields: Mapping[str, np.ndarray]) -> None:
        """Write the fields on the input surface, if the geometry is one and still there."""
        view, shear = self.view, self.shear
        try:
            surface = input_surface(view.case)
        except GeometryError as error:
            LOG.warning("warning: %s is not written: %s", SHEAR_SURFACE, error)
            return
        if surface is not None:
            weights = on_surface(surface, shear.wall_points_m(), shear.surface.normal, view.header.spacing_m)
            magnitude = np.linalg.norm(fields[STRESS.field], axis=1)
            shown = INDICES["tawss"].field if INDICES["tawss"].field in fields else MAGNITUDE
            found = weights.triangles({MAGNITUDE: magnitude, **fields}, OF_SURFACE, shown)
            write_vtp(self.folder / SHEAR_SURFACE, found)
            data = PolyData(
                view.step_number, view.time_s, found.points_m, {"Polygons": cells_of(found.triangles)}, found.fields
            )
            case_text = view.case.to_toml(self.folder)
            PolyDataSeries(self.folder / SHEAR_SURFACE_HDF, case_text, OF_SURFACE).append(data)

    def _draw(self, fields: Mapping[str, np.ndarray], counted: np.ndarray) -> None:
        from muphy_lb.output.pictures.theme import chosen_theme
        from muphy_lb.output.pictures.wall import Marks, draw_walls

        averaged = fields.get(INDICES["tawss"].field)
        shown = np.linalg.norm(fields[STRESS.field], axis=1) if averaged is None else averaged
        what = "wall shear stress [Pa]" if averaged is None else "time-averaged wall shear stress [Pa]"
        marks = Marks(self.view.header.openings, counted, chosen_theme(self.view.case.output))
        with drawing(SHEAR_PICTURE):
            draw_walls(self.folder / SHEAR_PICTURE, self.shear.nodes(), shown, what, marks)

    def _draw_indices(self, fields: Mapping[str, np.ndarray], counted: np.ndarray, sampled_s: float) -> None:
        """Draw TAWSS and OSI on the shaded vessel, if there are any and the geometry is one."""
        from muphy_lb.output.pictures.shaded_wall import WallColours, can_be_shaded, draw_shaded_walls
        from muphy_lb.output.pictures.theme import chosen_theme
        from muphy_lb.output.shown_units import LENGTH_UNITS, SMALLEST_LENGTH, suitable_unit

        nodes, theme = whole_nodes(self.view), chosen_theme(self.view.case.output)
        if INDICES["tawss"].field not in fields or not can_be_shaded(nodes):
            return
        unit, unit_m = suitable_unit(LENGTH_UNITS, nodes.spacing_m, SMALLEST_LENGTH)
        facts: tuple[str, ...] = (
            f"{counted.size:,} wall nodes",
            f"spacing {nodes.spacing_m / unit_m:.4g} {unit}",
            _over(sampled_s, longest_period_s(self.view.case)),
        )
        facts += ("grey: near openings, left out of the statistics",) * (not counted.all())
        wall = nodes.numbers_of(self.shear.surface.voxel)
        looks = {
            "tawss": (
                TAWSS_PICTURE,
                WallColours("Time-averaged wall shear stress [Pa]", None, "viridis", facts, theme),
            ),
            "osi": (OSI_PICTURE, WallColours("Oscillatory shear index", (0.0, 0.5), "plasma", facts, theme)),
        }
        for name, (file, look) in looks.items():
            with drawing(file):
                values = np.where(counted, fields[INDICES[name].field], np.nan)
                draw_shaded_walls(self.folder / file, nodes, wall, values, look)


def _over(sampled_s: float, period_s: float) -> str:
    """The time over which indices are averaged, in words."""
    is_whole = sampled_s > period_s * (1.0 - LEAST_MISSING)
    return f"over {sampled_s:.4g} s" + ("" if is_whole else ", which is not a whole beat")

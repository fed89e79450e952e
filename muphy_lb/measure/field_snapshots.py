"""Snapshots of the fields, ``fields.vtkhdf``."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from muphy_lb.case.output import GRADIENT, SPEED
from muphy_lb.geometry.nodes import NodeList, chosen_nodes, nodes_in_box
from muphy_lb.measure.flow_view import FlowView, PreparedView, on_root, whole_nodes
from muphy_lb.measure.observer import Observer
from muphy_lb.measure.shear.fields import STRESS_FIELDS
from muphy_lb.output.beside import Beside
from muphy_lb.output.vtkhdf import VtkHdfSeries
from muphy_lb.parallel import agreed_on_root

UNITS = {"density": "kg/m3", "velocity": "m/s", "pressure": "Pa"}
UNITS |= {name: field.unit for name, field in STRESS_FIELDS.items()} | {GRADIENT: "1/s"}


def known_fields(view: PreparedView) -> dict[str, str]:
    """The unit of every field that the flow and its physics have, by name."""
    own = {name: field.unit for physics in view.physics for name, field in physics.output_fields.items()}
    return UNITS | {SPEED: "m/s"} | own


class FieldSnapshots(Observer):
    """Appends snapshots of the fields that the case names, and of those of its physics, to ``fields.vtkhdf``.
    ``resume_step``: snapshots up to that step are kept; None for a new file."""

    file = "fields.vtkhdf"
    files = (file,)

    def __init__(self, view: FlowView, folder: Path, resume_step: int | None):
        self.every = view.case.output.fields_every_steps
        self._view, self._beside = view, Beside()
        own = {name: field.unit for physics in view.physics for name, field in physics.output_fields.items()}
        self._names = tuple(dict.fromkeys((*view.case.output.fields, *own)))

        def series() -> VtkHdfSeries:
            text, nodes = view.case.to_toml(folder), self._nodes()
            return VtkHdfSeries(folder / self.file, nodes, text, UNITS | own, resume_step=resume_step)

        self._series = agreed_on_root(view.communicator, series)
        self._written_step = view.communicator.broadcast(self._series.last_step if self._series else None)

    @classmethod
    def create(cls, view, folder, resume_step) -> Sequence[Observer]:
        """A single observer, unless the case disables field files."""
        return (cls(view, folder, resume_step),) if view.case.output.vtk else ()

    @classmethod
    def check(cls, view) -> None:
        """Refuse a region that holds no fluid node."""
        output = view.case.output
        if output.vtk and output.region_m is not None and view.communicator.rank == 0:
            nodes_in_box(whole_nodes(view), output.region_m)

    def _nodes(self) -> NodeList:
        nodes, region_m = whole_nodes(self._view), self._view.case.output.region_m
        self._kept: slice | np.ndarray = slice(None)
        if region_m is None:
            return nodes
        self._kept = nodes_in_box(nodes, region_m)
        return chosen_nodes(nodes, nodes.voxel[self._kept])

    def forget(self) -> None:
        """Write the present step again."""
        self._written_step = None

    def act(self) -> None:
        """Write one snapshot, unless this step is already written."""
        if append := self._appending():
            append()

    def close(self) -> None:
        """Write the last snapshot, beside the pictures."""
        if append := self._appending():
            self._beside.do(append)

    def wait(self) -> None:
        """Wait for the last snapshot."""
        self._beside.wait()

    def _appending(self) -> Callable[[], None] | None:
        """The writing of the fields of the present step, on rank 0, unless this step is already written; collective."""
        view = self._view
        if view.step_number == self._written_step:
            return None
        self._written_step = view.step_number
        fields = {name: view.field(name) for name in self._names}
        if not self._series:
            return None
        kept = {name: on_root(values)[self._kept] for name, values in fields.items()}
        return partial(self._series.append, view.time_s, view.step_number, kept)

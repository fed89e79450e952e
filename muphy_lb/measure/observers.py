"""Observers of a run that measure on walls; they act on every rank, and rank 0 writes."""

from pathlib import Path

import numpy as np

from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.boundaries.waveform import read_table
from muphy_lb.measure.wall_shear import HALF_WAY_WARNING, Mean, WallShear, statistics
from muphy_lb.output.pictures.wall import draw_walls
from muphy_lb.output.vtkhdf import VtkHdfSeries

SHEAR_FILE = "wall_shear.vtkhdf"
SHEAR_PICTURE = "wall_shear.png"
SHEAR_FILES = (SHEAR_FILE, SHEAR_PICTURE)
SAMPLES_PER_PERIOD = 40
SHEAR_UNITS = {"wall_shear_stress": "Pa", "time_averaged_wall_shear_stress": "Pa", "oscillatory_shear_index": "1"}


class WallShearWriter:
    """Wall shear stress at the end of a run, and where something is periodic its average over the last period.

    A run that ends before the last planned step averages over what it has of it; one that was resumed, over what came
    after.

    Args:
        simulation: the flow.
        folder: output folder.
    """

    def __init__(self, simulation, folder: Path):
        self._simulation, self._folder = simulation, folder
        self._shear = WallShear(simulation)
        self._mean = None
        period_s = longest_period_s(simulation.case)
        steps = period_s / simulation.units.time_step_s
        self.every = max(1, round(steps / SAMPLES_PER_PERIOD)) if period_s else 0
        self._first_step = simulation.numerics.steps - steps
        if simulation.communicator.rank == 0:
            self._mean = Mean(self._shear.surface.voxel.size)

    def act(self) -> None:
        """Take a sample, if the last period has begun."""
        if self._simulation.step_number <= self._first_step:
            return
        traction = self._shear.traction_pa()
        if traction is not None:
            self._mean.add(traction)

    def finish(self) -> dict | None:
        """Write the files; returns on rank 0 what the summary shall hold."""
        traction = self._shear.traction_pa()
        if traction is None:
            return None
        counted = self._shear.far_from_openings()
        fields = {"wall_shear_stress": traction}
        record = {"n_nodes": len(traction), "n_counted": int(counted.sum()), "warnings": self._warnings()}
        if record["n_counted"]:
            magnitude = np.linalg.norm(traction, axis=1)
            record["magnitude_pa"] = statistics(magnitude[counted])
            if self._mean.count:
                fields |= self._of_the_period(counted, record)
            self._write(fields)
        return record

    def _warnings(self) -> list[str]:
        return [HALF_WAY_WARNING] if self._simulation.case.lattice.walls == HALF_WAY else []

    def _of_the_period(self, counted, record: dict) -> dict:
        """Fields of the average; what it amounts to goes into the record."""
        mean = self._mean
        record["samples"] = mean.count
        record["sampled_s"] = mean.count * self.every * self._simulation.units.time_step_s
        record["time_averaged_pa"] = statistics(mean.magnitude[counted])
        record["oscillatory_index"] = statistics(mean.oscillation[counted])
        return {"time_averaged_wall_shear_stress": mean.magnitude, "oscillatory_shear_index": mean.oscillation}

    def _write(self, fields: dict) -> None:
        simulation, nodes = self._simulation, self._shear.nodes()
        text = simulation.case.to_toml(self._folder)
        series = VtkHdfSeries(self._folder / SHEAR_FILE, nodes, text, SHEAR_UNITS)
        series.append(simulation.time_s, simulation.step_number, fields)
        if simulation.case.output.picture:
            shown = fields.get("time_averaged_wall_shear_stress", np.linalg.norm(fields["wall_shear_stress"], axis=1))
            what = "time-averaged wall shear stress [Pa]" if len(fields) > 1 else "wall shear stress [Pa]"
            draw_walls(self._folder / SHEAR_PICTURE, nodes, shown, what)


def longest_period_s(case) -> float:
    """Longest period of what changes with time in a case [s], 0 if nothing does."""
    waveforms = [section.waveform for section in (*case.openings, *case.walls, case.flow)]
    return max((_period_s(case, waveform) for waveform in waveforms if waveform is not None), default=0.0)


def _period_s(case, waveform) -> float:
    if waveform.file is None:
        return waveform.period_s
    time_s, _ = read_table(case.folder / waveform.file, "waveform.file")
    return float(time_s[-1] - time_s[0])

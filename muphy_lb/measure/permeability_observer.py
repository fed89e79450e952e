"""The permeability of a rock, measured at the end of a run."""

from collections.abc import Iterator, Mapping, Sequence

from muphy_lb.measure.flow_view import FlowView, PreparedView
from muphy_lb.measure.observer import Observer
from muphy_lb.measure.permeability import driving_acceleration, measured_permeability
from muphy_lb.measure.settling import Settling
from muphy_lb.measure.throats import throat_lines
from muphy_lb.output.charts import line_chart
from muphy_lb.output.report_html import ReportPart


class PermeabilityObserver(Observer):
    """Measures the permeability of the last step, and follows it until then.

    Args:
        view: the flow.
    """

    name = "permeability"

    def __init__(self, view: FlowView):
        self._view, self.every = view, view.case.run.check_interval_steps
        self._settling = Settling(self.every)

    @classmethod
    def create(cls, view, folder, resume_step) -> Sequence[Observer]:
        """A single observer, if the case requests it."""
        return (cls(view),) if view.case.output.permeability else ()

    @classmethod
    def check(cls, view: PreparedView) -> None:
        """Refuse a flow that is driven by anything but a uniform, constant body force."""
        if view.case.output.permeability:
            driving_acceleration(view.case, view.header)

    def act(self) -> None:
        """Look at the mean velocity."""
        self._settling.look(self._view)

    def state(self) -> dict | None:
        """The last looks."""
        return self._settling.record()

    def restore(self, state: dict) -> None:
        """Go on from them."""
        self._settling.restore(state)

    def finish(self) -> dict | None:
        """The permeability with indicators of its reliability."""
        found = measured_permeability(self._view)
        if found is None:
            return None
        unsettled = self._settling.warnings(self._view)
        return found.record() | {"warnings": (*found.warnings, *unsettled)}

    def lines(self, summary: Mapping) -> list[str]:
        """Permeability, porosity, tortuosity, Reynolds number."""
        return permeability_lines(summary[self.name])

    def section(self, summary: Mapping) -> ReportPart:
        """The same as a table, and the distribution of the velocity."""
        rock = summary[self.name]
        return ReportPart(results=list(_results(rock)), warnings=rock["warnings"], charts=lambda: _charts(rock))


def permeability_lines(record: Mapping) -> list[str]:
    """A record of :class:`muphy_lb.measure.permeability.Permeability` as lines of text."""
    lines = [
        f"permeability along {record['along']}: {record['permeability_m2']:.5g} m2 = {record['permeability_darcy']:.5g}"
        f" darcy = {record['permeability_voxel2']:.5g} voxel2; porosity {record['porosity']:.5g}, tortuosity"
        f" {record['tortuosity']:.4g}",
        f"Reynolds number {record['reynolds']:.3g} (mean pore velocity, mean pore size {record['pore_size_m']:.3g} m ="
        f" {record['pore_size_voxels']:.3g} voxels)",
    ]
    lines += throat_lines(record["throats"]) if record.get("throats") else []
    return lines + [f"warning: {text}" for text in record["warnings"]]


def _results(rock: Mapping) -> Iterator[tuple]:
    along = rock["along"]
    yield f"permeability along {along}", rock["permeability_m2"], "m2"
    yield f"permeability along {along}", rock["permeability_darcy"], "darcy"
    yield f"permeability along {along}", rock["permeability_voxel2"], "voxel edges squared"
    yield "porosity", rock["porosity"], ""
    yield "tortuosity", rock["tortuosity"], ""
    yield "mean pore size, 4 V / S", rock["pore_size_m"], "m"
    yield "mean pore size", rock["pore_size_voxels"], "voxels"
    yield "shortest edge of the rock", rock["box_in_pores"], "mean pore sizes"
    yield "Reynolds number of a mean pore", rock["reynolds"], ""
    if rock.get("throats"):
        yield "half of the pressure is lost in throats up to", rock["throats"]["widths_voxels"][1], "voxels"
        yield "k too high by, expected of the grid", rock["throats"]["expected_error"], "of k"


def _charts(rock: Mapping) -> list[tuple[str, bytes]]:
    spread = rock["distribution"]
    return [("pore velocities", distribution_chart({"": spread}))] if spread else []


def distribution_chart(spreads: Mapping[str, Mapping]) -> bytes:
    """PNG of distributions of the velocity in pores, by name; see
    :func:`muphy_lb.measure.permeability.velocity_distribution`."""
    lines = {name: (s["velocity_over_mean"], s["probability_density"]) for name, s in spreads.items() if s}
    labels = "Velocity in the pores", "velocity along the force / its mean", "probability density"
    return line_chart(*labels, lines, log=True)

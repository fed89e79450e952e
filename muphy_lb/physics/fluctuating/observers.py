"""The temperature that a fluctuating flow has: ``fluctuations.csv``, and a line of the summary."""

from collections.abc import Mapping

from muphy_lb.base.units import BOLTZMANN_J_K
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.measure.flow_series import SeriesObserver
from muphy_lb.output.report_html import ReportPart
from muphy_lb.physics.fluctuating.section import SERIES_FILE
from muphy_lb.physics.fluctuating.temperature import measured_kt


class FluctuationSeries(SeriesObserver):
    """Appends the temperature measured from the momenta, and its standard error."""

    file = SERIES_FILE
    files = (file,)
    name = "fluctuations"

    def columns(self) -> list[str]:
        """Names of the columns."""
        return ["temperature_k", "standard_error_k"]

    def numbers(self) -> list[float] | None:
        """Temperature and standard error [K], on rank 0; collective."""
        velocity, density, nodes = self._view.velocity_m_s(), self._view.density(), self._view.nodes
        if velocity is None or density is None or not isinstance(nodes, NodeList):
            return None
        units = self._view.units
        in_k = units.energy_j / BOLTZMANN_J_K
        momentum = density[:, None] * units.velocity_to_lattice(velocity)
        return [in_k * value for value in measured_kt(nodes, momentum)]

    def finish(self) -> dict | None:
        """The last temperature as the record for the summary, beside that of the case."""
        numbers = self.numbers()
        if numbers is None:
            return None
        return {"asked_k": self._view.case.fluid.temperature_k, **dict(zip(self.columns(), numbers, strict=True))}

    def lines(self, summary: Mapping) -> list[str]:
        """The record as a line of text."""
        record = summary[self.name]
        measured = f"{record['temperature_k']:.5g} +- {record['standard_error_k']:.2g} K"
        return [f"fluctuations: temperature {measured}, asked {record['asked_k']:.5g} K"]

    def section(self, summary: Mapping) -> ReportPart:
        """The record as results."""
        record = summary[self.name]
        return ReportPart(results=(("temperature of the fluctuations", record["temperature_k"], "K"),))

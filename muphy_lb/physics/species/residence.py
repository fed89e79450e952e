"""Residence times of the fluid, from a species that a steady flow brings in as a step or as a bolus.

With c(t) the mean of what leaves through an outlet, weighted by the flow, and C the value that enters from time 0 on,

    step:             F = c / C,  mean = integral of (1 - F) dt,  second moment = 2 * integral of t (1 - F) dt
    bolus of length b: F = integral of c dt / (C b),  moments of its density; the bolus itself adds b / 2 and b^2 / 12

with F the share of what leaves there that entered less than t ago (Danckwerts, Chem. Eng. Sci. 2, 1 (1953)). Where
walls let nothing through and nothing diffuses out at the inlet, the mean of all outlets, weighted by their flow rates,
is volume over flow rate, whatever the flow and diffusion do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import numpy as np

from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.measure.observer import Observer
from muphy_lb.output.report_html import ReportPart, ReportTable
from muphy_lb.output.series import CsvSeries, read_series
from muphy_lb.parallel import agreed_on_root
from muphy_lb.physics.species.section import RESIDENCE_FILE, SpeciesSection

ALL = "all outlets"
WHOLE = 0.995  # share that must have left for the moments to be those of all
STEADY = (
    0.03  # largest difference, without a warning, between what has entered and what the flow at the end would bring
)


@dataclass(frozen=True)
class Entry:
    """A value that enters from a time on."""

    value: float
    start_s: float
    length_s: float  #: infinite for a step


@dataclass(frozen=True)
class Residence:
    """The distribution of residence times of what leaves through an outlet."""

    time_s: np.ndarray  #: (m,) since the species enters
    cumulative: np.ndarray  #: (m,) share that entered less than that ago
    density: np.ndarray  #: (m,) its slope [1/s]
    mean_s: float
    variance_s2: float

    @property
    def share_left(self) -> float:
        """Share of what enters that has left at the end."""
        return float(self.cumulative[-1])


def residence(time_s: np.ndarray, mean: np.ndarray, entry: Entry) -> Residence:
    """The distribution from (m,) means [unit] of what leaves at (m,) ascending times [s], by the trapezoidal rule."""
    since = time_s > entry.start_s
    t, c = np.append(0.0, time_s[since] - entry.start_s), np.append(0.0, mean[since]) / entry.value
    if not isfinite(entry.length_s):
        first, second = np.trapezoid(1.0 - c, t), 2.0 * np.trapezoid(t * (1.0 - c), t)
        density = np.gradient(c, t) if t.size > 1 else c
        return Residence(t, c, density, float(first), float(second - first**2))
    density = c / entry.length_s
    steps = 0.5 * np.diff(t) * (density[1:] + density[:-1])
    cumulative = np.append(0.0, np.cumsum(steps))
    whole = cumulative[-1] or np.nan
    first, second = np.trapezoid(t * density, t) / whole, np.trapezoid(t**2 * density, t) / whole
    own = entry.length_s
    return Residence(t, cumulative, density, float(first - 0.5 * own), float(second - first**2 - own**2 / 12.0))


def distributions(
    time_s: np.ndarray, mean: Mapping[str, np.ndarray], leaving: Mapping[str, np.ndarray], entry: Entry
) -> dict[str, Residence]:
    """The distribution at each outlet, and behind them that of all, which counts them by their fluxes at the end.

    Args:
        time_s: (m,) ascending times [s].
        mean: (m,) means [unit] of what leaves through each outlet, NaN where nothing does.
        leaving: (m,) amounts a second.
        entry: how the species enters.
    """
    mean = {outlet: np.nan_to_num(values) for outlet, values in mean.items()}
    last = {outlet: np.flatnonzero(values > 0.0)[-1:] for outlet, values in mean.items()}
    flows = {outlet: float((leaving[outlet][row] / mean[outlet][row]).sum()) for outlet, row in last.items()}
    flows = {outlet: flow for outlet, flow in flows.items() if flow > 0.0}
    told = {outlet: mean[outlet] for outlet in flows}
    if len(flows) > 1:
        shares = np.array(list(flows.values())) / sum(flows.values())
        told[ALL] = shares @ np.stack(list(told.values()))
    return {outlet: residence(time_s, values, entry) for outlet, values in told.items()}


def entry_of(case, header: GeometryHeader, section: SpeciesSection) -> Entry | None:
    """How a species enters a case, if it only marks the fluid: the same value at all inlets, as a step or a bolus, and
    nothing but the flow and diffusion changes it; else None."""
    bolus, name = section.bolus, section.name
    tables = {each.name: each.species_inflow or {} for each in case.openings}
    inlets = {tables.get(each.name, {}).get(name) for each in header.openings if each.kind != "outlet"}
    held = [each for each in (*case.openings, *case.walls) if name in (each.species or {})]
    given = [
        wall for wall in case.walls if name in (wall.species_flux or {}) or name in (wall.species_uptake_m_s or {})
    ]
    changes = section.initial or section.initial_file or section.rate or section.decay_per_s or section.production
    if bolus is None or bolus.file is not None or held or given or changes or len(inlets) != 1:
        return None
    (value,) = inlets
    return Entry(value, bolus.start_s, bolus.length_s or np.inf) if value else None


class ResidenceTimes(Observer):
    """The distributions of residence times at the end of a run, from the series of species that mark the fluid.

    Args:
        series: of each such species, its name, the columns of each outlet by name (mean of what leaves, and rate at
            which it enters, negative) and that of the mean of all fluid, how it enters, and the observer that writes
            its series.
        view, folder: as of all observers.
    """

    name = "residence_times"

    def __init__(self, series: Sequence[tuple], view: FlowView, folder: Path):
        self._series, self._view, self._folder = series, view, folder

    def finish(self) -> dict | None:
        """By species: volume over flow rate, and by outlet mean, variance and the share that has left; on rank 0."""
        for *_, observer in self._series:
            observer.act()
        states = self._view.openings()
        return agreed_on_root(self._view.communicator, lambda: None if states is None else self._records(states))

    def _records(self, states: Mapping) -> dict:
        units, n_nodes = self._view.units, self._view.header.n_nodes
        volume_m3 = n_nodes * units.spacing_m**3
        return {name: self._record(states, volume_m3, name, *rest) for name, *rest in self._series}

    def _record(self, states: Mapping, volume_m3: float, name: str, told: tuple, entry: Entry, observer) -> dict:
        table, (columns, of_all) = read_series(self._folder / observer.file), told
        mean = {outlet: table[column] for outlet, (column, _) in columns.items()}
        leaving = {outlet: -table[column] for outlet, (_, column) in columns.items()}
        found = distributions(table["time_s"], mean, leaving, entry)
        total = sum(states[outlet].flow_rate_m3_s for outlet in columns)
        self._write(RESIDENCE_FILE.format(name), found)
        outlets = {
            outlet: {"mean_s": each.mean_s, "variance_s2": each.variance_s2, "share_left": each.share_left}
            for outlet, each in found.items()
        }
        time_s = table["time_s"]
        entered = sum(np.trapezoid(rate, time_s) for rate in leaving.values()) + table[of_all][-1] * volume_m3
        steadily = entry.value * total * min(entry.length_s, time_s[-1] - entry.start_s)
        return {
            "volume_over_flow_rate_s": volume_m3 / total if total else None,
            "entered_over_steady": float(entered / steadily) if steadily and outlets else None,
            "outlets": outlets,
        }

    def _write(self, file: str, found: Mapping[str, Residence]) -> None:
        """A table over time: the share that entered less than that ago, and its slope, by outlet."""
        times_s = next((each.time_s for each in found.values()), np.zeros(0))
        names = [f"{outlet.replace(' ', '_')}_{what}" for outlet in found for what in ("share", "density_1_s")]
        series = CsvSeries(self._folder / file, ("step", "time_s", *names))
        for row, time_s in enumerate(times_s.tolist()):
            values = [values[row] for each in found.values() for values in (each.cumulative, each.density)]
            at = {"step": row, "time_s": time_s}
            series.append(at | dict(zip(names, values, strict=True)))

    def lines(self, summary: Mapping) -> list[str]:
        """The records as lines of text."""
        return [_line(name, record) for name, record in summary[self.name].items()]

    def section(self, summary: Mapping) -> ReportPart:
        """The records as a table."""
        rows = [
            (f"{outlet} ({name})", each["mean_s"], each["variance_s2"], each["share_left"])
            for name, record in summary[self.name].items()
            for outlet, each in record["outlets"].items()
        ]
        headings = ("", "mean [s]", "variance [s2]", "share that has left")
        return ReportPart(tables=(ReportTable("Residence times", headings, rows),))


def _line(name: str, record: Mapping) -> str:
    outlets = record["outlets"]
    means = [
        f"{outlet} {each['mean_s']:.4g} +- {max(each['variance_s2'], 0.0) ** 0.5:.4g} s"
        for outlet, each in outlets.items()
    ]
    text = f"residence times ({name}): {', '.join(means)}"
    if record["volume_over_flow_rate_s"]:
        text += f"; volume over flow rate {record['volume_over_flow_rate_s']:.4g} s"
    least = min((each["share_left"] for each in outlets.values()), default=1.0)
    short = f"; of what entered {100.0 * least:.3g} % has left: a longer run tells the rest" if least < WHOLE else ""
    brought = record["entered_over_steady"]
    if brought is None or abs(brought - 1.0) <= STEADY:
        return text + short
    return (
        f"{text}{short}; NOT those of a steady flow, which would have brought in {100.0 / brought:.4g} % of what has"
        f" entered: let {name} enter once the flow is steady"
    )

"""report.html: one page on a run that needs no other file."""

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from muphy_lb.output.atomic import write_text
from muphy_lb.output.charts import line_chart
from muphy_lb.output.series import read_series
from muphy_lb.output.summary import counted_nodes, flow_warnings

REPORT_FILE = "report.html"
PICTURES = {
    "picture.png": "geometry and speed",
    "temperature.png": "temperature",
    "wall_shear.png": "stress on the walls",
}
SERIES = {"openings.csv": "Openings", "heat.csv": "Heat", "walls.csv": "Walls"}
STEADY_SERIES = "steady.csv"
SUFFIX = re.compile(
    r"_(flow_rate_m3_s|pressure_pa|force_[xyz]_n|torque_[xyz]_n_m|drag_coefficient|lift_coefficient|gradient_k_m|nusselt)$"
)
UNITS = {
    "flow_rate_m3_s": "flow rate [m3/s]",
    "pressure_pa": "pressure [Pa]",
    "gradient_k_m": "temperature gradient [K/m]",
    "nusselt": "Nusselt number",
}
MEANS = {"permeability": "mean velocity in the pores [m/s]", "mean_speed": "mean speed [voxels per time step]"}
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 74em; margin: 2em auto; padding: 0 1em; color: #1c2330; }
table { border-collapse: collapse; margin: .6em 0; }
th, td { padding: .25em .8em; border-bottom: 1px solid #d8dce4; text-align: right; }
th:first-child, td:first-child { text-align: left; }
.note { color: #667085; } .warning { color: #9a4a00; }
img { max-width: 100%; } .charts img { width: 48%; }
pre { background: #f4f5f8; padding: 1em; overflow-x: auto; font-size: 13px; }
"""


def write_report(folder: Path, summary: Mapping, with_plots: bool = True) -> None:
    """Write the page of a run from its summary and from what lies in its folder.

    Args:
        folder: with the series and pictures of the run.
        summary: what ``summary.json`` holds.
        with_plots: draw the series and embed the pictures.

    Raises:
        OutputError: the file cannot be written.
    """
    title = summary["title"] or "muphy_lb run"
    parts = [
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
        f"<style>{STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        f'<p>{escape(_verdict(summary))}</p><p class="note">muphy_lb {escape(summary["version"])}</p>',
        *(_pictures(folder) if with_plots else ()),
        "<h2>Results</h2>",
        _table(("quantity", "value", "unit"), list(_results(summary))),
        *_openings(summary),
        *_shear(summary.get("wall_shear")),
        *_heat(summary.get("heat")),
        *_walls(summary["walls"]),
        *_warnings(summary),
        *(_charts(folder, summary) if with_plots else ()),
        "<h2>Computation</h2>",
        _table(("", "", ""), list(_computation(summary))),
        f"<h2>Case</h2><pre>{escape(summary['case_toml'])}</pre>",
        "</body></html>\n",
    ]
    write_text(folder / REPORT_FILE, "\n".join(parts))


def _verdict(summary: Mapping) -> str:
    steady = "; the flow is steady" if summary["converged"] else ""
    return f"Ended: {summary['ended']} at step {summary['steps']:,}, t = {summary['time_s']:.5g} s{steady}."


def _results(summary: Mapping) -> Iterator[tuple]:
    yield "largest velocity", summary["max_velocity_m_s"], "m/s"
    yield "mean velocity", summary["mean_velocity_m_s"], "m/s"
    yield "relative change of mass", summary["mass_relative_drift"], ""
    for name, share in summary["flow_split"].items():
        yield f"share of the outflow through {name}", 100.0 * share, "%"
    for name, drop_pa in summary["pressure_drops_pa"].items():
        yield f"pressure drop from the inlets to {name}", drop_pa, "Pa"
    rock = summary.get("permeability")
    if rock:
        along = rock["along"]
        yield f"permeability along {along}", rock["permeability_m2"], "m2"
        yield f"permeability along {along}", rock["permeability_darcy"], "darcy"
        yield f"permeability along {along}", rock["permeability_voxel2"], "voxel edges squared"
        yield "porosity", rock["porosity"], ""
        yield "tortuosity", rock["tortuosity"], ""
        yield "mean pore size, 4 V / S", rock["pore_size_m"], "m"
        yield "mean pore size", rock["pore_size_voxels"], "voxels"
        yield "shortest edge of the box", rock["box_in_pores"], "mean pore sizes"
        yield "Reynolds number of a mean pore", rock["reynolds"], ""


def _openings(summary: Mapping) -> list[str]:
    rows = [
        (f"{name} ({state['kind']})", state["flow_rate_m3_s"], state["mean_pressure_pa"], state["area_m2"])
        for name, state in summary["openings"].items()
    ]
    return ["<h3>Openings</h3>", _table(("", "flow rate [m3/s]", "pressure [Pa]", "area [m2]"), rows)] if rows else []


def _shear(record: Mapping | None) -> list[str]:
    if not record or not record["n_counted"]:
        return []
    names = {
        "magnitude_pa": "wall shear stress [Pa]",
        "time_averaged_pa": "time-averaged [Pa]",
        "oscillatory_index": "oscillatory index",
    }
    there = [name for name in names if name in record]
    marks = list(record[there[0]])
    rows = [(names[name], *(record[name][mark] for mark in marks)) for name in there]
    note = f'<p class="note">{counted_nodes(record)}</p>'
    return ["<h3>Wall shear stress</h3>", _table(("", *marks), rows), note]


def _heat(record: Mapping | None) -> list[str]:
    if not record:
        return []
    places = dict(record["walls"])
    if "middle" in record:
        places["midway between the walls"] = record["middle"]
    rows = [
        (name, place["gradient_k_m"], "-" if place["nusselt"] is None else place["nusselt"])
        for name, place in places.items()
    ]
    note = f"temperature from {record['lowest_k']:.6g} to {record['highest_k']:.6g} K"
    table = _table(("", "mean temperature gradient [K/m]", "Nusselt number"), rows) if rows else ""
    return ["<h3>Heat</h3>", table, f'<p class="note">{note}</p>']


def _walls(walls: Mapping) -> list[str]:
    rows = [(name, *wall["force_n"], *wall["torque_n_m"]) for name, wall in walls.items()]
    headings = ("", *(f"force {axis} [N]" for axis in "xyz"), *(f"torque {axis} [N m]" for axis in "xyz"))
    return ["<h3>Labelled walls</h3>", _table(headings, rows)] if rows else []


def _warnings(summary: Mapping) -> list[str]:
    records = [summary.get(name) or {} for name in ("wall_shear", "permeability")]
    texts = [*flow_warnings(summary), *(text for record in records for text in record.get("warnings", ()))]
    return [f'<p class="warning">Warning: {escape(text)}.</p>' for text in texts]


def _computation(summary: Mapping) -> Iterator[tuple]:
    yield "fluid nodes", f"{summary['n_fluid']:,}", ""
    yield "voxel edge", summary["spacing_m"], "m"
    yield "time step", summary["time_step_s"], "s"
    yield "relaxation time", summary["relaxation_time"], "time steps"
    yield "method", f"{summary['lattice']}, {summary['collision']}, walls {summary['walls_rule']}", ""
    yield "device", f"{summary['backend']} on {summary['device']}", ""
    yield "precision, streaming", f"{summary['precision']}, {summary['streaming']}", ""
    yield "ranks", summary["ranks"], ""
    yield "speed", summary["mflups"], "million node updates per second"
    yield "wall time", summary["wall_time_s"], "s"
    yield "stepping", summary["stepping_time_s"], "s"
    yield "memory of the largest rank", max(summary["peak_memory_mib"]), "MiB"


def _pictures(folder: Path) -> list[str]:
    there = {name: text for name, text in PICTURES.items() if (folder / name).exists()}
    return [_image((folder / name).read_bytes(), text) for name, text in there.items()]


def _charts(folder: Path, summary: Mapping) -> list[str]:
    charts = [chart for name, heading in SERIES.items() for chart in _series_charts(folder / name, heading)]
    charts += _steady_charts(folder / STEADY_SERIES)
    spread = (summary.get("permeability") or {}).get("distribution")
    if spread:
        charts.append(("pore velocities", distribution_chart({"": spread})))
    images = "".join(_image(png, text) for text, png in charts)
    return [f'<h2>Course of the run</h2><p class="charts">{images}</p>'] if charts else []


def distribution_chart(spreads: Mapping[str, Mapping]) -> bytes:
    """PNG of distributions of the velocity in pores, by name; see ``measure.permeability.velocity_distribution``."""
    lines = {name: (s["velocity_over_mean"], s["probability_density"]) for name, s in spreads.items() if s}
    labels = "Velocity in the pores", "velocity along the force / its mean", "probability density"
    return line_chart(*labels, lines, log=True)


def _series_charts(path: Path, heading: str) -> Iterator[tuple[str, bytes]]:
    """One chart for each quantity of a series, a line for each opening or wall."""
    if not path.exists():
        return
    series = read_series(path)
    grouped = {}
    for column, values in series.items():
        match = SUFFIX.search(column)
        if match:
            grouped.setdefault(match[1], {})[column[: match.start()]] = (series["time_s"], values)
    for quantity, lines in grouped.items():
        told = {name: line for name, line in lines.items() if line[1].size and (line[1] == line[1]).any()}
        if any(line[1].any() for line in told.values()):  # of a plane flow some components are nothing
            label = UNITS.get(quantity, quantity)
            yield f"{heading}: {label}", line_chart(f"{heading}: {label}", "time [s]", label, told)


def _steady_charts(path: Path) -> list[tuple[str, bytes]]:
    if not path.exists():
        return []
    series = read_series(path)
    lines = {"": (series["step"], series["change"])}
    text = "Towards the steady state"
    charts = [(text, line_chart(text, "step", "relative change", lines, log=True))]
    for group, unit in MEANS.items():
        mean = {name.split(".")[1]: (series["step"], x) for name, x in series.items() if name.startswith(f"{group}.")}
        if mean:
            charts.append(("mean velocity", line_chart("Mean velocity", "step", unit, mean)))
    return charts


def _image(png: bytes, text: str) -> str:
    data = base64.b64encode(png).decode("ascii")
    return f'<img alt="{escape(text)}" src="data:image/png;base64,{data}">'


def _table(headings: Sequence[str], rows: Sequence[Sequence]) -> str:
    lines = ["".join(f"<th>{escape(heading)}</th>" for heading in headings)] if any(headings) else []
    lines += ["".join(f"<td>{escape(_text(cell))}</td>" for cell in row) for row in rows]
    return "<table>" + "\n".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def _text(cell) -> str:
    return f"{cell:.5g}" if isinstance(cell, float) else str(cell)

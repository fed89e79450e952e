"""The summary of a run: one JSON file, and what of it is worth a line of text."""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from muphy_lb.output.atomic import write_text

LARGEST_LOSS = 0.01  # of a steady flow between inlets and outlets that needs no word


def write_summary(path: str | os.PathLike, record: dict) -> None:
    """Write ``record`` as strict JSON, whole or not at all; a NaN or infinite number becomes ``null``.

    Values may be nested dictionaries, sequences, NumPy scalars and arrays, paths, numbers, texts and None.

    Raises:
        OutputError: the file cannot be written.
        TypeError: a value has no JSON form.
    """
    text = json.dumps(_plain(record), indent=2, allow_nan=False)
    write_text(path, text + "\n")


def flow_split(openings: Mapping[str, Mapping]) -> dict[str, float]:
    """Fraction of all that leaves that goes through each outlet, by name; empty with fewer than two outlets or no flow.

    Args:
        openings: by name, with ``kind`` and ``flow_rate_m3_s`` (positive in the direction of the kind).
    """
    rates = {name: state["flow_rate_m3_s"] for name, state in openings.items() if state["kind"] == "outlet"}
    total = sum(rates.values())
    return {name: rate / total for name, rate in rates.items()} if len(rates) > 1 and total > 0.0 else {}


def pressure_drops_pa(openings: Mapping[str, Mapping]) -> dict[str, float]:
    """Mean pressure of the inlets, weighted by area, less that of each outlet [Pa], by the outlet's name; empty without
    inlets."""
    inlets = [state for state in openings.values() if state["kind"] == "inlet"]
    area_m2 = sum(state["area_m2"] for state in inlets)
    if not area_m2 > 0.0:
        return {}
    upstream_pa = sum(state["mean_pressure_pa"] * state["area_m2"] for state in inlets) / area_m2
    outlets = {name: state for name, state in openings.items() if state["kind"] == "outlet"}
    return {name: upstream_pa - state["mean_pressure_pa"] for name, state in outlets.items()}


def flow_warnings(summary: Mapping) -> list[str]:
    """What is wrong with the flow rates of a steady flow, in words: interpolated walls lose mass where voxels are
    coarse."""
    states = summary.get("openings", {}).values()
    entering, leaving = (
        sum(state["flow_rate_m3_s"] for state in states if state["kind"] == kind) for kind in ("inlet", "outlet")
    )
    if not summary.get("converged") or not max(entering, leaving) > 0.0:
        return []
    lost = (entering - leaving) / max(entering, leaving)
    if abs(lost) <= LARGEST_LOSS:
        return []
    text = f"the flow is steady, but {100 * abs(lost):.2g} % {'less' if lost > 0 else 'more'} leaves than enters"
    remedy = (
        "" if summary.get("walls_rule") == "half-way" else "; finer voxels, bgk or mrt, or half-way walls lose less"
    )
    return [text + remedy]


def measured_lines(summary: Mapping) -> list[str]:
    """What was measured, in words, of a summary's record: split, pressure drops, heat, wall shear, permeability."""
    lines = []
    if summary.get("flow_split"):
        lines.append("flow split: " + ", ".join(f"{name} {100 * x:.2f} %" for name, x in summary["flow_split"].items()))
    if summary.get("pressure_drops_pa"):
        drops = ", ".join(f"{name} {drop:.5g} Pa" for name, drop in summary["pressure_drops_pa"].items())
        lines.append(f"pressure drop from the inlets to: {drops}")
    lines += [f"warning: {text}" for text in flow_warnings(summary)]
    lines += _heat_lines(summary.get("heat"))
    return lines + _shear_lines(summary.get("wall_shear")) + _rock_lines(summary.get("permeability"))


def counted_nodes(record: Mapping) -> str:
    """In words, the wall nodes over which a record of wall shear stress sums up."""
    n_counted, n_nodes = record["n_counted"], record["n_nodes"]
    if n_counted == n_nodes:
        return f"all {n_nodes:,} wall nodes"
    return f"{n_counted:,} of {n_nodes:,} wall nodes: those farther than a diameter from the openings"


def _heat_lines(record: Mapping | None) -> list[str]:
    if not record:
        return []
    lines = [f"temperature: {record['lowest_k']:.6g} to {record['highest_k']:.6g} K"]
    lines += [f"wall {name}: mean temperature gradient {_gradient(wall)}" for name, wall in record["walls"].items()]
    if "middle" in record:
        lines.append(f"midway between the walls: heat as of a temperature gradient {_gradient(record['middle'])}")
    return lines


def _gradient(place: Mapping) -> str:
    number = "" if place["nusselt"] is None else f", Nusselt number {place['nusselt']:.5g}"
    return f"{place['gradient_k_m']:.5g} K/m{number}"


def _shear_lines(record: Mapping | None) -> list[str]:
    if not record or not record.get("n_counted"):
        return []
    now = record["magnitude_pa"]
    lines = [
        f"wall shear stress: mean {now['mean']:.4g} Pa, median {now['p50']:.4g}, 95 % below {now['p95']:.4g},"
        f" max {now['max']:.4g} ({counted_nodes(record)})"
    ]
    if record.get("time_averaged_pa"):
        lines.append(
            f"over {record['samples']} samples of {record['sampled_s']:.4g} s: time-averaged mean"
            f" {record['time_averaged_pa']['mean']:.4g} Pa, oscillatory index mean"
            f" {record['oscillatory_index']['mean']:.4g}, max {record['oscillatory_index']['max']:.4g}"
        )
    return lines + [f"warning: {text}" for text in record["warnings"]]


def _rock_lines(record: Mapping | None) -> list[str]:
    if not record:
        return []
    lines = [
        f"permeability along {record['along']}: {record['permeability_m2']:.5g} m2 = {record['permeability_darcy']:.5g}"
        f" darcy = {record['permeability_voxel2']:.5g} voxel2; porosity {record['porosity']:.5g}, tortuosity"
        f" {record['tortuosity']:.4g}",
        f"Reynolds number {record['reynolds']:.3g} (mean pore velocity, mean pore size {record['pore_size_m']:.3g} m ="
        f" {record['pore_size_voxels']:.3g} voxels)",
    ]
    return lines + [f"warning: {text}" for text in record["warnings"]]


def _plain(value):
    """``value`` in the types of JSON."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value

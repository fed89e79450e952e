"""The summary of a run: one JSON file, and what follows from the flow rates and pressures in it."""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from muphy_lb.base.files.atomic import write_text


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

"""The summary of a run: one JSON file."""

import json
import math
import os
from pathlib import Path

import numpy as np

from muphy_lb.output.atomic import write_text


def write_summary(path: str | os.PathLike, record: dict) -> None:
    """Write ``record`` as strict JSON, whole or not at all; a NaN or infinite number becomes ``null``.

    Values may be nested dictionaries, sequences, NumPy scalars and arrays, paths, numbers, texts and None.

    Raises:
        OutputError: the file cannot be written.
        TypeError: a value has no JSON form.
    """
    text = json.dumps(_plain(record), indent=2, allow_nan=False)
    write_text(path, text + "\n")


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

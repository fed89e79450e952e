"""Processes of this package that another of its processes starts."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

_ROOT = Path(__file__).parents[2]


def python(module: str, *words: str) -> list[str]:
    """Command line of a module of this package. No module is taken from the caller's folder, whose names may be those
    of the standard library."""
    return [sys.executable, "-P", "-m", module, *words]


def variables(given: Mapping[str, str]) -> dict[str, str]:
    """The given variables of the environment, and a ``PYTHONPATH`` by which the process finds this package."""
    return {**given, "PYTHONPATH": os.pathsep.join(filter(None, (str(_ROOT), given.get("PYTHONPATH"))))}

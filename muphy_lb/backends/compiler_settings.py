"""Numba's settings, compared in less time.

Numba compares all of its settings whenever it resolves a call, and asks for each of some twenty by a property: a fifth
of the time that compilation takes. Here the same values come from two dictionaries.
"""

from functools import cache
from types import ModuleType


def compare_quickly(targetconfig: ModuleType) -> None:
    """Let the settings of a module ``targetconfig``, Numba's or numba-cuda's, tell their values at once."""
    targetconfig.TargetConfig.values = values


def values(settings) -> dict:
    """Value of every setting by name."""
    return _defaults(type(settings)) | settings._values


@cache
def _defaults(kind: type) -> dict:
    return {name: option.default for name, option in kind.options.items()}

"""The SI unit in which the name of a key or of a column ends: ``velocity_m_s`` is in m/s."""

from collections.abc import Mapping
from types import MappingProxyType

SI_UNITS = MappingProxyType(
    {
        "m": "m",
        "m2": "m^2",
        "m3": "m^3",
        "m_s": "m/s",
        "m_s2": "m/s^2",
        "m2_s": "m^2/s",
        "m3_s": "m^3/s",
        "s": "s",
        "per_s": "1/s",
        "rad": "rad",
        "deg": "deg",
        "rad_s": "rad/s",
        "kg": "kg",
        "kg_s": "kg/s",
        "kg_m3": "kg/m^3",
        "pa": "Pa",
        "pa_s": "Pa*s",
        "pa_s_m3": "Pa*s/m^3",
        "m3_pa": "m^3/Pa",
        "n": "N",
        "n_m": "N/m",
        "j": "J",
        "k": "K",
        "k_m": "K/m",
        "1_k": "1/K",
        "1_pa": "1/Pa",
    }
)
"""The unit of a key by the end of its name: ``velocity_m_s`` is in m/s."""


def is_number(value) -> bool:
    """Whether a raw value is a number; a truth value is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def unit_of(key: str, table: Mapping) -> str | None:
    """The SI unit that the name of a key ends in; None for a key without a unit. The unit of a consistency (Pa s^n) has
    the index n of its table."""
    if key.endswith("_pa_sn"):
        index = table.get("index")
        return f"Pa*s^{index}" if is_number(index) else None
    return SI_UNITS.get(_unit_end(key))


def name_without_unit(key: str) -> str:
    """The name of a key without the unit that it ends in."""
    end = _unit_end(key)
    return key.removesuffix(f"_{end}") if end else key


def _unit_end(key: str) -> str:
    """The end of the name of a key that is a unit, such as ``"m_s"``; empty without one."""
    parts = key.split("_")
    ends = ("_".join(parts[-n:]) for n in range(min(3, len(parts) - 1), 0, -1))
    return next((end for end in ends if end in SI_UNITS), "")

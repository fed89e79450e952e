"""The table of validation cases."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from muphy_lb.validation.conservation import conservation
from muphy_lb.validation.permeability import permeability
from muphy_lb.validation.poiseuille import pipe, plane_channel
from muphy_lb.validation.record import Validation
from muphy_lb.validation.vessel import vessel

CASES: Mapping[str, Callable[[bool], Validation]] = MappingProxyType(
    {
        "plane-channel": plane_channel,
        "pipe": pipe,
        "conservation": conservation,
        "permeability": permeability,
        "vessel": vessel,
    }
)

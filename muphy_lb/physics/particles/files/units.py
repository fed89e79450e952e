"""Units of particle files that state none, or their own."""

from dataclasses import dataclass

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.geometry.options import LARGEST, SMALLEST


@dataclass(frozen=True)
class FileUnits:
    """What a number of a file means; None where nobody has said it.

    Attributes:
        length_m: metres in a unit of length.
        time_s: seconds in a unit of time; velocities are in units of length over those of time.

    Raises:
        InputError: a unit that is no number above zero.
    """

    length_m: float | None = None
    time_s: float | None = None

    def __post_init__(self):
        for name, value in (("length_unit_m", self.length_m), ("time_unit_s", self.time_s)):
            if value is not None and not SMALLEST <= value <= LARGEST:
                raise InputError(f"{name} is {value}; it must be a number above zero, from {SMALLEST:g} to {LARGEST:g}")

    def agreed(self, stated: "FileUnits", path) -> "FileUnits":
        """These units, as the caller gives them, with what a file states of its own where the caller is silent.

        Raises:
            InputError: both speak and differ.
        """
        pairs = {
            "length_unit_m": (self.length_m, stated.length_m),
            "time_unit_s": (self.time_s, stated.time_s),
        }
        for name, (given, own) in pairs.items():
            if given is not None and own is not None and not np.isclose(given, own, rtol=1e-9, atol=0.0):
                raise InputError(f"{path} states {name} = {own:g}, and {name} = {given:g} is given; leave it out")
        return FileUnits(*(own if given is None else given for given, own in pairs.values()))

    def metres(self, path) -> float:
        """Metres in a unit of length; InputError if nobody has said it."""
        if self.length_m is None:
            raise InputError(
                f"{path} does not state its unit of length; give length_unit_m, such as 1e-10 for angstroms, or 1.0 for"
                " metres"
            )
        return self.length_m

    def metres_per_second(self, path) -> float:
        """Metres a second in a unit of velocity; InputError if nobody has said it."""
        if self.time_s is None:
            raise InputError(
                f"{path} holds velocities and does not state their unit of time; give time_unit_s, such as 1e-15 for"
                " femtoseconds, or take the velocities out of the file"
            )
        return self.metres(path) / self.time_s

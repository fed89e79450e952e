"""Pictures only show what other files hold: one that cannot be drawn is a warning; and the units that they show.
Imported without NumPy, as the case file is."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from muphy_lb.base.errors import OutputError
from muphy_lb.base.phases import DRAWING, spent_on

VECTOR_FORMATS = ("svg", "pdf")  # in which a picture may be written beside its PNG
PICTURE_FORMATS = ("png", *VECTOR_FORMATS)  # in which a picture may be drawn again

FRAMES_FOLDER = "frames"
LOG = logging.getLogger(__name__)


@contextmanager
def drawing(what: str) -> Iterator[None]:
    """Context in which a picture is drawn; an error there is a warning, and the run continues. Raises OutputError: as
    the block raises it, such as where the disk is full."""
    try:
        with spent_on(DRAWING):
            yield
    except OutputError:
        raise
    except Exception as error:  # matplotlib has no type of its own for what it cannot draw
        LOG.warning("warning: %s cannot be drawn: %s: %s", what, type(error).__name__, error)


def frame_files(name: str) -> str:
    """Pattern of the pictures ``NAME_STEP.png`` that a run draws on its way."""
    return f"{FRAMES_FOLDER}/{name}_*.png"


def picture_files(file: str) -> tuple[str, ...]:
    """The files that a picture may have: ``NAME.png``, and the same in other formats."""
    return file, *(file.removesuffix("png") + ending for ending in VECTOR_FORMATS)


Units = tuple[tuple[str, float], ...]  # names of units of one quantity and their sizes [SI], the largest first

LENGTH_UNITS: Units = (("m", 1.0), ("mm", 1e-3), ("µm", 1e-6), ("nm", 1e-9))
SMALLEST_LENGTH = 1.0  # the smallest value that a unit is used for
SPEED_UNITS: Units = (("m/s", 1.0), ("mm/s", 1e-3), ("µm/s", 1e-6))
SMALLEST_SPEED = 0.01
PRESSURE_UNITS: Units = (("kPa", 1e3), ("Pa", 1.0), ("mPa", 1e-3), ("µPa", 1e-6))
FLOW_RATE_UNITS: Units = (("m³/s", 1.0), ("L/s", 1e-3), ("mL/s", 1e-6), ("µL/s", 1e-9), ("nL/s", 1e-12))
UNITS: Mapping[str, tuple[Units, float]] = MappingProxyType(
    {
        "m/s": (SPEED_UNITS, SMALLEST_SPEED),
        "Pa": (PRESSURE_UNITS, 1.0),
        "m3/s": (FLOW_RATE_UNITS, 0.1),
    }
)
"""Units and the smallest value that each is used for, by SI unit."""


def suitable_unit(units: Units, value: float, smallest: float) -> tuple[str, float]:
    """(name, size) of the largest unit in which ``value`` is at least ``smallest``, else the smallest unit."""
    return next((row for row in units if value >= smallest * row[1]), units[-1])


def shown_unit(unit: str, top: float) -> tuple[str, float]:
    """(name, size [SI]) of the unit in which values up to ``top`` are shown; their own where it has no others.
    ``unit``: their SI unit, such as ``"m/s"``; ``top``: the largest magnitude of the values [SI]."""
    units, smallest = UNITS.get(unit.replace("^", ""), (((unit, 1.0),), 0.0))
    return suitable_unit(units, top, smallest)

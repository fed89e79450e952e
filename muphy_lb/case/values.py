"""Types of values of a case file whose wrong forms are common: names, clock times, whole numbers."""

import math
import re
from datetime import time
from typing import Annotated

from pydantic import BeforeValidator, Field

from muphy_lb.base.key_units import is_number
from muphy_lb.geometry.limits import NAME, NAME_WORDS, shown

MOST_SECONDS = 1e9
EXACT = 2**53
"""Above it not every whole number is a floating-point one."""


def _named(value):
    if isinstance(value, str) and not re.fullmatch(NAME, value):
        remedy = re.sub(r"[^A-Za-z0-9_-]+", "_", value).lstrip("_-0123456789").rstrip("_-")
        raise ValueError(f"must be {NAME_WORDS}{f': try {shown(remedy)}' if remedy else ''}")
    return value


def _clock_time(value):
    if isinstance(value, time):  # TOML has clock times of its own
        value = value.replace(microsecond=0).isoformat()
    if is_number(value) and 0 <= value < MOST_SECONDS:
        minutes, seconds = divmod(math.ceil(value), 60)
        text = f"{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}"
        raise ValueError(f'must be a text "HH:MM:SS"; {value:g} s are "{text}"')
    if isinstance(value, str) and not re.fullmatch(r"[0-9]+:[0-5][0-9]:[0-5][0-9]", value):
        raise ValueError('must be a text "HH:MM:SS", such as "12:00:00"')
    return value


def whole(value):
    """A whole number as an integer, also where it is written with an exponent: 1e4."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < EXACT else value


Name = Annotated[str, BeforeValidator(_named)]
Duration = Annotated[str, BeforeValidator(_clock_time)]
AtLeastOne = Annotated[int, Field(gt=0), BeforeValidator(whole)]
AtLeastZero = Annotated[int, Field(ge=0), BeforeValidator(whole)]

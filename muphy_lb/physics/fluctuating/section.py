"""The case file's section [fluctuating], of thermal fluctuations, and the fluid's temperature."""

from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field

from muphy_lb.case.section import Positive, Section, given_values
from muphy_lb.case.usual import kelvins

SERIES_FILE = "fluctuations.csv"
FILES = (SERIES_FILE,)
LARGEST_SEED = 2**63 - 1


class FluctuatingSection(Section):
    """Thermal fluctuations of the flow, at the temperature of the fluid."""

    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] = 1
    """number that chooses the noise; runs with different seeds are independent"""


SECTION = FluctuatingSection


class FluidKeys(Section):
    """Keys of the fluid."""

    temperature_k: Positive | None = None
    """temperature [K] of the fluctuations of [fluctuating], and of beads in [[particles]]"""


def rules(given: Mapping) -> Iterator[str]:
    """Fluctuations need a temperature, and but for particles a temperature is there for nothing else."""
    has_temperature = "temperature_k" in given_values(given.get("fluid"))
    if "fluctuating" in given and not has_temperature:
        yield "has [fluctuating] but no fluid.temperature_k; give the temperature of the fluid [K]"
    if has_temperature and not given.keys() & {"fluctuating", "particles"}:
        yield "has fluid.temperature_k but no [fluctuating] that reads it; add that table, or leave the key out"


USUAL = (kelvins("fluid.temperature_k"),)

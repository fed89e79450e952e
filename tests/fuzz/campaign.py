"""A campaign: any number of random hostile inputs of all families, the same for the same seed, and its counts."""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from tests.fuzz import hostile
from tests.fuzz.case_files import case_file, set_value, table
from tests.fuzz.damages import Damage
from tests.fuzz.dicom_tiff import dicom, tiff
from tests.fuzz.samples import SAMPLES
from tests.fuzz.sphere_lists import opening_words, reader_option, shape, sphere_list
from tests.fuzz.tables import ANY


def any_file(draw: random.Random) -> Damage:
    """A whole input of any format, one to three times mangled without knowledge of the format."""
    sample = draw.choice(SAMPLES)
    return Damage(sample, "mangled", partial(hostile.mangle, seed=draw.random(), times=draw.choice((1, 1, 2, 3))), ANY)


FAMILIES: Mapping[str, tuple[Callable[[random.Random], Damage], int]] = MappingProxyType(
    {
        "files": (any_file, 6),
        "dicom": (dicom, 3),
        "tiff": (tiff, 3),
        "case files": (case_file, 4),
        "--set": (set_value, 3),
        "csv tables": (table, 2),
        "sphere lists": (sphere_list, 2),
        "shapes": (shape, 3),
        "options": (reader_option, 3),
        "openings and labels": (opening_words, 1),
    }
)
"""Family -> (how one input of it is drawn, its share)."""


def campaign(seed: int, count: int, family: str | None = None) -> list[Damage]:
    """``count`` damages drawn from all families, or from one."""
    names = [name for name, (_, share) in FAMILIES.items() for _ in range(share) if family in (None, name)]
    drawn = []
    for k in range(count):
        draw = random.Random(f"{seed} {k}")
        drawn.append(FAMILIES[draw.choice(names)][0](draw))
    return drawn


def counts(outcomes: Sequence) -> str:
    """A table of how often inputs of each kind ended in which way."""
    endings = sorted({outcome.verdict for outcome in outcomes})
    found = Counter((kind_of(outcome.damage), outcome.verdict) for outcome in outcomes)
    rows = [("kind", "inputs", *endings)]
    for kind in sorted({kind_of(outcome.damage) for outcome in outcomes}):
        numbers = [found[kind, ending] for ending in endings]
        rows.append((kind, str(sum(numbers)), *map(str, numbers)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in rows)


def kind_of(damage: Damage) -> str:
    """The format of a damaged input: the ending of its name, or what it is."""
    name = damage.sample.name
    return "shape" if name.startswith("shape:") else name if "." not in name else "." + name.split(".", 1)[1]

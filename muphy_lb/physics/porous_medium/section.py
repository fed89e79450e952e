"""The case file's list of tables [[porous_medium]]."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Annotated

from pydantic import Field

from muphy_lb.case.section import Box, Name, Positive, Section, Vector, exactly_one, given_tables
from muphy_lb.case.usual import Usual, outside

PLACES = ("box_m", "centre_m", "label")
KEY = "porous_medium"
FIELD = "permeability"
OUTPUT_FIELDS = (FIELD,)
Pair = Annotated[tuple[float, Positive], Field(strict=False)]


class PorousSection(Section):
    """A part of the fluid that is porous: a coil, a stent, a clot, microporous rock. It slows the flow by Darcy's drag.
    Where two of them overlap, the later one counts."""

    name: Name
    """letters, digits, _ and -, a letter first; the name in every output"""
    permeability_m2: Positive | None = None
    """permeability [m2]"""
    porosity: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None
    """share of voids between grains, of which the permeability follows instead (Kozeny, Carman)"""
    grain_diameter_m: Positive | None = None
    """diameter of these grains [m]"""
    permeability_file: str | None = None
    """permeability [m2] at every node instead, a field named permeability, as in initial.velocity_file"""
    permeability_of: Annotated[tuple[Pair, ...], Field(strict=False)] | None = None
    """pairs [grey value, permeability m2], ascending: the file holds grey values; straight in the logarithm between"""
    box_m: Box | None = None
    """lowest and highest corner of the part [m]; without box_m, centre_m and label it is all of the fluid"""
    centre_m: Vector | None = None
    """centre of a sphere [m]"""
    radius_m: Positive | None = None
    """radius of the sphere [m]"""
    label: int | None = None
    """value in the image: its voxels are fluid, and belong to the part"""

    @classmethod
    def rules(cls, given):
        """Check that one permeability and one shape are given."""
        yield from exactly_one(given, "permeability_m2", "porosity", "permeability_file")
        shapes = [key for key in PLACES if key in given]
        if len(shapes) > 1:
            yield f"has {' and '.join(shapes)}; give one of them"
        for one, other, what in (
            ("centre_m", "radius_m", "a sphere"),
            ("porosity", "grain_diameter_m", "a packing of grains"),
        ):
            if (one in given) != (other in given):
                yield f"has one of {one} and {other}; give both for {what}"
        if "permeability_of" in given and "permeability_file" not in given:
            yield "has permeability_of but no permeability_file, whose grey values it translates; give both"
        pairs = given.get("permeability_of", ())
        if "permeability_of" in given and len(pairs) < 2:
            yield "has fewer than two pairs in permeability_of; give two or more"
        if any(not one[0] < other[0] for one, other in pairwise(pairs)):
            yield "has grey values in permeability_of that do not ascend; sort the pairs"

    @property
    def uniform_m2(self) -> float | None:
        """Its permeability [m2] if that is the same everywhere: of a packing of spheres of diameter d and porosity e,
        e^3 d^2 / (180 (1 - e)^2) (Carman, Trans. Inst. Chem. Eng. 15, 150 (1937))."""
        if self.porosity is None or self.grain_diameter_m is None:
            return self.permeability_m2
        return self.porosity**3 * self.grain_diameter_m**2 / (180.0 * (1.0 - self.porosity) ** 2)


SECTION = PorousSection
SECTIONS = PorousSection


def rules(given: Mapping) -> Iterator[str]:
    """A label belongs to one part; ``given`` holds the raw tables of the case."""
    labels = [table["label"] for table in given_tables(given.get(KEY)) if "label" in table]
    for label in sorted({label for label in labels if labels.count(label) > 1}, key=str):
        yield f"has label = {label} in {labels.count(label)} tables {KEY}; give it in one of them"


def fluid_labels(case) -> dict[str, int]:
    """Values of the image that are porous, by the name of the part."""
    return {each.name: each.label for each in case.porous_medium or () if each.label is not None}


USUAL = (
    Usual(
        f"{KEY}.*.permeability_m2",
        outside(1e-21, 1e-4),
        "is a permeability of {value} m2; of clots it is 1e-16 to 1e-12 m2, of coils 1e-9 to 1e-7 m2, of rocks 1e-20 to"
        " 1e-11 m2 (1 darcy is 9.87e-13 m2)",
    ),
)

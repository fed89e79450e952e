"""The keys that every table of [[particles]] has."""

from types import MappingProxyType
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field, NonNegativeInt

from muphy_lb.case.section import Name, Positive, Section, Vector, names_given_twice

LARGEST_SEED = 2**63 - 1
MOST = 2**31 - 1  # particles of a set, whose ids have 32 bits
MOST_FIELDS = 20  # fields of the flow in the snapshots of a set
MOST_LISTED = 100_000  # positions or ids that a case lists itself; more belong into a file

Count = Annotated[int, Field(gt=0, le=MOST)]
KINDS = ("tracers", "beads")


def _known_kind(kind: str) -> str:
    if kind not in KINDS:
        raise ValueError(f"must be {' or '.join(map(repr, KINDS))}")
    return kind


class PlaneSection(Section):
    """A plane through which particles are counted, in the series of their set."""

    name: Name
    """letters, digits, _ and -, a letter first; the beginning of its column"""
    point_m: Vector
    """a point (x, y, z) [m] of the plane"""
    normal: Vector
    """direction (x, y, z), of any length, in which crossings count; those against it are subtracted"""

    @classmethod
    def rules(cls, given):
        """The normal has a direction."""
        normal = given.get("normal")
        if normal is not None and not any(normal):
            yield "has a normal without a direction; give one that is not zero"


class ParticlesSection(Section):
    """Particles in the flow, a table for each kind of them."""

    longest = MappingProxyType({"positions_m": MOST_LISTED})

    name: Name
    """letters, digits, _ and -, a letter first; the name in every output"""
    kind: Annotated[str, AfterValidator(_known_kind)]
    """what they are"""
    file: str | None = None
    """file of the positions where they start (CSV, extended XYZ, LAMMPS), relative to the folder of the case file"""
    length_unit_m: Positive | None = None
    """unit of length of the file [m], where the file does not state it"""
    frame: int = 0
    """number of the frame of an XYZ file, from 0 on; negative ones count from the end"""
    positions_m: Annotated[tuple[Vector, ...], Field(strict=False, min_length=1)] | None = None
    """positions (x, y, z) [m] where they start, one for each, instead of a file"""
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] = 1
    """number that chooses their positions and their random motion; runs with different seeds are independent"""
    planes: Annotated[tuple[PlaneSection, ...], Field(strict=False)] = ()
    """planes through which they are counted, each in a table [[particles.planes]]"""
    snapshots_every_steps: NonNegativeInt = 0
    """steps between two snapshots of all of them in particles_NAME.vtkhdf; 0 for none"""
    extxyz: bool = False
    """whether the snapshots are written to particles_NAME.xyz, too: extended XYZ, which programs of molecular dynamics
    read"""

    fields: Annotated[tuple[str, ...], Field(strict=False, max_length=MOST_FIELDS)] = ()
    """fields of the flow that the snapshots hold where each particle is, such as shear_stress or velocity_gradient; the
    first of them colours the particles in pictures"""

    of_file: ClassVar[tuple[str, ...]] = ("length_unit_m", "frame")
    """Keys that say how the file is read."""

    @property
    def n_to_place(self) -> int:
        """Number of particles whose positions the program draws; 0 if they are listed."""
        return getattr(self, "count", None) or 0

    @classmethod
    def rules(cls, given):
        """Keys of the file need one, and planes names of their own."""
        yield from super().rules(given)
        for key in cls.of_file:
            if given.get(key) and "file" not in given:
                yield f"has {key}, which only file reads"
        if given.get("extxyz") is True and not given.get("snapshots_every_steps"):
            yield "has extxyz, which is for snapshots; give snapshots_every_steps"
        if given.get("fields") and not given.get("snapshots_every_steps"):
            yield "has fields, which are for snapshots; give snapshots_every_steps"
        for name in names_given_twice(given.get("planes")):
            yield f"has two planes named {name!r}; give each a name of its own"

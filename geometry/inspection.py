"""Inspection of an input before it is converted: its content, defects and repairs, and its openings."""

from dataclasses import dataclass
from pathlib import Path

from muphy_lb.geometry.errors import GeometryError, MissingOptionError
from muphy_lb.geometry.load import LOADERS, load_with_notes, option_names
from muphy_lb.geometry.openings.find import (
    GIVEN,
    FoundOpening,
    openings_of_surface,
    openings_of_voxels,
    spurious_contacts,
)
from muphy_lb.geometry.openings.preview import draw_surface_openings, draw_voxel_openings
from muphy_lb.geometry.options import check_names
from muphy_lb.geometry.surfaces.mend import close_roughly, mend
from muphy_lb.geometry.surfaces.surface import FORMATS, OddRows, Surface, diagnose, odd_rows, read_surface
from muphy_lb.geometry.voxels import Opening, Voxels


@dataclass(frozen=True)
class Inspection:
    """The result of inspecting an input."""

    content: Surface | Voxels  #: the repaired surface, or the voxels
    health: tuple[str, ...]  #: lines of text: a description, the repairs made, and anything doubtful
    found: tuple[FoundOpening, ...]  #: the openings
    odd_rows: OddRows | None = None  #: rows of voxels that give no vote; None where none are taken

    @property
    def new_openings(self) -> tuple[Opening, ...]:
        """The openings that the input does not define itself."""
        return tuple(item.opening for item in self.found if item.source != GIVEN)

    def draw(self, path, title: str = "") -> None:
        """Write a picture with the openings labelled, and doubtful rows marked; GeometryError if that fails."""
        if isinstance(self.content, Surface):
            draw_surface_openings(path, self.content, self.found, title, self.odd_rows)
        else:
            draw_voxel_openings(path, self.content, self.found, title)


def inspect_input(path, **options) -> Inspection:
    """Inspect an input of :func:`muphy_lb.geometry.load.load_voxels`; a surface is not voxelised and needs only
    ``unit``. Raises GeometryError as the readers do, for a surface that cannot be repaired, and for too many
    openings."""
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        loaded = load_with_notes(path, **options)
        contacts = spurious_contacts(loaded.voxels)
        faces = ", ".join(
            f"{item.source.removeprefix('face of the box ')} ({item.area_m2:.3g} m2)" for item in contacts
        )
        notes = (*loaded.notes, *((f"a wall touches the box {faces}: not taken as an opening",) if contacts else ()))
        return Inspection(loaded.voxels, notes, openings_of_voxels(loaded.voxels))
    check_names(options, option_names(LOADERS[ending]), f"option of a {ending} input")
    if "unit" not in options:
        raise MissingOptionError(f"input {str(path)!r}: a {ending} file needs the option unit", ["unit"])
    surface = read_surface(path, options["unit"])
    try:
        mended = close_roughly(surface) if options.get("vote") else mend(surface)
        odd = odd_rows(mended.surface, options.get("spacing_m")) if options.get("vote") else None
    except GeometryError as error:
        raise GeometryError(f"{path}: {error}") from error
    notes = (str(diagnose(surface)), *mended.notes)
    if odd is not None:
        notes += (f"doubtful: {odd.count} rows of voxels of {odd.spacing_m:.3g} m give no vote",)
    return Inspection(mended.surface, notes, openings_of_surface(mended), odd)

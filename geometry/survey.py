"""Survey: what a file holds, how healthy it is, and where its openings are, before anything is made of it."""

from dataclasses import dataclass
from pathlib import Path

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.load import LOADERS, load_with_notes, option_names
from muphy_lb.geometry.openings.find import (
    GIVEN,
    FoundOpening,
    brushes_of_voxels,
    openings_of_surface,
    openings_of_voxels,
)
from muphy_lb.geometry.openings.preview import draw_surface_openings, draw_voxel_openings
from muphy_lb.geometry.options import check_names
from muphy_lb.geometry.surfaces.mend import mend
from muphy_lb.geometry.surfaces.surface import FORMATS, Surface, diagnose, read_surface
from muphy_lb.geometry.voxels import Opening, Voxels


@dataclass(frozen=True)
class Survey:
    """What was found in a file.

    Attributes:
        content: the mended surface, or the voxels.
        health: lines of text: what it is, what was mended, what is doubtful.
        found: the openings.
    """

    content: Surface | Voxels
    health: tuple[str, ...]
    found: tuple[FoundOpening, ...]

    @property
    def new_openings(self) -> tuple[Opening, ...]:
        """The openings that the input does not bring."""
        return tuple(item.opening for item in self.found if item.source != GIVEN)

    def draw(self, path, title: str = "") -> None:
        """Write a PNG with the openings named; GeometryError if that fails."""
        draw = draw_surface_openings if isinstance(self.content, Surface) else draw_voxel_openings
        draw(path, self.content, self.found, title)


def survey(path, **options) -> Survey:
    """Look at an input of :func:`muphy_lb.geometry.load.load_voxels`; a surface needs its ``unit`` only, and is not
    voxelised.

    Raises GeometryError as the readers do, for a surface that cannot be mended, and for too many openings.
    """
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        loaded = load_with_notes(path, **options)
        notes = (*loaded.notes, *_brush_notes(loaded.voxels))
        return Survey(loaded.voxels, notes, openings_of_voxels(loaded.voxels))
    check_names(options, option_names(LOADERS[ending]), f"option of a {ending} input")
    if "unit" not in options:
        raise GeometryError(f"input {str(path)!r}: a {ending} file needs the option unit")
    surface = read_surface(path, options["unit"])
    try:
        mended = mend(surface)
    except GeometryError as error:
        raise GeometryError(f"{path}: {error}") from error
    return Survey(mended.surface, (str(diagnose(surface)), *mended.notes), openings_of_surface(mended))


def _brush_notes(voxels: Voxels) -> tuple[str, ...]:
    """What touches the box but is no opening, in words; nothing if there is nothing."""
    brushes = brushes_of_voxels(voxels)
    places = ", ".join(f"{item.source.removeprefix('face of the box ')} ({item.area_m2:.3g} m2)" for item in brushes)
    return (f"a wall brushes the box {places}: no opening there",) if brushes else ()

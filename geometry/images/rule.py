"""ImageRule: the segmentation of an image: which values are fluid, opening or wall, and spacing and origin. Which value
is fluid is never guessed. The image is processed slab by slab, so that it may be a memory-mapped file larger than
memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from muphy_lb.base.narrow import known
from muphy_lb.geometry.axes import periodic_axes
from muphy_lb.geometry.errors import GeometryError, MissingOptionError
from muphy_lb.geometry.images.image import Image, three_lengths
from muphy_lb.geometry.images.selection import (
    Interval,
    Selection,
    ValueSet,
    describe_values,
    has_cubes,
    otsu_threshold,
    times,
    to_cubes,
    value_range,
)
from muphy_lb.geometry.limits import check_name, shown
from muphy_lb.geometry.openings.carve import with_tagged_openings
from muphy_lb.geometry.options import check_labels, check_positive, is_whole
from muphy_lb.geometry.slabs import empty_array, release, slabs
from muphy_lb.geometry.voxels import (
    FIRST_OPENING,
    FLAG_DTYPE,
    FLUID,
    MAX_OPENINGS,
    MAX_WALLS,
    Voxels,
    opening_flag,
    wall_flag,
)

SIDES = ("below", "above")


class Noted(NamedTuple):
    """Voxels, with notes (one sentence each) that report to the user what the reader did."""

    voxels: Voxels
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ImageRule:
    """Segmentation of an image into voxels, with their spacing and origin."""

    #: voxels of this integer value, or of one of these values, are fluid, all others solid; ``None``: the values are
    #: ``muphy_lb.geometry.voxels`` already
    fluid_value: int | Sequence[int] | None = 1
    #: if given, voxels with a value below this threshold are fluid (grey images; level sets: 0)
    fluid_below: float | None = None
    #: if given, voxels with a value at or above this threshold are fluid; with ``fluid_below`` too, those from
    #: ``fluid_above`` up to but without ``fluid_below``
    fluid_above: float | None = None
    #: ``"below"`` or ``"above"``: the side of Otsu's threshold, which best separates two classes of grey values, that
    #: is fluid. Source: N. Otsu, IEEE Trans. Syst. Man Cybern. 9 (1979) 62, doi:10.1109/TSMC.1979.4310076.
    otsu: str | None = None
    #: value of the voxels of each opening by its tag, such as ``{"inlet:left": 2, "outlet": 3}``; they must lie just
    #: outside the fluid: the condition is imposed on the links into them
    opening_values: Mapping[str, int] = field(default_factory=dict)
    #: value of the voxels of each labelled wall by its name, such as ``{"stent": 4}``; they are solid
    wall_values: Mapping[str, int] = field(default_factory=dict)
    #: edge length of a voxel, or its three lengths (x, y, z) [m], overriding those of the file; ``None``: those of the
    #: file, which must state them
    spacing_m: float | Sequence[float] | None = None
    #: edge length [m] of the cubes that the image is resampled to; ``None``: cubic voxels are kept, others are
    #: resampled to cubes of their smallest length. Labels take the nearest value; with a threshold, values are
    #: interpolated linearly.
    resample_m: float | None = None
    #: (x, y, z) of the centre of the first voxel of the file [m]; ``None``: that of the file, or zero
    origin_m: tuple[float, float, float] | None = None
    #: axis letters such as ``"xy"``, or (x, y, z) truth values
    periodic: str | tuple[bool, bool, bool] = (False, False, False)

    def voxels(self, values: np.ndarray, spacing_m: float, origin_m=(0.0, 0.0, 0.0)) -> Voxels:
        """Voxels of an array (nz, ny, nx) or (ny, nx); errors as of :meth:`segment`."""
        return self.segment(Image(values, (spacing_m,) * 3, tuple(origin_m))).voxels

    def segment(self, image: Image) -> Noted:
        """Voxels of an image, with notes on what was done to it. Raises GeometryError for a voxel edge that neither the
        file nor the rule states, for NaN, for float values without a threshold, for contradictory rules, if no voxel
        would be fluid, and for an opening or a wall without voxels."""
        self._check()
        if image.values.dtype.kind not in "iufb":
            raise GeometryError(
                f"the image has values of type {image.values.dtype}; allowed: integers, floats, booleans"
            )
        image = self._with_own_frame(image)
        _check_nan(image.values)
        selection, notes = self._selection(image.values)
        labelled = bool(self.opening_values or self.wall_values)
        interval = selection if isinstance(selection, Interval) and not labelled else None
        cubes = to_cubes(image, self.resample_m, interval)
        flags = self._flags(cubes.values, selection)
        edge_m, walls = known(cubes.spacing_m)[0], tuple(self.wall_values)
        voxels = Voxels(flags, edge_m, cubes.origin_m, periodic_axes(self.periodic), walls=walls)
        tags = {tag: opening_flag(k) for k, tag in enumerate(self.opening_values)}
        return Noted(with_tagged_openings(voxels, tags, "the image").check_flags(), (*cubes.notes, *notes))

    def _check(self) -> None:
        check_labels(opening_values=self.opening_values, wall_values=self.wall_values)
        values = self.fluid_value if isinstance(self.fluid_value, Sequence | np.ndarray) else [self.fluid_value]
        if self.fluid_value is not None and not (len(values) and all(map(is_whole, values))):
            raise GeometryError(f"fluid_value is {shown(self.fluid_value)}; give a whole number, or a list of them")
        if self.resample_m is not None:
            check_positive(resample_m=self.resample_m)
        bounds = [
            f"{name} = {getattr(self, name)}" for name in ("fluid_below", "fluid_above", "otsu") if self._has(name)
        ]
        if bounds and self.fluid_value not in (None, 1):
            raise GeometryError(f"fluid_value = {self.fluid_value} and {bounds[0]} are both given; give one")
        if self.otsu is not None and len(bounds) > 1:
            raise GeometryError(f"{' and '.join(bounds)} are given; give either thresholds or otsu")
        if self.otsu is not None and self.otsu not in SIDES:
            raise GeometryError(f"otsu is {shown(self.otsu)}; allowed: {', '.join(SIDES)} (the side of the fluid)")
        for what, names, most in (
            ("wall", self.wall_values, MAX_WALLS),
            ("opening", self.opening_values, MAX_OPENINGS),
        ):
            if len(names) > most:
                raise GeometryError(f"{what}_values names {len(names)} {what}s; at most {most} are supported")
        for tag in self.opening_values:
            check_name(tag.partition(":")[2] if ":" in tag else tag, f"the name of the opening {shown(tag)}")
        for name in self.wall_values:
            check_name(name, "the name of a wall")

    def _has(self, name: str) -> bool:
        return getattr(self, name) is not None

    def _with_own_frame(self, image: Image) -> Image:
        """The image with the spacing and the origin of the rule, where given, in place of its own."""
        given = self.spacing_m
        spacing = image.spacing_m
        notes = image.notes
        if given is None and spacing is None:
            raise MissingOptionError("it does not contain its voxel edge [m]", ["spacing_m"])
        if given is not None and not isinstance(given, Sequence | np.ndarray):
            if spacing is not None and not has_cubes(image):
                raise GeometryError(
                    f"spacing_m is {given}, but the file has voxels of {times(spacing)} m, which are not cubic: leave"
                    " it out, give resample_m for cubes of that length, or three lengths to correct the file"
                )
            given = (given,) * 3
        if given is not None:
            given = three_lengths("spacing_m", given)
            if spacing not in (None, given):
                notes = (*notes, f"spacing: {times(given)} m as given, in place of the file's {times(spacing)} m")
            spacing = given
        return Image(image.values, spacing, image.origin_m if self.origin_m is None else self.origin_m, notes)

    def _selection(self, values) -> tuple[Selection | None, tuple[str, ...]]:
        """The selection of the fluid (``None`` if the values are flags already), with notes on computed thresholds."""
        if self.otsu is not None:
            threshold = otsu_threshold(values)
            side = Interval(None, threshold, "otsu") if self.otsu == "below" else Interval(threshold, None, "otsu")
            return side, (f"Otsu: fluid where the value is {self.otsu} {threshold:g}",)
        if self._has("fluid_below") or self._has("fluid_above"):
            return Interval(self.fluid_above, self.fluid_below), ()
        if values.dtype.kind == "f":
            raise GeometryError(
                "the image has float values; give fluid_below or fluid_above, the threshold on whose side a voxel is"
                " fluid, or otsu"
            )
        if self.fluid_value is None:
            return None, ()
        return ValueSet(self.fluid_value), ()

    def _flags(self, values, selection: Selection | None) -> np.ndarray:
        """(nz, ny, nx) uint8 flags of the values."""
        if selection is None and not (self.opening_values or self.wall_values):
            return _as_flags(values)
        if selection is None:
            _check_flag_range(values)
        flags = empty_array(values.shape, FLAG_DTYPE)
        openings = {opening_flag(index): number for index, number in enumerate(self.opening_values.values())}
        labels = openings | {wall_flag(index): number for index, number in enumerate(self.wall_values.values())}
        found = np.zeros(FIRST_OPENING + 256, dtype=np.int64)
        for layers, slab in slabs(values):
            slab_flags = slab.astype(FLAG_DTYPE) if selection is None else selection.fluid(slab).astype(FLAG_DTYPE)
            found[FLUID] += np.count_nonzero(slab_flags == FLUID)
            for flag, value in labels.items():
                labelled = slab == value
                found[flag] += np.count_nonzero(labelled)
                slab_flags[labelled] = flag
            flags[layers] = slab_flags
            release(flags)
        self._check_found(values, selection, found)
        return flags

    def _check_found(self, values, selection: Selection | None, found: np.ndarray) -> None:
        """Raise GeometryError if the fluid or a labelled wall has no voxel."""
        if selection is not None and not found[FLUID]:
            raise GeometryError(
                f"{selection} selects no voxel; the image holds {describe_values(values)}; say which are fluid by the"
                " option fluid_value, or fluid_above and fluid_below"
            )
        for number, (name, value) in enumerate(self.wall_values.items()):
            if not found[wall_flag(number)]:
                raise GeometryError(
                    f"no voxel of the image has the value {value} of wall {name!r}; it holds {describe_values(values)}:"
                    " leave the wall out or correct its value"
                )


def _as_flags(values) -> np.ndarray:
    """Values that are flags already: the (possibly memory-mapped) array itself if its type and order allow."""
    _check_flag_range(values)
    if isinstance(values, np.ndarray) and values.dtype == FLAG_DTYPE and values.flags.c_contiguous:
        return values
    flags = empty_array(values.shape, FLAG_DTYPE)
    for layers, slab in slabs(values):
        flags[layers] = slab
        release(flags)
    return flags


def _check_flag_range(values) -> None:
    low, high = value_range(values)
    if low < 0 or high > np.iinfo(FLAG_DTYPE).max:
        raise GeometryError(f"the values {low} to {high} are not geometry flags (0 to 255); give fluid_value")


def _check_nan(values) -> None:
    if values.dtype.kind != "f":
        return
    n_nan, first = 0, None
    for layers, slab in slabs(values):
        nan = np.isnan(slab)
        n_nan += int(np.count_nonzero(nan))
        if first is None and n_nan:
            z, y, x = np.unravel_index(np.argmax(nan), nan.shape)
            first = tuple(map(int, (x, y, layers.start + z)))
    if n_nan:
        raise GeometryError(
            f"the image holds {n_nan} NaN values, the first at (x, y, z) = {first}; replace them before reading"
        )

"""Blocks of an image as crops of a study."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import Case
from muphy_lb.geometry.load import SHAPE_PREFIX, load_voxels

FEWEST_VOXELS = 4


def with_blocks(parameter, case: Case):
    """The parameter with the crops of its blocks as values; a block of n along an axis has its n-th part, to a voxel.
    Raises InputError: the case crops already, or blocks would have less than four voxels along an axis."""
    geometry = case.geometry
    if "crop" in geometry.options:
        raise InputError("study: a parameter has blocks, and geometry.options.crop is in the case; leave that out")
    shape = voxels_of(case)
    most = max(parameter.blocks)
    if min(n for n in shape if n > 1) // most < FEWEST_VOXELS:
        raise InputError(
            f"study.parameters.{parameter.name}: {most} blocks along each axis of an image of {shape[::-1]} voxels have"
            f" less than {FEWEST_VOXELS} along an axis; give fewer"
        )
    crops = [crop for count in parameter.blocks for crop in crops_of(shape, count)]
    return parameter.model_copy(update={"values": tuple(crops)})


def counts_of(parameter, crops: Sequence) -> list[int]:
    """Number of blocks along an axis of the division to which each crop belongs, for a parameter of
    :func:`with_blocks`."""
    shape = tuple(np.max([end for _, end in parameter.values], axis=0).tolist()[::-1])
    by_crop = {str(crop): count for count in parameter.blocks for crop in crops_of(shape, count)}
    return [by_crop[str(crop)] for crop in crops]


def voxels_of(case: Case) -> tuple[int, int, int]:
    """(nz, ny, nx) of the image of a case, before its preparation."""
    geometry, before = case.geometry, ("mirror", "divide", "reservoir_layers", "drop_unconnected")
    options = {name: value for name, value in geometry.options.items() if name not in before}
    if geometry.spacing_m is not None:
        options["spacing_m"] = geometry.spacing_m
    source = f"{SHAPE_PREFIX}{geometry.shape}" if geometry.shape else case.folder / str(geometry.file)
    return load_voxels(source, **options).shape


def crops_of(shape: tuple[int, int, int], count: int) -> list[list[list[int]]]:
    """The first voxel (x, y, z) and the one behind the last of ``count`` blocks along each axis of more than one
    layer."""
    edges = [np.linspace(0, n, (count if n > 1 else 1) + 1).astype(np.int64).tolist() for n in shape[::-1]]
    numbers = product(*(range(len(edge) - 1) for edge in reversed(edges)))
    places = [tuple(reversed(number)) for number in numbers]
    return [[[edges[k][i + end] for k, i in enumerate(place)] for end in (0, 1)] for place in places]

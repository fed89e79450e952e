"""Published permeability of eight blocks of a Ketton limestone, and the rank correlation to hold against it.

Source: github.com/LukasMosser/PorousMediaGan, a Stokes solver of Imperial College on the voxels; read from the file
``reference_permeability.csv`` of the data folder.
"""

import csv
import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from muphy_lb.base.errors import InputError


@dataclass(frozen=True)
class Block:
    """One cube of the image."""

    number: int  # as published
    low: tuple[int, int, int]  # first voxel (x, y, z)
    porosity: float  # of the pores that lead from face to face
    permeability: Mapping[str, float]  # axis letter to permeability [voxel^2]


def read_blocks(path: str | os.PathLike) -> tuple[Block, ...]:
    """All blocks of a file of comma-separated values. ``path``: columns ``subvolume, z0, y0, x0, effective_porosity,
    kx_voxel2, ky_voxel2, kz_voxel2``, in any order. Raises InputError: the file cannot be read, lacks a column or has
    something else than numbers."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            return tuple(_block(row) for row in csv.DictReader(file))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{path}: no table of blocks ({type(error).__name__}: {error}); give the columns subvolume, z0, y0, x0,"
            " effective_porosity, kx_voxel2, ky_voxel2 and kz_voxel2, in numbers"
        ) from error


def rank_correlation(a, b) -> float:
    """Spearman's correlation: that of the ranks of two sequences without ties, from -1 to 1."""
    ranks = [np.argsort(np.argsort(values)) for values in (a, b)]
    return float(np.corrcoef(*ranks)[0, 1])


def _block(row: Mapping[str, str]) -> Block:
    permeability = {axis: float(row[f"k{axis}_voxel2"]) for axis in "xyz"}
    low = tuple(int(row[f"{axis}0"]) for axis in "xyz")
    return Block(int(row["subvolume"]), low, float(row["effective_porosity"]), MappingProxyType(permeability))

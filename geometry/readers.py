"""Voxel images to Voxels: the readers of :mod:`muphy_lb.geometry.images` with the rule that says which value is
fluid."""

from muphy_lb.geometry.images import arrays
from muphy_lb.geometry.images.metaimage import read_metaimage as read_metaimage_image
from muphy_lb.geometry.images.rule import ImageRule
from muphy_lb.geometry.images.stored import read_bytes
from muphy_lb.geometry.voxels import Voxels

__all__ = ["ImageRule", "read_bytes", "read_metaimage", "read_npy", "read_raw"]


def read_npy(path, rule: ImageRule | None = None) -> Voxels:
    """Voxels of a ``.npy`` file; errors as of :func:`muphy_lb.geometry.images.arrays.read_npy` and
    :meth:`ImageRule.segment`."""
    return (rule or ImageRule()).segment(arrays.read_npy(path)).voxels


def read_raw(path, shape_zyx, dtype: str, header_bytes: int, rule: ImageRule | None = None) -> Voxels:
    """Voxels of a headerless file; arguments and errors as of :func:`muphy_lb.geometry.images.arrays.read_raw`."""
    return (rule or ImageRule()).segment(arrays.read_raw(path, shape_zyx, dtype, header_bytes)).voxels


def read_metaimage(path, rule: ImageRule | None = None, unit: str = "mm") -> Voxels:
    """Voxels of a MetaImage file; errors as of :func:`muphy_lb.geometry.images.metaimage.read_metaimage`."""
    return (rule or ImageRule()).segment(read_metaimage_image(path, unit)).voxels

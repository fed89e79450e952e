"""Images larger than memory: nothing is copied as a whole, and the result is that of small ones."""

import tracemalloc

import numpy as np
import pytest

import muphy_lb.geometry.slabs
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.arrays import read_raw
from muphy_lb.geometry.images.rule import ImageRule
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.openings.carve import carve
from muphy_lb.geometry.slabs import copied, empty_array, indices_of, padded, slabs
from muphy_lb.geometry.voxels import FIRST_OPENING, FLUID, Opening

SHAPE = (64, 128, 128)
LAYOUT = (SHAPE, "uint8", 0)


@pytest.fixture
def raw(tmp_path):
    values = np.random.default_rng(5).integers(0, 3, SHAPE, dtype=np.uint8)
    values.tofile(tmp_path / "image.raw")
    return tmp_path / "image.raw"


@pytest.fixture
def small_slabs(monkeypatch):
    """Slabs of two layers; every array of more than a slab is mapped."""
    monkeypatch.setattr(muphy_lb.geometry.slabs, "SLAB_VOXELS", 2 * SHAPE[1] * SHAPE[2])
    monkeypatch.setattr(muphy_lb.geometry.slabs, "IN_MEMORY_BYTES", 2 * SHAPE[1] * SHAPE[2])


def test_slabs_are_the_whole_in_order(small_slabs):
    values = np.arange(5 * 128 * 128).reshape(5, 128, 128)
    parts = list(slabs(values))
    assert [(layers.start, layers.stop) for layers, _ in parts] == [(0, 2), (2, 4), (4, 5)]
    np.testing.assert_array_equal(np.concatenate([slab for _, slab in parts]), values)


@pytest.mark.parametrize("widths", [((1, 3), (0, 2), (4, 0)), ((0, 0), (0, 0), (5, 5)), ((7, 0), (1, 1), (0, 0))])
def test_padding_is_that_of_numpy(small_slabs, widths):
    values = np.random.default_rng(1).integers(0, 9, (5, 128, 128), dtype=np.uint8)
    np.testing.assert_array_equal(padded(values, widths, 7), np.pad(values, widths, constant_values=7))


def test_places_are_those_of_numpy(small_slabs):
    values = np.random.default_rng(2).integers(0, 50, (5, 128, 128), dtype=np.uint8)
    np.testing.assert_array_equal(indices_of(values, 3), np.argwhere(values == 3))
    assert indices_of(values, 99).shape == (0, 3)


def test_large_images_stay_mapped_when_openings_are_carved(labels, small_slabs):
    voxels = ImageRule(fluid_value=1, spacing_m=1.0).segment(read_raw(labels, *LAYOUT)).voxels
    carved = carve(voxels, [Opening("in", "inlet", (60.0, 60.0, 0.0), (0.0, 0.0, 1.0))])
    assert isinstance(carved.flags, np.memmap) and (carved.flags == FIRST_OPENING).any()


def test_raw_images_are_mapped_and_values_that_are_flags_stay_so(raw):
    image = read_raw(raw, *LAYOUT)
    flags = ImageRule(fluid_value=None, spacing_m=1.0).segment(image).voxels.flags
    assert isinstance(image.values, np.memmap) and isinstance(flags, np.memmap)


@pytest.fixture
def labels(tmp_path):
    """A raw image of the flags 0 and 1."""
    (np.arange(np.prod(SHAPE)) % 7 == 0).astype(np.uint8).tofile(tmp_path / "flags.raw")
    return tmp_path / "flags.raw"


@pytest.mark.parametrize("value", [None, 1, 0])
def test_segmenting_takes_the_memory_of_a_few_slabs(labels, small_slabs, value):
    rule = ImageRule(fluid_value=value, spacing_m=1.0)
    rule.segment(read_raw(labels, *LAYOUT))
    tracemalloc.start()
    rule.segment(read_raw(labels, *LAYOUT))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < np.prod(SHAPE) / 4


RULES = [{"fluid_value": 2}, {"fluid_below": 1}, {"otsu": "above"}]
RULES += [{"fluid_value": 2, "wall_values": {"grains": 1}, "periodic": "z"}]


@pytest.mark.parametrize("options", RULES)
def test_mapped_images_give_the_nodes_of_small_ones(raw, monkeypatch, options):
    rule = ImageRule(spacing_m=1.0, **options)
    whole = build_nodes(rule.segment(read_raw(raw, *LAYOUT)).voxels)
    monkeypatch.setattr(muphy_lb.geometry.slabs, "SLAB_VOXELS", 3 * SHAPE[1] * SHAPE[2])
    monkeypatch.setattr(muphy_lb.geometry.slabs, "IN_MEMORY_BYTES", 1)
    voxels = rule.segment(read_raw(raw, *LAYOUT)).voxels
    assert isinstance(voxels.flags, np.memmap)
    nodes = build_nodes(voxels)
    np.testing.assert_array_equal(nodes.voxel, whole.voxel)
    np.testing.assert_array_equal(nodes.label_voxel, whole.label_voxel)


def test_resampling_by_slabs_is_that_of_the_whole(raw, monkeypatch):
    rule = ImageRule(fluid_above=1.5, spacing_m=(1.0, 1.0, 1.4))
    whole = rule.segment(read_raw(raw, *LAYOUT)).voxels.flags
    monkeypatch.setattr(muphy_lb.geometry.slabs, "SLAB_VOXELS", 3 * SHAPE[1] * SHAPE[2])
    np.testing.assert_array_equal(rule.segment(read_raw(raw, *LAYOUT)).voxels.flags, whole)


def test_copies_of_mapped_arrays_are_mapped_and_writable(labels, small_slabs):
    image = read_raw(labels, *LAYOUT).values
    copy = copied(image)
    assert isinstance(copy, np.memmap)
    np.testing.assert_array_equal(copy, image)
    copy[0, 0, 0] = 9
    assert image[0, 0, 0] == FLUID


def test_arrays_beyond_the_disk_are_one_clear_error():
    with pytest.raises(GeometryError, match="no room for .* voxels of uint8"):
        empty_array((2**20, 2**20, 2**20), np.uint8)

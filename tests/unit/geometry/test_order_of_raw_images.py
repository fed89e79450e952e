"""A raw image that is read with its voxel counts in another order is told; it used to be a rock without connections."""

from itertools import permutations

import numpy as np
import pytest

from muphy_lb.geometry.images.arrays import likelier_order, read_raw
from muphy_lb.geometry.shapes.packings import blurred_noise

SHAPE = (20, 24, 30)


def rock(shape=SHAPE) -> np.ndarray:
    """A random medium of blobs of some voxels."""
    return blurred_noise(shape, grain=2.0).flags


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float32])
def test_every_other_order_is_found_and_the_right_one_kept(kind):
    values = rock().astype(kind).reshape(-1)
    assert {likelier_order(values.reshape(order)) for order in permutations(SHAPE)} == {SHAPE}


def test_an_image_that_tells_no_order_is_taken_as_it_is():
    noise = np.random.default_rng(1).integers(0, 2, SHAPE)
    tube = np.zeros((10, 12, 60), np.uint8)
    tube[3:7, 3:9] = 1
    for values in (noise, tube, np.zeros(SHAPE), rock((20, 20, 20)), rock((1, 20, 30)), rock((2, 3, 30))):
        for order in permutations(values.shape):
            assert likelier_order(values.reshape(order)) == order or values.shape[0] == 20


def test_the_reader_names_the_likelier_order(tmp_path):
    rock().tofile(tmp_path / "rock.raw")
    (note,) = read_raw(tmp_path / "rock.raw", SHAPE[::-1], "uint8").notes
    assert f"they would with {list(SHAPE)}" in note
    assert read_raw(tmp_path / "rock.raw", SHAPE, "uint8").notes == ()

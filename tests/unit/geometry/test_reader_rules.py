"""Which values are fluid, and resampling to cubes."""

import numpy as np
import pytest

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.image import Image
from muphy_lb.geometry.images.rule import ImageRule
from muphy_lb.geometry.images.selection import Interval, otsu_threshold, to_cubes
from muphy_lb.geometry.voxels import FIRST_OPENING, FIRST_WALL, FLUID, SOLID

LINE = np.arange(6, dtype=np.uint8).reshape(1, 1, 6)


def fluid_of(rule, values=LINE):
    return np.flatnonzero(rule.voxels(values, 1.0).flags == FLUID).tolist()


@pytest.mark.parametrize(
    ("rule", "fluid"),
    [
        ({"fluid_value": (1, 4)}, [1, 4]),
        ({"fluid_above": 4}, [4, 5]),
        ({"fluid_below": 4}, [0, 1, 2, 3]),
        ({"fluid_above": 2, "fluid_below": 4}, [2, 3]),
    ],
    ids=str,
)
def test_several_values_or_a_half_open_range_can_be_fluid(rule, fluid):
    assert fluid_of(ImageRule(**rule)) == fluid


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (ImageRule(fluid_above=4, fluid_below=4), "fluid lies from the first up to the second"),
        (ImageRule(fluid_above=float("nan")), "fluid_above is nan; it must be a number"),
        (ImageRule(fluid_above=9), "fluid_above = 9 selects no voxel; the image holds 0 "),
        (ImageRule(otsu="inside"), "otsu is 'inside'; allowed: below, above"),
        (ImageRule(otsu="below", fluid_below=3), "either thresholds or otsu"),
        (ImageRule(otsu="below", fluid_value=3), "both given"),
        (ImageRule(resample_m=-1.0), "resample_m is -1.0"),
        (ImageRule(spacing_m="wide"), "spacing_m = .* must be three finite lengths"),
        (ImageRule(origin_m=3.0), "origin_m = 3.0; it must be three finite lengths"),
        (ImageRule(fluid_below="half"), "fluid_below is 'half'; it must be a number"),
        (ImageRule(spacing_m=(1.0, 2.0)), "three finite lengths"),
        (ImageRule(spacing_m=(1.0, 2.0, float("inf"))), "three finite lengths"),
        (ImageRule(spacing_m=(1.0, 2.0, 0.0)), "must be above zero"),
    ],
)
def test_rules_without_meaning_are_refused(rule, message):
    with pytest.raises(GeometryError, match=message):
        rule.voxels(LINE, 1.0)


def exhaustive_otsu(values):
    """The threshold of largest variance between classes by trying all integers."""

    def variance(t):
        low, high = values[values < t], values[values >= t]
        return low.size * high.size * (low.mean() - high.mean()) ** 2

    return max(range(int(values.min()) + 1, int(values.max()) + 1), key=variance)


def test_otsu_is_the_threshold_of_largest_variance_between_classes():
    random = np.random.default_rng(3)
    values = np.concatenate((random.normal(80, 12, 3000), random.normal(150, 25, 1000))).clip(0, 255).astype(np.uint8)
    assert otsu_threshold(values.reshape(10, 20, 20)) == exhaustive_otsu(values.astype(float))


def test_otsu_of_floats_agrees_with_that_of_integers():
    values = np.repeat([10, 11, 12, 60, 61], [5, 9, 4, 7, 3]).reshape(1, 4, 7)
    assert otsu_threshold(values * 0.1) == pytest.approx(3.6, abs=0.01) and otsu_threshold(values) == 37


def test_otsu_says_the_threshold_that_it_found():
    noted = ImageRule(otsu="above").segment(Image(np.where(LINE < 2, 10, 90), (1.0, 1.0, 1.0)))
    assert noted.notes == ("Otsu: fluid where the value is above 51",) and noted.voxels.n_fluid == 4


def test_otsu_needs_two_values():
    with pytest.raises(GeometryError, match="otsu needs grey values that differ"):
        ImageRule(otsu="below").voxels(np.zeros((1, 2, 2)), 1.0)


def ball(spacing, radius):
    """Signed distance from a ball in a box of edge 2, as an Image of voxels of ``spacing`` (x, y, z)."""
    n = np.rint(2.0 / np.array(spacing)).astype(int)
    x, y, z = (np.arange(n[a]) * spacing[a] + spacing[a] / 2 - 1.0 for a in range(3))
    distance = np.sqrt(z[:, None, None] ** 2 + y[:, None] ** 2 + x**2) - radius
    return Image(distance, spacing, tuple(s / 2 - 1.0 for s in spacing))


def test_a_resampled_level_set_keeps_its_volume():
    voxels = ImageRule(fluid_below=0.0).segment(ball((0.05, 0.05, 0.1), 0.7)).voxels
    assert voxels.shape == (40, 40, 40)
    assert voxels.n_fluid * voxels.spacing_m**3 == pytest.approx(4 / 3 * np.pi * 0.7**3, rel=0.01)


def test_a_huge_far_field_does_not_eat_the_fluid():
    image = ball((0.05, 0.05, 0.1), 0.7)
    far = Image(np.where(image.values > 0, 1e38, np.where(image.values < -0.05, -0.05, image.values)), image.spacing_m)
    voxels = ImageRule(fluid_below=0.0).segment(far).voxels
    assert voxels.n_fluid * voxels.spacing_m**3 == pytest.approx(4 / 3 * np.pi * 0.7**3, rel=0.1)


def test_a_level_set_known_inside_only_keeps_its_volume():
    image = ball((0.05, 0.05, 0.1), 0.7)
    inside = Image(np.where(image.values > 0, 1e38, image.values), image.spacing_m)
    voxels = ImageRule(fluid_below=0.0).segment(inside).voxels
    assert voxels.n_fluid * voxels.spacing_m**3 == pytest.approx(4 / 3 * np.pi * 0.7**3, rel=0.02)


def test_linear_resampling_is_exact_for_a_linear_field():
    x, y, z = np.arange(5), 2.0 * np.arange(4), 3.0 * np.arange(6)
    values = 1.0 * x + 10.0 * y[:, None] + 100.0 * z[:, None, None]
    cubes = to_cubes(Image(values, (1.0, 2.0, 3.0)), None, Interval(1.0, 700.0))
    at = [cubes.origin_m[a] + np.arange(cubes.values.shape[2 - a]) for a in range(3)]
    wanted = at[0] + 10.0 * at[1][:, None] + 100.0 * at[2][:, None, None]
    inside = (slice(1, -1), slice(1, -1))  # the outer half voxels take the value of the outermost
    np.testing.assert_allclose(cubes.values[:][inside], wanted[inside], rtol=1e-6)


def test_labels_are_resampled_to_the_nearest():
    values = np.arange(2, dtype=np.uint8).reshape(2, 1, 1) * np.ones((2, 3, 4), np.uint8)
    voxels = ImageRule().segment(Image(values, (1.0, 1.0, 3.0))).voxels
    assert voxels.flags[:, 0, 0].tolist() == [SOLID] * 3 + [FLUID] * 3


def test_cubes_fill_the_box_of_the_image_and_resampling_is_stated():
    noted = ImageRule().segment(Image(np.ones((2, 3, 4), np.uint8), (1.0, 1.0, 3.0), (10.0, 20.0, 30.0)))
    voxels = noted.voxels
    assert (voxels.shape, voxels.spacing_m) == ((6, 3, 4), 1.0)
    assert voxels.origin_m == pytest.approx((10.0, 20.0, 29.0))
    assert noted.notes == ("resampled: 4 x 3 x 2 voxels of 1 x 1 x 3 m to 4 x 3 x 6 cubes of 1 m (nearest)",)


def test_cubes_can_be_resampled_to_another_length():
    voxels = ImageRule(resample_m=0.5).segment(Image(np.ones((2, 3, 4), np.uint8), (1.0, 1.0, 1.0))).voxels
    assert (voxels.shape, voxels.spacing_m) == ((4, 6, 8), 0.5)


def test_cubes_larger_than_the_image_are_refused():
    image = Image(np.ones((12, 12, 12), np.uint8), (5e-6,) * 3)
    assert ImageRule(resample_m=3e-5).segment(image).voxels.shape == (2, 2, 2)
    with pytest.raises(GeometryError, match="cubes of 1 m are larger than the image, 6e-05 x 6e-05 x 6e-05 m"):
        ImageRule(resample_m=1.0).segment(image)


def test_labelled_images_are_resampled_to_the_nearest_even_with_a_threshold():
    values = np.array([9, 1, 1, 5], np.uint8).reshape(1, 1, 4).repeat(2, 0).repeat(2, 1)
    rule = ImageRule(fluid_below=4, opening_values={"inlet": 9}, wall_values={"end": 5})
    flags = rule.segment(Image(values, (2.0, 1.0, 1.0))).voxels.flags
    assert flags[0, 0].tolist() == [FIRST_OPENING] * 2 + [FLUID] * 4 + [FIRST_WALL] * 2


def test_one_length_for_voxels_that_are_no_cubes_is_refused():
    with pytest.raises(GeometryError, match="1 x 1 x 3 m, which are not cubic: leave it out, give resample_m"):
        ImageRule(spacing_m=1.0).segment(Image(np.ones((2, 3, 4), np.uint8), (1.0, 1.0, 3.0)))


def test_a_spacing_in_place_of_the_files_is_stated():
    noted = ImageRule(spacing_m=2.0).segment(Image(np.ones((2, 3, 4), np.uint8), (3.0, 3.0, 3.0)))
    assert noted.notes == ("spacing: 2 x 2 x 2 m as given, in place of the file's 3 x 3 x 3 m",)


def test_absurd_spacings_do_not_make_absurd_images():
    with pytest.raises(GeometryError, match="more than 64 per voxel; correct spacing_m"):
        ImageRule().segment(Image(np.ones((2, 3, 4), np.uint8), (1e-9, 1.0, 1e9)))


def test_two_dimensional_images_do_not_mind_the_thickness_of_their_layer():
    assert ImageRule().segment(Image(np.ones((1, 3, 4), np.uint8), (1.0, 1.0, 5.0))).voxels.shape == (1, 3, 4)

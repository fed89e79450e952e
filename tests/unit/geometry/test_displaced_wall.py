"""Walls that are moved by a distance and by a random field."""

import numpy as np
import pytest

from muphy_lb.geometry.displaced_wall import WallDisplacement
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.load import load_voxels, load_with_notes
from muphy_lb.geometry.voxels import FLUID
from tests.unit.geometry import surfaces
from tests.unit.geometry.test_surface import write_stl

RADIUS, LENGTH, SPACING = 5.0, 20.0, 0.5


@pytest.fixture(scope="module")
def tube(tmp_path_factory):
    """A closed tube of 5 mm radius along z, as a file."""
    return write_stl(tmp_path_factory.mktemp("tube") / "tube.stl", surfaces.tube(RADIUS, LENGTH, n_sides=96))


def area_mm2(voxels) -> float:
    """Area of the section in the middle [mm2]."""
    return float((voxels.flags[voxels.shape[0] // 2] == FLUID).sum()) * SPACING**2


@pytest.mark.parametrize("moved_mm", [-1.2, 0.3, 1.7])
def test_the_wall_of_a_surface_moves_by_the_distance(tube, moved_mm):
    """The area of a section is that of the other radius, to a tenth of a voxel; the tube stays as long."""
    still, moved = (
        load_voxels(tube, unit="mm", spacing_m=SPACING * 1e-3, wall_moved_m=d * 1e-3) for d in (0.0, moved_mm)
    )
    assert np.sqrt(area_mm2(moved) / np.pi) == pytest.approx(RADIUS + moved_mm, abs=0.1 * SPACING)
    lengths = [np.any(voxels.flags == FLUID, axis=(1, 2)).sum() for voxels in (still, moved)]
    assert lengths[0] == lengths[1] == round(LENGTH / SPACING)


@pytest.mark.parametrize("moved", [-2, 1, 3])
def test_the_wall_of_an_image_moves_by_whole_voxels(tmp_path, moved):
    """A duct of 10 x 12 voxels: faces move by the distance, corners outwards along a quarter of a circle."""
    image = np.ones((24, 24, 6), np.uint8)
    image[6:16, 6:18] = 0
    np.save(tmp_path / "duct.npy", image)
    fluid = load_voxels(tmp_path / "duct.npy", spacing_m=1e-3, fluid_value=0, wall_moved_m=moved * 1e-3).flags == FLUID
    assert fluid[:, 11, 3].sum() == 10 + 2 * moved and fluid[11, :, 3].sum() == 12 + 2 * moved
    assert np.array_equal(fluid[..., 0], fluid[..., 5]), "a wall does not move into the faces of the box"


def test_cut_links_see_parts_of_a_voxel(tmp_path):
    """The wall of a duct that is moved by a fifth of a voxel cuts links at 0.7 of their length, and not at 0.5."""
    image = np.ones((12, 12, 4), np.uint8)
    image[3:9, 3:9] = 0
    np.save(tmp_path / "duct.npy", image)
    voxels, notes = load_with_notes(tmp_path / "duct.npy", spacing_m=1.0, fluid_value=0, wall_moved_m=0.2)
    assert "; 0 voxels changed sides: half-way walls stay where they were; take lattice.walls" in notes[-1]
    found = voxels.wall_shape.distances(np.array([[2.0, 5.0, 3.0]]), np.array([0, 0, -1]))
    assert found == pytest.approx([0.7])


@pytest.mark.parametrize("periodic", ["", "x", "xy", "xyz"])
def test_cut_links_see_the_wall_behind_a_face_that_repeats(tmp_path, periodic):
    """A plane of solid at the upper end of x: the fluid at the lower end meets it where x repeats, and nothing else."""
    image = np.zeros((4, 5, 6), np.uint8)
    image[:, :, -1] = 1
    np.save(tmp_path / "slit.npy", image)
    options = {"periodic": periodic} if periodic else {}
    voxels = load_voxels(tmp_path / "slit.npy", spacing_m=1.0, fluid_value=0, wall_moved_m=0.2, **options)
    starts = np.array([[0.0, 4.0, 3.0], [4.0, 4.0, 3.0]])
    found = [voxels.wall_shape.distances(starts, np.array([x, 1, 1]))[n] for n, x in enumerate((-1, 1))]
    assert found == pytest.approx([0.7 if periodic else np.nan, 0.7], nan_ok=True)


@pytest.mark.parametrize(
    ("options", "is_solid"),
    [
        ({}, False),
        ({"periodic": "x"}, True),
        ({"periodic": "y"}, False),
        ({"periodic": "x", "mirror": "x"}, False),
        ({"periodic": "x", "crop": [[0, 0, 0], [5, 5, 4]]}, False),
        ({"periodic": "x", "reservoir_layers": 2, "reservoir_ends": "periodic"}, False),
    ],
)
def test_a_wall_moves_into_the_next_box_where_the_ends_meet(tmp_path, options, is_solid):
    """A plane of solid at the upper end of x, moved inwards by more than half a voxel, fills the layer at the lower end
    only where that is its neighbour."""
    image = np.zeros((4, 5, 6), np.uint8)
    image[:, :, -1] = 1
    np.save(tmp_path / "slit.npy", image)
    voxels = load_voxels(tmp_path / "slit.npy", spacing_m=1.0, fluid_value=0, wall_moved_m=-0.7, **options)
    lower_end = voxels.flags[:, :, options.get("reservoir_layers", 0)]
    assert np.all((lower_end == FLUID) != is_solid)


def test_a_random_field_has_its_variance_and_its_length():
    """Over 200 seeds at two points: variances within 4 standard errors, and the covariance of their distance."""
    length, amplitude = 3e-3, 2e-4
    points = np.array([[0.0, 0.0, 0.0], [length, 0.0, 0.0]])
    drawn = np.array(
        [
            WallDisplacement(wall_rough_m=amplitude, wall_rough_length_m=length, wall_rough_seed=seed).at_m(points)
            for seed in range(200)
        ]
    )
    assert drawn.mean(axis=0) == pytest.approx([0.0, 0.0], abs=4.0 * amplitude / 200.0**0.5)
    covariance = np.cov(drawn.T) / amplitude**2
    assert covariance == pytest.approx(
        np.array([[1.0, np.exp(-0.5)], [np.exp(-0.5), 1.0]]), abs=4.0 * np.sqrt(2.0) / 200.0**0.5
    )


def test_the_same_seed_moves_the_wall_of_every_grid_alike(tube):
    rough = {"wall_rough_m": 6e-4, "wall_rough_length_m": 4e-3, "wall_rough_seed": 5}
    coarse, fine = (load_voxels(tube, unit="mm", spacing_m=edge, **rough) for edge in (5e-4, 2.5e-4))
    volumes = [voxels.n_fluid * voxels.spacing_m**3 for voxels in (coarse, fine)]
    assert volumes[0] == pytest.approx(volumes[1], rel=0.01)
    still = load_voxels(tube, unit="mm", spacing_m=5e-4)
    assert coarse.n_fluid != still.n_fluid


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"wall_moved_m": "much"}, "wall_moved_m is 'much'; it must be a number"),
        ({"wall_rough_m": 1e-4}, "without wall_rough_length_m"),
        ({"wall_rough_m": -1e-4, "wall_rough_length_m": 1.0}, "it must be 0 or more"),
        ({"wall_moved_m": -1.0}, "no fluid is left"),
        ({"wall_movd_m": 0.1}, "did you mean 'wall_moved_m'"),
        ({"displacement": 1}, "unknown name 'displacement'"),
    ],
)
def test_impossible_displacements_are_refused(tmp_path, options, told):
    np.save(tmp_path / "duct.npy", np.zeros((4, 4, 4), np.uint8))
    image = np.ones((8, 8, 4), np.uint8)
    image[2:6, 2:6] = 0
    np.save(tmp_path / "duct.npy", image)
    with pytest.raises(GeometryError, match=told):
        load_voxels(tmp_path / "duct.npy", spacing_m=0.5, fluid_value=0, **options)


def test_a_shape_with_openings_is_refused():
    with pytest.raises(GeometryError, match="openings already"):
        load_voxels("shape:branching_vessel", spacing_m=1e-3, wall_moved_m=1e-3, parent_radius_m=4e-3)


@pytest.mark.parametrize("moved_mm", [-5.5, -11.0])
def test_a_wall_that_would_pass_through_itself_is_refused(tube, moved_mm):
    with pytest.raises(GeometryError, match=r"farther than the vessel is wide.*100% of it"):
        load_voxels(tube, unit="mm", spacing_m=SPACING * 1e-3, wall_moved_m=moved_mm * 1e-3)

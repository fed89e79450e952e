"""The picture shows the vessel where it is, in colours of its speed."""

import numpy as np
import pytest
from matplotlib.cm import ScalarMappable
from matplotlib.colors import to_rgba
from matplotlib.image import imread

from muphy_lb.base.errors import OutputError
from muphy_lb.case.output import OutputSection
from muphy_lb.geometry.nodes import chosen_nodes
from muphy_lb.geometry.voxels import Opening
from muphy_lb.measure import pictures
from muphy_lb.measure.pictures import FlowPicture
from muphy_lb.measure.shear.fields import STRESS_FIELDS
from muphy_lb.output.pictures import projection, vessel
from muphy_lb.output.pictures.cut import Sight, best_cut, upright_raster
from muphy_lb.output.pictures.panels import GRAINS
from muphy_lb.output.pictures.projection import MARGIN, best_camera, coarse_volume, is_rock, render_vessel
from muphy_lb.output.pictures.theme import DARK, THEMES, ThemedFigure, chosen_theme
from muphy_lb.output.pictures.vessel import Presentation, draw_vessel, fill_figure
from muphy_lb.output.pictures.wall import UNCOUNTED, Marks, draw_walls
from tests.unit.output.conftest import node_list

MAX_BYTES = 1_000_000


@pytest.fixture
def few_pixels(monkeypatch):
    """Where it is not asked which they are."""
    monkeypatch.setattr(vessel, "N_RENDER_PIXELS", 200)


def grey(speed_m_s):
    """(..., 4) colours equal to the speed."""
    return np.stack((speed_m_s, speed_m_s, speed_m_s, np.ones_like(speed_m_s)), axis=-1)


def tube_speed(tube):
    """(n,) parabolic speed, 1 on the axis."""
    _, y, z = (tube.coordinates() - 6.5).T
    return 1.0 - (y**2 + z**2) / 36.0


@pytest.mark.parametrize("geometry", ["tube", "sheet", "blob"])
def test_picture_is_a_small_png_that_is_not_blank(tmp_path, geometry, request):
    nodes = request.getfixturevalue(geometry)
    draw_vessel(tmp_path / "p.png", nodes, np.linspace(0.0, 1.0, nodes.n_nodes), "title")
    image = imread(tmp_path / "p.png")
    assert image.shape[1] == 1950 and image[..., :3].std() > 0.02
    assert (tmp_path / "p.png").stat().st_size < MAX_BYTES


@pytest.mark.usefixtures("few_pixels")
@pytest.mark.parametrize("speed", [0.0, np.nan, 1e-30])
def test_fluid_at_rest_or_diverged_can_be_drawn(tmp_path, tube, speed):
    draw_vessel(tmp_path / "p.png", tube, np.full(tube.n_nodes, speed))
    assert (tmp_path / "p.png").exists()


@pytest.mark.usefixtures("few_pixels")
def test_a_single_node_can_be_drawn(tmp_path):
    draw_vessel(tmp_path / "p.png", node_list(np.ones((2, 1, 1), dtype=bool)), np.ones(2))
    assert (tmp_path / "p.png").exists()


@pytest.mark.usefixtures("few_pixels")
def test_many_openings_can_be_drawn(tmp_path, tube):
    many = tuple(Opening(f"o{k}", "outlet", (0.1 + 1e-3 * k, 0.2, 0.3), (0, 0, 1), 1e-3) for k in range(40))
    draw_vessel(tmp_path / "p.png", type(tube)(**{**vars(tube), "openings": many}), tube_speed(tube))
    assert (tmp_path / "p.png").exists()


def test_a_missing_folder_is_told(tmp_path, sheet):
    with pytest.raises(OutputError, match="none"):
        draw_vessel(tmp_path / "none" / "p.png", sheet, np.ones(sheet.n_nodes))


def test_the_body_covers_the_projected_nodes_and_little_more(tube):
    view = render_vessel(tube, tube_speed(tube), grey, 300)
    left, right, bottom, top = view.extent_m
    n_rows, n_columns = view.image.shape[:2]
    place = view.project(tube.positions_m())
    column = ((place[:, 0] - left) / (right - left) * n_columns).astype(int)
    row = ((place[:, 1] - bottom) / (top - bottom) * n_rows).astype(int)
    assert view.image[row, column, 3].min() == 1.0
    covered_m2 = (view.image[..., 3] > 0.5).mean() * (right - left) * (top - bottom)
    cells = np.unique(np.floor(place / tube.spacing_m).astype(int), axis=0)
    assert covered_m2 < 1.15 * len(cells) * tube.spacing_m**2


def test_the_wall_shows_the_speed_of_the_axis_not_of_the_wall(tube, monkeypatch):
    seen = []
    mappable = ScalarMappable()
    render_vessel(tube, tube_speed(tube), lambda speed: (seen.append(speed), mappable.to_rgba(speed))[1], 200)
    assert np.median(seen[0]) > 0.9


def test_a_mark_of_a_whole_face_lies_beyond_the_body(tube):
    view = render_vessel(tube, tube_speed(tube), grey, 200)
    inside = view.project((0.12, 0.2065, 0.3065))
    edge = view.beyond_body(inside, view.project((1.0, 0.0, 0.0)))
    end = view.project((0.14, 0.2065, 0.3065))
    assert np.linalg.norm(edge - end) < 6 * tube.spacing_m


def test_the_cut_runs_along_the_tube_through_its_middle(tube):
    cut = best_cut(tube, tube_speed(tube))
    assert cut.axis in (1, 2) and cut.values.shape == (12, 40)
    assert np.nanmax(cut.values) == pytest.approx(1.0, abs=0.02)


def test_the_cut_holds_the_speed_at_its_place(sheet):
    speed = np.arange(sheet.n_nodes, dtype=float)
    cut = best_cut(sheet, speed)
    x, y, _ = sheet.coordinates().T
    np.testing.assert_array_equal(cut.values[y, x], speed)
    assert np.isnan(cut.values[4, 10])


def test_the_cut_extends_to_the_faces_of_the_voxels(sheet):
    assert best_cut(sheet, np.ones(sheet.n_nodes)).extent_m == pytest.approx((0.0995, 0.1395, 0.1995, 0.2095))


def bent_tube():
    """A thin tube that runs along x, y, z and x again: no plane holds more than two of its four legs."""
    fluid = np.zeros((40, 40, 40), dtype=bool)
    fluid[:4, :4, :] = fluid[:4, :, 36:] = fluid[:, 36:, 36:] = fluid[36:, 36:, :] = True
    return node_list(fluid)


def test_a_vessel_that_no_plane_shows_is_seen_whole():
    nodes = bent_tube()
    speed = np.random.default_rng(0).random(nodes.n_nodes)
    cut = best_cut(nodes, speed)
    assert cut.position_m is None and np.array_equal(np.isfinite(cut.values), cut.shadow)
    assert np.nanmax(cut.values) == speed.max()
    columns = np.unique(nodes.coordinates()[:, list(cut.in_plane)], axis=0)
    assert np.isfinite(cut.values).sum() == len(columns)


def test_a_rock_is_cut_even_where_the_plane_shows_little():
    fluid = np.random.default_rng(0).random((20, 20, 20)) < 0.2
    cut = best_cut(node_list(fluid), np.ones(fluid.sum()))
    assert cut.position_m is not None and np.isfinite(cut.values).mean() < 0.4


def peak_below(nodes, speed, point, normal):
    """Highest speed that the picture shows at a point of the surface, in voxels from the first node."""
    volume = coarse_volume(nodes, speed)
    point = np.array(point) + MARGIN
    deepest = projection.depth_allowed(point, np.array(normal), volume.discs)
    return projection.peak_inwards(volume.channels, point, np.array(normal), deepest)


def test_a_dome_does_not_show_what_flows_beyond_its_middle():
    x, y, z = np.mgrid[:31, :31, :31]
    ball = node_list((x - 15) ** 2 + (y - 15) ** 2 + (z - 15) ** 2 <= 15.5**2)
    depth = ball.coordinates()[:, 2] - ball.coordinates()[:, 2].min()
    speed = np.where(depth > 20, 1.0, 0.1)
    assert peak_below(ball, speed, (15.0, 15.0, 0.0), (0.0, 0.0, -1.0)) == pytest.approx(0.1)
    assert peak_below(ball, speed, (15.0, 15.0, 30.0), (0.0, 0.0, 1.0)) == pytest.approx(1.0)


def test_the_cap_of_an_opening_shows_the_flow_through_it_and_the_wall_beside_it_that_of_the_axis(tube):
    x = tube.coordinates()[:, 0]
    speed = np.where(x - x.min() > 4, 1.0, 0.1) * tube_speed(tube)
    centre = tuple(np.array(tube.positions_m().min(axis=0)) + tube.spacing_m * np.array([-0.5, 5.5, 5.5]))
    end = Opening("o", "outlet", centre, (1.0, 0.0, 0.0), 6 * tube.spacing_m)
    closed, opened = (type(tube)(**{**vars(tube), "openings": openings}) for openings in ((), (end,)))
    at_cap, of_cap = (0.0, 5.5, 5.5), (-1.0, 0.0, 0.0)
    assert peak_below(closed, speed, at_cap, of_cap) > 0.9
    assert peak_below(opened, speed, at_cap, of_cap) < 0.15
    assert peak_below(opened, speed, (12.0, 5.5, 0.0), (0.0, 0.0, -1.0)) > 0.9


def test_wall_nodes_that_do_not_count_are_grey(tmp_path, tube):
    counted = tube.coordinates()[:, 0] > 20
    for name, mask in (("all", None), ("some", counted)):
        draw_walls(tmp_path / f"{name}.png", tube, tube_speed(tube), "stress [Pa]", Marks(tube.openings, mask))
    grey = np.array([int(UNCOUNTED[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    share = {
        name: np.all(np.abs(imread(tmp_path / f"{name}.png")[..., :3] - grey) < 0.01, axis=-1).mean()
        for name in ("all", "some")
    }
    assert share["all"] < 0.001 < 0.02 < share["some"]


def test_pores_of_a_block_are_a_rock_and_vessels_and_full_boxes_are_not(tube):
    pores = np.random.default_rng(0).random((16, 16, 16)) < 0.4
    assert is_rock(node_list(pores))
    assert not is_rock(tube) and not is_rock(bent_tube()) and not is_rock(node_list(np.ones((16, 16, 16), bool)))


def test_the_grains_of_a_rock_are_grey_on_the_block_and_fluid_has_the_colour_of_its_speed():
    fluid = np.zeros((24, 24, 24), dtype=bool)
    fluid[::2, ::2, ::2] = fluid[:, :, 12:] = True
    nodes = node_list(fluid)
    assert is_rock(nodes)
    volume = coarse_volume(nodes, np.ones(nodes.n_nodes))
    result = np.zeros(projection.N_RESULTS, dtype=np.float32)
    for x, solid in ((4.0, True), (20.0, False)):
        projection.describe_hit(volume.channels, np.array([x, 12.0, 0.0]) + MARGIN, volume.discs, result)
        assert (result[projection.SOLID] > 0.5) == solid


@pytest.mark.usefixtures("few_pixels")
@pytest.mark.parametrize("style", THEMES)
def test_pictures_have_the_ground_of_their_style(tmp_path, tube, style):
    draw_vessel(tmp_path / "p.png", tube, tube_speed(tube), "title", Presentation(theme=THEMES[style]))
    draw_walls(tmp_path / "w.png", tube, tube_speed(tube), "stress [Pa]", Marks(tube.openings, theme=THEMES[style]))
    for name in ("p.png", "w.png"):
        corner = imread(tmp_path / name)[0, 0, :3]
        assert (corner > 0.99).all() == (style == "light") and (corner < 0.2).all() == (style == "dark")


@pytest.mark.parametrize(("name", "begins"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", None)])
def test_a_picture_may_be_written_for_papers_beside_its_png(tmp_path, name, begins):
    theme = chosen_theme(OutputSection(picture_style="light", picture_format=name))
    sheet = node_list(np.ones((1, 6, 12), dtype=bool))
    draw_vessel(tmp_path / "picture.png", sheet, np.ones(72), "title", Presentation(theme=theme))
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert files.pop("picture.png").startswith(b"\x89PNG") and set(files) == {f"picture.{name}"} - {"picture.png"}
    assert all(content.startswith(begins) for content in files.values())
    assert {"picture.png", f"picture.{name}"} <= set(FlowPicture.files)


TANK = (12, 24, 48)  # along z, y, x
BLOCK = np.zeros(TANK, dtype=bool)
BLOCK[4:8, :6, 28:32] = True


@pytest.mark.parametrize(
    ("up", "in_plane", "is_downwards"),
    [
        ((0, 1, 0), (0, 1), False),
        ((0.1, -0.9, 0), (0, 1), True),
        ((0, 0, 1), (0, 2), False),
        ((1, 0, 0), (1, 0), False),
    ],
)
def test_an_upright_cut_has_the_vertical_in_it(up, in_plane, is_downwards):
    room = node_list(~BLOCK)
    raster = upright_raster(room, room, Sight(np.array(up, dtype=float)))
    cut = raster.image(np.arange(room.n_nodes, dtype=float))
    assert cut.in_plane == in_plane and cut.is_downwards == is_downwards
    assert cut.values.shape == tuple(TANK[2 - axis] for axis in in_plane[::-1])
    assert np.array_equal(cut.room, np.isfinite(cut.values))


def test_an_upright_cut_goes_through_its_point_and_tells_solid_from_room_without_fluid():
    room = node_list(~BLOCK)
    is_wet = room.coordinates()[:, 1] < 3
    wet = chosen_nodes(room, room.voxel[is_wet])
    through_m = np.asarray(room.origin_m) + room.spacing_m * np.array([40, 2, 5])
    cut = upright_raster(wet, room, Sight(np.array([0.0, 1.0, 0.0]), through_m)).image(np.ones(wet.n_nodes))
    assert cut.position_m == pytest.approx(through_m[2])
    assert np.array_equal(~cut.room, BLOCK[5]) and np.array_equal(
        np.isfinite(cut.values), ~BLOCK[5] & (np.arange(24)[:, None] < 3)
    )


def test_an_upright_cut_through_a_point_without_fluid_goes_through_the_fluid():
    room = node_list(~BLOCK)
    wet = chosen_nodes(room, room.voxel[room.coordinates()[:, 2] < 3])
    cut = upright_raster(wet, room, Sight(np.array([0.0, 1.0, 0.0]), np.full(3, 1e9))).image(np.ones(wet.n_nodes))
    assert np.isfinite(cut.values).any()


@pytest.mark.parametrize("up", [(0, 1, 0), (0, -1, 0), (1, 0, 0), (0, 0, -1), (0, 0, 1)])
def test_the_body_is_seen_upright(up):
    sight = Sight(np.array(up, dtype=float))
    right, upwards, forward = best_camera(np.argwhere(np.ones((9, 5, 30))), sight.turned())
    assert right @ up == pytest.approx(0.0) and upwards @ up > 0.9 and forward @ up < 0.0
    assert np.linalg.det(sight.turned()) == pytest.approx(1.0)


def test_solid_is_grey_below_fluid_and_room_without_it_is_not():
    room = node_list(~BLOCK)
    wet = chosen_nodes(room, room.voxel[room.coordinates()[:, 1] < 3])
    through_m = np.asarray(room.origin_m) + room.spacing_m * np.array([40, 2, 6])
    how = Presentation(sight=Sight(np.array([0.0, -1.0, 0.0]), through_m), room=room)
    figure = ThemedFigure(DARK)
    fill_figure(figure, wet, np.ones(wet.n_nodes), "", how)
    flat = figure.get_axes()[1]
    assert flat.yaxis_inverted() and "grey: solid" in flat.get_title(loc="left")
    solid, empty, *_ = flat.get_images()
    assert solid.cmap(0.0) == to_rgba(GRAINS) and np.array_equal(
        np.isfinite(np.ma.filled(empty.get_array(), np.nan)), ~BLOCK[6]
    )


def test_a_package_that_is_missing_is_told_by_who_draws_alone(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(pictures.importlib, "import_module", missing)
    pictures._import_drawing()


def test_pictures_of_tensors_have_the_values_of_the_fields_of_their_magnitude():
    """They had T:T, so that a stress was drawn 1.41 times as large as the field shear_stress has it."""
    numbers = np.concatenate((np.random.default_rng(4).normal(size=(6, 5)), np.full((1, 5), 0.7)))
    for tensor, scalar in (("stress", "shear_stress"), ("strain_rate", "shear_rate")):
        name, values = vessel.as_scalar(tensor, STRESS_FIELDS[tensor].of_numbers(numbers).T)
        assert name == scalar and values == pytest.approx(STRESS_FIELDS[scalar].of_numbers(numbers))

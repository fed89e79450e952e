import numpy as np
import pytest

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.shapes.catalogue import square_duct
from muphy_lb.geometry.tagged import FIXED_TAGS, read_tagged
from muphy_lb.geometry.voxels import FIRST_OPENING, FLUID, SOLID, WALL, opening_flag, wall_flag

TEXT = """# a channel one voxel wide
5 3 1 solid   # header
spacing_m 0.5
origin_m 1 2 3
periodic z

0 1 0 inlet:left
1 1 0 fluid
2 1 0 fluid
3 1 0 fluid
4 1 0 outlet
2 0 0 wall
"""


def write_tagged(path, voxels):
    """Write voxels as tagged nodes; every voxel that is not solid gets its line.

    Centre, normal and radius of the openings are not written: :func:`read_tagged` estimates them again.
    """
    names = {flag: tag for tag, flag in FIXED_TAGS.items()}
    names |= {opening_flag(k): f"{o.kind}:{o.name}" for k, o in enumerate(voxels.openings)}
    names |= {wall_flag(k): f"wall:{name}" for k, name in enumerate(voxels.walls)}
    nz, ny, nx = voxels.shape
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{nx} {ny} {nz} solid\nspacing_m {voxels.spacing_m!r}\n")
        file.write("origin_m " + " ".join(map(repr, map(float, voxels.origin_m))) + "\n")
        if any(voxels.periodic):
            file.write("periodic " + "".join(np.array(list("xyz"))[list(voxels.periodic)]) + "\n")
        listed = np.argwhere(voxels.flags != SOLID).tolist()
        file.writelines(f"{x} {y} {z} {names[int(voxels.flags[z, y, x])]}\n" for z, y, x in listed)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "channel.tags"
    path.write_text(TEXT)
    return path


def test_tags_become_flags(path):
    row = [FIRST_OPENING, FLUID, FLUID, FLUID, FIRST_OPENING + 1]
    expected = [[[SOLID, SOLID, WALL, SOLID, SOLID], row, [SOLID] * 5]]
    np.testing.assert_array_equal(read_tagged(path).flags, expected)


def test_box_lines_are_obeyed(path):
    voxels = read_tagged(path)
    assert (voxels.spacing_m, voxels.origin_m, voxels.periodic) == (0.5, (1.0, 2.0, 3.0), (False, False, True))


def test_an_opening_keeps_its_name_or_takes_its_kind(path):
    assert [(o.name, o.kind) for o in read_tagged(path).openings] == [("left", "inlet"), ("outlet", "outlet")]


def test_centre_is_the_mean_of_the_opening_voxels(path):
    assert [o.centre_m for o in read_tagged(path).openings] == [(1.0, 2.5, 3.0), (3.0, 2.5, 3.0)]


def test_normal_points_into_the_fluid(path):
    left, right = read_tagged(path).openings
    np.testing.assert_allclose([left.normal, right.normal], [(1, 0, 0), (-1, 0, 0)], atol=1e-12)


def test_the_default_tag_fills_the_box(tmp_path):
    path = tmp_path / "all.tags"
    path.write_text("2 3 4 fluid\nspacing_m 1\n")
    assert read_tagged(path).n_fluid == 24


def test_writing_and_reading_gives_the_same_flags(tmp_path):
    voxels = square_duct(length=6, side=3, spacing_m=0.1, ends="open")
    write_tagged(tmp_path / "duct.tags", voxels)
    again = read_tagged(tmp_path / "duct.tags")
    np.testing.assert_array_equal(again.flags, voxels.flags)
    assert (again.spacing_m, again.origin_m, again.periodic) == (voxels.spacing_m, voxels.origin_m, voxels.periodic)


def test_writing_and_reading_recovers_straight_normals(tmp_path):
    voxels = square_duct(length=6, side=3, ends="open")
    write_tagged(tmp_path / "duct.tags", voxels)
    again = read_tagged(tmp_path / "duct.tags")
    np.testing.assert_allclose([o.normal for o in again.openings], [o.normal for o in voxels.openings], atol=1e-12)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("1 1 fluid", "not x y z tag"),
        ("1 1 x fluid", "'x' is not a whole number"),
        ("9 1 0 fluid", r"\(9, 1, 0\) lies outside the box 5 x 3 x 1"),
        ("-1 1 0 fluid", "outside the box"),
        ("0 0 0 water", "tag 'water'; allowed: solid, fluid, wall, inlet, outlet"),
        ("0 0 0 fluid:left", "tag 'fluid:left'"),
        ("1 1 0 solid", "listed before"),
        ("spacing_m 1 2", "it needs 1"),
        ("periodic w", "periodic is 'w'"),
    ],
)
def test_errors_name_the_line(path, line, text):
    path.write_text(TEXT + line + "\n")
    with pytest.raises(GeometryError, match=f"line 13: .*{text}"):
        read_tagged(path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        *((header, "line 1: ") for header in ("5 3 1", "0 3 1 solid", "5 3 1 inlet", "a b c solid")),
        ("# nothing\n", "is empty"),
        ("3 1 1 solid\nspacing_m 1\n0 0 0 inlet\n2 0 0 fluid\n", "tagged 'inlet' have no fluid"),
        ("2 3 4 fluid\n", "does not contain its voxel edge; add the line: spacing_m 1e-4"),
        (None, "cannot read"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path, text, told):
    if text is not None:
        (tmp_path / "x.tags").write_text(text)
    with pytest.raises(GeometryError, match=told):
        read_tagged(tmp_path / "x.tags")


def test_a_wall_with_a_name_is_labelled(tmp_path):
    path = tmp_path / "lid.tags"
    path.write_text("3 3 1 fluid\nspacing_m 1\n0 2 0 wall\n1 2 0 wall:lid\n2 2 0 wall:stent\n0 0 0 wall:lid\n")
    voxels = read_tagged(path)
    assert voxels.walls == ("lid", "stent")
    assert voxels.flags[0, 2].tolist() == [WALL, wall_flag(0), wall_flag(1)] and voxels.flags[0, 0, 0] == wall_flag(0)


def test_labelled_walls_are_written_and_read_back(tmp_path):
    (tmp_path / "a.tags").write_text("2 2 1 fluid\nspacing_m 1\n1 0 0 wall:b\n1 1 0 wall:a\n")
    voxels = read_tagged(tmp_path / "a.tags")
    write_tagged(tmp_path / "b.tags", voxels)
    assert read_tagged(tmp_path / "b.tags").walls == voxels.walls

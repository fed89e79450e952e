import itertools
import struct
import time

import numpy as np
import pytest

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.surfaces.mend import mend
from muphy_lb.geometry.surfaces.surface import Surface, diagnose, fill_rows, read_surface, voxelise
from muphy_lb.geometry.voxels import FLUID
from tests.unit.geometry.surfaces import FACES, box, octahedron, rotated, sphere


def write_stl(path, surface):
    facets = np.zeros(
        len(surface.triangles), dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("unused", "<u2")]
    )
    facets["corners"] = surface.points[surface.triangles]
    path.write_bytes(bytes(80) + np.uint32(len(facets)).tobytes() + facets.tobytes())
    return path


def volume(voxels):
    return voxels.n_fluid * voxels.spacing_m**3


def positions(voxels):
    return np.array(voxels.origin_m) + voxels.spacing_m * np.argwhere(voxels.flags == FLUID)[:, ::-1]


def test_voxels_of_a_box_fill_it_exactly_and_their_centres_lie_inside():
    assert volume(voxelise(box(), 0.125)) == pytest.approx(6.0, rel=1e-12)
    inside = positions(voxelise(box(), 0.125))
    assert inside.min() > 0.0
    assert np.all(inside < (1.0, 2.0, 3.0))
    assert volume(voxelise(box(metres_per_unit=1e-3), 1.25e-4)) == pytest.approx(6e-9)


def test_volume_of_a_sphere_is_met_within_half_a_percent():
    surface = sphere(1.0)
    assert volume(voxelise(surface, 0.05)) == pytest.approx(diagnose(surface).volume_m3, rel=5e-3)


def test_rays_through_vertices_and_edges_count_once():
    # Rows of voxel centres run exactly through four edges and two vertices of this octahedron.
    inside = positions(voxelise(octahedron(2.5), 1.0))
    grid = np.array([c for c in itertools.product(range(-2, 3), repeat=3) if np.abs(c).sum() < 2.5], dtype=float)
    assert {tuple(p) for p in np.round(inside, 9).tolist()} == {tuple(p) for p in grid.tolist()}


@pytest.mark.parametrize("angle", [0.1, 0.7, 2.0])
def test_voxels_of_a_turned_box_are_those_inside_it(angle):
    surface, rotation = rotated(box(), angle=angle)
    voxels = voxelise(surface, 0.1)
    zyx = np.indices(voxels.shape).reshape(3, -1).T
    local = (np.array(voxels.origin_m) + 0.1 * zyx[:, ::-1]) @ rotation
    inside = np.all((local > 0.0) & (local < (1.0, 2.0, 3.0)), axis=1)
    np.testing.assert_array_equal(voxels.flags.ravel() == FLUID, inside)


def test_inward_winding_gives_the_same_voxels():
    surface = sphere(1.0, 2)
    turned = Surface(surface.points, surface.triangles[:, ::-1], 1.0)
    np.testing.assert_array_equal(voxelise(turned, 0.1).flags, voxelise(surface, 0.1).flags)


@pytest.mark.parametrize("margin", [2, 5])
def test_the_margin_is_solid(margin):
    flags = voxelise(box(), 0.25, margin).flags
    inside = np.argwhere(flags == FLUID)
    np.testing.assert_array_equal(inside.min(axis=0), [margin] * 3)
    np.testing.assert_array_equal(np.array(flags.shape) - 1 - inside.max(axis=0), [margin] * 3)


OPEN_BOX = Surface(box().points * 10, FACES[2:], 1e-3)
OF_THREE = Surface(box().points, np.vstack((FACES, [0, 1, 7])), 1.0)
FAR_AWAY = Surface(octahedron(0.05).points + (3, 3, 3), octahedron(1).triangles, 1.0)


@pytest.mark.parametrize(
    ("surface", "how", "told"),
    [
        (box(), (0.25, 1), "margin is 1"),
        (OPEN_BOX, (1e-3,), r"4 boundary edges .* \(5, 10, 0\) = \(0.005, 0.01, 0\) m.*flat caps"),
        (OF_THREE, (0.1,), "edges of more than two triangles"),
        (FAR_AWAY, (10.0, 2), r"spacing_m = 10 gives no fluid voxel in a surface of 0.1 x 0.1 x 0.1 m"),
        (box((100.0, 100.0, 100.0)), (1e-4,), "check the unit"),  # before memory is taken
        *((box(), (spacing_m,), "spacing_m is") for spacing_m in (0.0, -1.0, float("nan"))),
    ],
    ids=["thin margin", "hole", "edge of three", "no fluid", "wrong unit", "zero", "negative", "NaN"],
)
def test_what_has_no_voxels_is_refused(surface, how, told):
    with pytest.raises(GeometryError, match=told):
        voxelise(surface, *how)


def test_rows_that_cross_a_surface_an_odd_number_of_times_are_counted():
    # One square facing x: the 3 x 3 rows that meet it end inside.
    square = np.array(
        [[[2.2, 0.5, 0.5], [2.2, 3.5, 0.5], [2.2, 3.5, 3.5]], [[2.2, 0.5, 0.5], [2.2, 3.5, 3.5], [2.2, 0.5, 3.5]]]
    )
    every = np.tile(np.arange(2), 5)
    assert fill_rows(np.zeros((5, 5, 5), np.uint8), square, np.arange(0, 11, 2), every) == 9


def test_diagnosis_of_a_closed_box():
    report = diagnose(box(metres_per_unit=0.1))
    assert report.is_closed
    assert report.winding == "outward"
    assert report.n_triangles == 12
    assert report.volume_m3 == pytest.approx(6e-3)
    np.testing.assert_allclose(report.box_m, [(0, 0, 0), (0.1, 0.2, 0.3)])


def test_diagnosis_knows_inward_and_mixed_winding():
    inward = FACES[:, ::-1]
    mixed = np.vstack((FACES[:1, ::-1], FACES[1:]))
    assert [diagnose(Surface(box().points, t, 1.0)).winding for t in (inward, mixed)] == ["inward", "mixed"]


def test_every_hole_is_one_loop():
    report = diagnose(Surface(box().points, FACES[4:], 1.0))
    assert report.n_boundary_edges == 8
    np.testing.assert_allclose(sorted(report.loop_centres.tolist()), [(0.5, 1, 0), (0.5, 1, 3)])


def test_binary_stl_is_welded(tmp_path):
    surface = read_surface(write_stl(tmp_path / "box.stl", box()), "mm")
    assert surface.points.shape == (8, 3)
    assert diagnose(surface).volume_m3 == pytest.approx(6e-9)


def stl_text(end_of_loop="endloop"):
    """A box as text."""
    facets = [
        " facet normal 0 0 0\n  outer loop\n"
        + "".join(f"   vertex {x} {y} {z}\n" for x, y, z in box().points[corners])
        + f"  {end_of_loop}\n endfacet\n"
        for corners in FACES
    ]
    return f"solid a facet of vertex 7\n{''.join(facets)}endsolid a facet of vertex 7\n"


def stl_bytes(n_stated=12, behind=b""):
    """A box as a binary file, whose header begins like a text."""
    facets = [struct.pack("<12fH", 0, 0, 0, *box().points[corners].ravel(), 0) for corners in FACES]
    return b"solid box".ljust(80) + struct.pack("<I", n_stated) + b"".join(facets) + behind


QUADS = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]


def obj_text(corner=lambda k: f"{k + 1}/{k + 5}/{k + 3}", gap=" "):
    """A box with more texture points and fewer normals than points."""
    lines = ["# a box", "o box", *(f"v {x} {y} {z} 1 0 0" for x, y, z in box().points)]
    lines += ["vt 0.5 0.5"] * 14 + ["vn 0 0 1"] * 6 + ["s off", "usemtl none"]
    return "\n".join([*lines, *(f"f {gap.join(map(corner, quad))}" for quad in QUADS)]) + "\n"


def ply(form, polygons=QUADS):
    """A box with colours at its points, and its polygons between texture lists and a number; bytes."""
    struct_of = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}[form]
    lines = ["ply", f"format {form} 1.0", "comment a box", "element vertex 8", *(f"property float {a}" for a in "xyz")]
    lines += ["property uchar red", f"element face {len(polygons)}", "property list uchar float texcoord"]
    lines += ["property list uchar int vertex_index", "property int texnumber", "element edge 1", "property int a"]
    rows = [("fffB", [*point, 255]) for point in box().points.tolist()]
    for k, polygon in enumerate(polygons):
        rows.append(("B2fB" + "i" * len(polygon) + "i", [2, 0.5, 0.25, len(polygon), *polygon, k]))
    if form == "ascii":
        body = "".join(" ".join(map(str, values)) + "\n" for _, values in [*rows, ("", [0])]).encode()
    else:
        body = b"".join(struct.pack(struct_of + kinds, *values) for kinds, values in [*rows, ("i", [0])])
    return "\n".join([*lines, "end_header\n"]).encode() + body


DIALECTS = {
    "upper case.stl": stl_text().upper(),
    "end loop.stl": stl_text(end_of_loop="end loop"),
    "CR line ends.stl": stl_text().replace("\n", "\r"),
    "a mark of UTF-8.stl": "\ufeff" + stl_text(),
    "bytes behind.stl": stl_bytes(behind=bytes(37)),
    "more texture points than points.obj": obj_text(),
    "numbers from the end.obj": obj_text(lambda k: f"{k - 8}//{k - 6}"),
    "lines that continue.obj": obj_text(gap=" \\\n  "),
    "CRLF.obj": obj_text(gap=" \\\n").replace("\n", "\r\n"),
    **{f"{form}.ply": ply(form) for form in ("ascii", "binary_little_endian", "binary_big_endian")},
    "ragged.ply": ply("binary_little_endian", [*QUADS[:5], [1, 3, 7], [1, 7, 5]]),
    "ragged text.ply": ply("ascii", [*QUADS[:5], [1, 3, 7], [1, 7, 5]]),
    "CRLF text.ply": ply("ascii").replace(b"\n", b"\r\n"),
}


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_of_a_format_gives_the_same_box(tmp_path, name):
    content = DIALECTS[name]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    surface = read_surface(tmp_path / name, "m")
    report = diagnose(surface)
    assert (report.n_triangles, report.is_closed) == (12, True)
    assert report.volume_m3 == pytest.approx(6.0)
    assert mend(surface).notes == (("37 bytes after the 12 triangles of the file are ignored",) * ("bytes" in name))


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("more.stl", stl_bytes(55866), "header says 55866 triangles, the file has 12"),
        ("fewer.stl", stl_bytes(11), "header says 11 triangles, the file has 12"),
        ("cut.stl", stl_text()[:-60], "a facet does not have three vertices"),
        ("word.stl", stl_text().replace("vertex 1.0", "vertex one", 1), "a coordinate of a vertex is not a number"),
        ("zero.obj", obj_text(str), "line 33 is 'f 0 2 3 1'; the corners .* counted from 1"),
        ("word.obj", obj_text().replace("v 1.0", "v one", 1), "line 4 is 'v one .*; a point must be three numbers"),
        ("list.ply", ply("ascii").replace(b"\n2 0.5", b"\n99 0.5", 1), "list 'texcoord' is to have 99 values"),
        ("cut.ply", ply("binary_little_endian")[:-100], "it is truncated"),
        ("many.ply", ply("ascii").replace(b"face 6", b"face 9999"), "header says 9999 of element 'face'"),
        ("half.ply", ply("ascii").replace(b"4 0 2 3 1", b"4 0 2 3.5 1"), "not the number of a point"),
        ("pointer.stl", "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n", "with: git lfs pull"),
        ("page.ply", "\n<!DOCTYPE HTML>\n<html>sign in</html>", "a web page"),
    ],
)
def test_what_is_odd_about_a_file_is_said(tmp_path, name, content, problem):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(GeometryError, match=f"cannot read .*{name}: .*{problem}"):
        read_surface(tmp_path / name, "m")


@pytest.mark.parametrize("ending", [".stl", ".obj", ".ply"])
@pytest.mark.parametrize("content", [b"", b"\xff\x00garbage" * 40, b"solid x\nfacet normal 0 0"])
def test_broken_files_are_one_clear_error(tmp_path, ending, content):
    path = tmp_path / f"broken{ending}"
    path.write_bytes(content)
    with pytest.raises(GeometryError, match="cannot read"):
        read_surface(path, "m")


def test_a_missing_surface_is_refused(tmp_path):
    with pytest.raises(GeometryError, match="cannot read .*No such file"):
        read_surface(tmp_path / "nothing.stl", "m")


def test_an_unknown_unit_names_the_units(tmp_path):
    with pytest.raises(GeometryError, match="unit is 'inch'; allowed: m, cm, mm, um"):
        read_surface(tmp_path / "box.stl", "inch")


@pytest.mark.speed
def test_voxels_are_made_at_more_than_a_hundred_million_a_minute():
    surface = sphere(1.0, 5)
    voxelise(surface, 0.1)
    start = time.perf_counter()
    voxels = voxelise(surface, 0.004)
    assert voxels.flags.size / (time.perf_counter() - start) > 1e8 / 60

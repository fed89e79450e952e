"""VTK polygonal data: the surface that was written is read, however it was stored; broken files are one clear error."""

import numpy as np
import pytest

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.load import load_voxels
from muphy_lb.geometry.openings.find import openings_of_surface
from muphy_lb.geometry.surfaces.mend import mend
from muphy_lb.geometry.surfaces.readers import read_vtp
from muphy_lb.geometry.surfaces.surface import diagnose, read_surface
from tests.unit.geometry.surfaces import FACES, box, tube
from tests.unit.geometry.vtp import STORAGES, write_vtp

QUADS = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
POINTS = box().points


def volume_m3(path, unit="m"):
    report = diagnose(read_surface(path, unit))
    assert report.is_closed and report.winding == "outward"
    return report.volume_m3


@pytest.mark.parametrize("storage", STORAGES)
def test_points_and_triangles_survive_every_storage(tmp_path, storage):
    points, triangles, *_ = read_vtp(write_vtp(tmp_path / "box.vtp", POINTS, FACES.tolist(), storage=storage))
    np.testing.assert_array_equal(points, POINTS)
    np.testing.assert_array_equal(triangles, FACES)


def test_triangles_and_quads_may_be_mixed(tmp_path):
    mixed = [*QUADS[:5], [1, 3, 7], [1, 7, 5]]
    assert volume_m3(write_vtp(tmp_path / "box.vtp", POINTS, mixed)) == pytest.approx(6.0)


def test_strips_are_cut_into_triangles_wound_alike(tmp_path):
    around = [1, 0, 3, 2, 7, 6, 5, 4, 1, 0]
    path = write_vtp(tmp_path / "box.vtp", POINTS, [[0, 4, 6, 2], [1, 3, 7, 5]], strips=[around])
    assert volume_m3(path) == pytest.approx(6.0)


def test_pieces_are_put_together(tmp_path):
    report = diagnose(read_surface(write_vtp(tmp_path / "box.vtp", POINTS, QUADS, n_pieces=2), "m"))
    assert report.is_closed and report.n_parts == 2


def test_vtp_surfaces_are_an_input_of_lengths_in_the_unit_given(tmp_path):
    path = write_vtp(tmp_path / "box.vtp", POINTS, QUADS, storage="appended zlib")
    assert volume_m3(path, "mm") == pytest.approx(6e-9)
    assert load_voxels(path, unit="m", spacing_m=0.25).n_fluid == 6 * 4**3


def test_elements_with_ranges_inside_an_array_are_passed_over(tmp_path):
    path = write_vtp(tmp_path / "box.vtp", POINTS, QUADS)
    key = b'<InformationKey name="L2_NORM_RANGE"><Value index="0">7</Value></InformationKey>'
    path.write_bytes(path.read_bytes().replace(b"</DataArray>", key + b"</DataArray>"))
    assert volume_m3(path) == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        (b'NumberOfPoints="8"', b'NumberOfPoints="9000000000000"', "NumberOfPoints is '9000000000000'"),
        (b'NumberOfPolys="6"', b'NumberOfPolys="-6"', "NumberOfPolys is '-6'"),
        (b'NumberOfPolys="6"', b'NumberOfPolys="5"', "holds 6 numbers"),
        (b"0 2 3 1", b"0 2 3 8", "Polys names the points 0 to 8; there are 8"),
        (b"0 2 3 1", b"0 -2 3 1", "Polys names the points -2"),
        (b"4 8 12", b"8 4 12", "offsets of Polys do not increase"),
        (b'Name="offsets"', b'Name="starts"', "Polys has no connectivity or no offsets"),
        (b"PolyData>", b"ImageData>", "not PolyData"),
        (b"0.0 0.0 3.0", b"0.0 nan 3.0", "1 coordinates are not finite"),
    ],
)
def test_wrong_contents_are_one_clear_error(tmp_path, old, new, match):
    path = write_vtp(tmp_path / "box.vtp", POINTS, QUADS)
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new))
    with pytest.raises(GeometryError, match=match):
        read_surface(path, "m")


def test_a_file_without_polygons_is_refused(tmp_path):
    with pytest.raises(GeometryError, match="holds no triangle"):
        read_surface(write_vtp(tmp_path / "box.vtp", POINTS, []), "m")


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.9])
def test_truncated_files_are_one_clear_error(tmp_path, storage, share):
    path = write_vtp(tmp_path / "box.vtp", POINTS, QUADS, storage=storage)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(GeometryError, match=r"box\.vtp"):
        read_surface(path, "m")


@pytest.mark.parametrize("storage", STORAGES)
def test_numbers_of_faces_are_read_for_polygons_and_strips(tmp_path, storage):
    polygons, strips = [[0, 2, 3, 1], [4, 5, 7]], [[0, 1, 4, 5]]
    ids = [("ModelFaceID", np.array([3, 5, 8], np.int32))]
    read = read_vtp(write_vtp(tmp_path / "box.vtp", POINTS, polygons, strips, storage, 2, ids))
    assert read.faces.tolist() == 2 * [3, 3, 5, 8, 8]


def test_a_cap_that_is_a_face_of_the_model_keeps_its_number_as_name(tmp_path):
    surface = tube(n_sides=24)  # 48 triangles of caps behind those of the wall
    faces = np.full(len(surface.triangles), 1)
    faces[-48:-24], faces[-24:] = 2, 7
    path = write_vtp(
        tmp_path / "tube.vtp", surface.points, surface.triangles.tolist(), cell_data=[("ModelFaceID", faces)]
    )
    found = openings_of_surface(mend(read_surface(path, "m")))
    assert {item.opening.name: round(item.opening.centre_m[2]) for item in found} == {"face_2": 0, "face_7": 6}
    faces[-48:] = 1
    write_vtp(path, surface.points, surface.triangles.tolist(), cell_data=[("ModelFaceID", faces)])
    found = openings_of_surface(mend(read_surface(path, "m")))
    assert {item.opening.name for item in found} == {"inlet", "outlet_1"}

"""What the fuzzer found once: these damages are one clear error, at once and without the memory that they ask for."""

import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from PIL import Image as Picture

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.load import load_with_notes
from muphy_lb.geometry.surfaces.mend import mend
from muphy_lb.geometry.surfaces.surface import Surface, read_surface
from tests.unit.geometry.surfaces import FACES, box
from tests.unit.geometry.test_gmy import duct
from tests.unit.geometry.test_limits import refused

MOST_BYTES = 30e6


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_list_of_tiff_pages_that_leads_out_of_the_file_is_not_cut_short(tmp_path, share):
    path = tmp_path / "image.tif"
    pages = [Picture.fromarray(page) for page in np.ones((6, 8, 10), np.uint8)]
    pages[0].save(path, save_all=True, append_images=pages[1:], compression="tiff_lzw")
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    refused("image.tif: it is not a readable TIFF file .* truncated", path)


@pytest.mark.parametrize(("numbers", "n_notes"), [((1, 2, 3, 5), 1), ((1, 2, 3, 4), 0), ((10, 20, 30), 0), ((8, 9), 0)])
def test_a_page_that_a_folder_lacks_is_told(tmp_path, numbers, n_notes):
    for number in numbers:
        Picture.fromarray(np.ones((8, 10), np.uint8)).save(tmp_path / f"page{number}.tif")
    notes = load_with_notes(tmp_path, spacing_m=1.0).notes
    assert len(notes) == n_notes and all("from page3.tif to page5.tif by 2" in note for note in notes)


def test_a_ply_header_without_an_end_is_not_searched_for_ever(tmp_path):
    (tmp_path / "box.ply").write_text("ply\nformat ascii 1.0\n")
    refused("box.ply: it has no line end_header", tmp_path / "box.ply", unit="m", spacing_m=1)


def write_obj(path, *faces):
    points = [f"v {x} {y} {z}" for x, y, z in box().points]
    path.write_text("\n".join([*points, *faces]) + "\n")
    return path


@pytest.mark.parametrize("number", [9, -20])
def test_faces_with_points_that_are_not_there_are_refused(tmp_path, number):
    with pytest.raises(GeometryError, match="its polygons name the points .*; there are 8"):
        read_surface(write_obj(tmp_path / "box.obj", "f 1 2 3", f"f 1 2 {number}"), "m")


def test_faces_of_one_corner_are_no_triangles(tmp_path):
    with pytest.raises(GeometryError, match="it holds no triangle"):
        read_surface(write_obj(tmp_path / "box.obj", "f 1", "f 2"), "m")


def test_what_a_parser_repeats_of_a_broken_file_is_cut(tmp_path):
    (tmp_path / "box.stl").write_bytes(b"solid\0" + bytes(range(1, 32)) * 100)
    with pytest.raises(GeometryError) as error:
        read_surface(tmp_path / "box.stl", "m")
    assert len(str(error.value)) < len(str(tmp_path)) + 300


@pytest.mark.parametrize(
    ("points", "triangles"),
    [(np.outer(range(3), (1.0, 1.0, 1.0)), [[0, 1, 2]]), (box().points, [*FACES[:2], *FACES[:2]])],
    ids=["a needle", "a sheet on itself"],
)
def test_surfaces_of_which_mending_leaves_nothing_are_refused(points, triangles):
    with pytest.raises(GeometryError, match="the surface is flat"):
        mend(Surface(points, np.array(triangles), 1.0))


def test_a_box_of_tagged_nodes_beyond_any_memory_is_refused(tmp_path):
    (tmp_path / "box.tags").write_text("100000 100000 1000 solid\n1 1 1 fluid\n")
    refused("box.tags, line 1: the box is 100000 x 100000 x 1000; at most", tmp_path / "box.tags")


@pytest.mark.parametrize(
    ("place", "words"), [(12, (2**32 - 1,) * 3), (24, (2**32 - 1,)), (24, (2000,)), (40, (2**31,))]
)
def test_huge_headers_of_a_gmy_cost_no_memory(tmp_path, place, words):
    content = bytearray(duct())
    struct.pack_into(f">{len(words)}I", content, place, *words)
    (tmp_path / "duct.gmy").write_bytes(content)
    tracemalloc.start()
    refused("duct.gmy", tmp_path / "duct.gmy", spacing_m=1e-4)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MOST_BYTES


def test_a_block_of_a_gmy_inflates_to_no_more_than_its_sites_need(tmp_path):
    packed = zlib.compress(bytes(2**26))
    head = duct()[:12] + struct.pack(">5I", 1, 1, 1, 4, 0)
    tracemalloc.start()
    for n_plain in (2**26, 64 * 4):
        (tmp_path / "bomb.gmy").write_bytes(head + struct.pack(">3I", 64, len(packed), n_plain) + packed)
        refused("bomb.gmy: .* bytes", tmp_path / "bomb.gmy", spacing_m=1e-4)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MOST_BYTES


def test_a_page_without_data_is_not_taken_for_the_page_before(tmp_path):
    path = tmp_path / "image.tif"
    pages = [Picture.fromarray(np.full((8, 10), k, np.uint8)) for k in range(3)]
    pages[0].save(path, save_all=True, append_images=pages[1:], compression="tiff_lzw")
    content = bytearray(path.read_bytes())
    place = struct.unpack_from("<I", content, 4)[0]
    for _ in range(2):
        n = struct.unpack_from("<H", content, place)[0]
        place = struct.unpack_from("<I", content, place + 2 + 12 * n)[0]
    offsets = content.index(struct.pack("<H", 273), place)
    struct.pack_into("<H", content, offsets, 65000)
    path.write_bytes(content)
    refused("image.tif, page 3", path, spacing_m=1.0)


def test_a_tree_whose_vessels_all_melt_together_is_refused():
    refused("blend = 24", "shape:branching_vessel", blend=24.0, spacing_m=1.0)

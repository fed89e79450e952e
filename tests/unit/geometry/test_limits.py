"""Limits of inputs: memory is asked for before it is taken, only regular files are read, options have bounds."""

import base64
import os
import resource
import struct
import zlib

import numpy as np
import pytest
from PIL import Image as Picture

from muphy_lb.geometry import limits
from muphy_lb.geometry.__main__ import main
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.gmy import read_gmy
from muphy_lb.geometry.limits import ask_for, free_bytes, regular_file
from muphy_lb.geometry.load import load_voxels
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.shapes.catalogue import SHAPES, build_shape
from muphy_lb.geometry.voxels import Voxels
from tests.unit.geometry.surfaces import box
from tests.unit.geometry.test_gmy import duct

IMAGE = np.ones((6, 8, 10), np.int16)
DEVICE = "it is a pipe or a device"


@pytest.fixture
def image(tmp_path):
    """A small whole image, in voxels of a metre."""
    header = "NDims = 3\nElementSpacing = 1000 1000 1000\nDimSize = 10 8 6\nElementType = MET_SHORT\n"
    (tmp_path / "image.mha").write_bytes(f"{header}ElementDataFile = LOCAL\n".encode() + IMAGE.tobytes())
    return tmp_path / "image.mha"


@pytest.fixture
def little_memory(monkeypatch):
    """A machine with 64 MiB of free memory."""
    monkeypatch.setattr(limits, "free_bytes", lambda: 2**26)


def refused(match, path, **options):
    with pytest.raises(GeometryError, match=match):
        load_voxels(path, **options)


# Memory.


def test_what_is_free_is_granted_and_more_is_not():
    ask_for(1000, "a thousand bytes")
    with pytest.raises(GeometryError, match=r"the box needs .* GiB of memory; .* GiB are free: buy more"):
        ask_for(100 * free_bytes() + 2**30, "the box", "buy more")


def test_what_is_free_is_less_than_the_machine_has_and_than_the_process_is_granted():
    limit = resource.getrlimit(resource.RLIMIT_AS)
    free = free_bytes()
    assert 0 < free <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    used = os.sysconf("SC_PAGE_SIZE") * int(open("/proc/self/statm").read().split()[0])
    try:
        resource.setrlimit(resource.RLIMIT_AS, (used + free // 2, limit[1]))
        assert free_bytes() <= free // 2
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limit)


SHAPES_TOO_LARGE = [
    ("channel", {"length": 1e9}),
    ("square_duct", {"side": 1e9}),
    ("pipe", {"radius": 1e9}),
    ("stenosis", {"radius": 1e8}),
    ("nanopore", {"length": 1e9}),
    ("branching_vessel", {"spacing_m": 1e-12}),
    ("sphere_pack", {"size": 1e9}),
    ("random_spheres", {"size": 1e9}),
    ("blurred_noise", {"shape_zyx": [1, 1, 1e12]}),
    ("random_solid", {"shape_zyx": [1e6, 1e6, 1e6]}),
    ("tank", {"length": 1e9, "height": 1e9}),
    ("cavity", {"size": 1e9}),
    ("facing_walls", {"size": 1e9}),
    ("cylinder_array", {"size": 1e7}),
    ("sphere_array", {"size": 1e5}),
    ("tilted_pipe", {"radius": 1e9}),
    ("annulus", {"outer": 1e9}),
    ("obstacle_channel", {"spacing_m": 1e-10}),
    ("tunnel", {"size": 1e9}),
    ("circle", {"size": 1e9}),
    ("random_porous", {"size": 1e9}),
]


def test_every_shape_is_tried():
    assert {name for name, _ in SHAPES_TOO_LARGE} == SHAPES.keys()


@pytest.mark.parametrize(("name", "options"), SHAPES_TOO_LARGE)
def test_a_shape_beyond_memory_is_refused_before_it_is_made(name, options):
    with pytest.raises(GeometryError, match="the box of the shape, .* voxels, needs .* of memory"):
        build_shape(name, **options)


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("cavity", {"size": float("inf")}, "size is inf"),
        ("channel", {"length": 0.5}, "it is a number of voxels: give a whole one"),
        ("cavity", {"size": [64]}, r"size is \[64\]"),
        ("tilted_pipe", {"radius": float("inf")}, "radius is inf"),
        ("tilted_pipe", {"direction": [2**62, 1, 0]}, "direction is"),
        ("tilted_pipe", {"centre_offset": [1.0]}, "centre_offset is"),
        ("sphere_pack", {"radius": 1e-9}, "radius is 1e-09 .* spheres"),
        ("sphere_pack", {"seed": -1}, "seed is -1; give a whole number, 0 or more"),
        ("random_solid", {"seed": 1.5}, "seed is 1.5"),
        ("random_spheres", {"radius": 0.5}, "at most 20000 are taken"),
        ("cylinder_array", {"cells": 0.3}, "cells is 0.3"),
        ("sphere_array", {"size": 0.5, "radius": 2e9}, "it is a number of voxels: give a whole one"),
        ("obstacle_channel", {"cells_per_diameter": 0.5}, "cells_per_diameter is 0.5"),
        ("pipe", {"axis": 5}, "axis is 5; it must be a text"),
        ("channel", {"spacing_m": 1e-300}, "spacing is 1e-300"),
    ],
)
def test_options_of_shapes_have_bounds(name, options, text):
    with pytest.raises(GeometryError, match=text):
        build_shape(name, **options)


def test_a_box_of_tagged_nodes_that_nobody_listed_has_to_fit_into_memory(tmp_path, little_memory):
    (tmp_path / "box.tags").write_text("300 300 300 fluid\nspacing_m 1\n")
    refused("the box of .*box.tags, .* 300 x 300 x 300 voxels, needs 1.01 GiB", tmp_path / "box.tags")


def test_fluid_nodes_have_to_fit_into_memory(little_memory):
    with pytest.raises(GeometryError, match="the list of 4000000 fluid nodes needs"):
        build_nodes(Voxels(np.ones((200, 200, 100), np.uint8)))


def test_blocks_of_a_gmy_without_sites_have_to_fit_into_memory(tmp_path):
    one = zlib.compress(bytes(4 * 64**3))
    head = duct()[:12] + struct.pack(">5I", 32, 32, 32, 64, 0) + struct.pack(">3I", 0, 0, 0) * (32**3 - 1)
    (tmp_path / "wide.gmy").write_bytes(head + struct.pack(">3I", 1, len(one), 4 * 64**3) + one)
    with pytest.raises(GeometryError, match="the box of .*wide.gmy, 2048 x 2048 x 2048 voxels, needs 48 GiB"):
        read_gmy(tmp_path / "wide.gmy", 1e-4)


# Inflation.


def test_an_array_of_vtk_inflates_to_no_more_than_its_extent_needs(tmp_path):
    packed = zlib.compress(bytes(2**26))
    data = base64.b64encode(struct.pack("<4I", 1, 960, 0, len(packed))) + base64.b64encode(packed)
    (tmp_path / "bomb.vti").write_bytes(
        b'<VTKFile type="ImageData" byte_order="LittleEndian" compressor="vtkZLibDataCompressor">'
        b'<ImageData WholeExtent="0 9 0 7 0 5" Spacing="1 1 1"><Piece Extent="0 9 0 7 0 5"><PointData>'
        b'<DataArray type="Int16" Name="a" format="binary">' + data + b"</DataArray></PointData></Piece></ImageData>"
        b"</VTKFile>"
    )
    refused("bomb.vti: a block is to inflate to 960 bytes but holds more", tmp_path / "bomb.vti", unit="mm")


# Regular files.


@pytest.mark.parametrize(
    "ending", ["npy", "npz", "mha", "nii", "tif", "dcm", "vti", "tags", "xyz", "stl", "vtp", "gmy"]
)
def test_a_pipe_is_not_waited_for(tmp_path, ending):
    os.mkfifo(tmp_path / f"pipe.{ending}")
    options = {"vti": ("unit",), "stl": ("unit", "spacing_m"), "vtp": ("unit", "spacing_m")}
    options |= {"xyz": ("spacing_m",), "gmy": ("spacing_m",)}
    given = {name: {"unit": "m", "spacing_m": 1.0}[name] for name in options.get(ending, ())}
    refused(DEVICE, tmp_path / f"pipe.{ending}", **given)


@pytest.mark.parametrize("is_binary", ["True", "False"])
def test_data_are_not_read_from_a_device(tmp_path, is_binary):
    header = f"NDims = 3\nBinaryData = {is_binary}\nDimSize = 10 8 6\nElementType = MET_SHORT\n"
    (tmp_path / "image.mhd").write_text(f"{header}ElementDataFile = /dev/zero\n")
    refused(f"/dev/zero: {DEVICE}", tmp_path / "image.mhd")


def test_a_page_of_a_folder_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "page1.tif")
    refused(DEVICE, tmp_path)


@pytest.mark.parametrize("name", ["x" * 300 + ".mha", "a\0b.mha"])
def test_names_that_no_file_can_have_are_refused(name):
    with pytest.raises(GeometryError, match="cannot read"):
        regular_file(name)


# Headers and contents.


@pytest.mark.parametrize("pattern", ["%01000000d 1 1000000 1", "%c 1114112 1114119 1", "%d%d 1 6 1", "%d 1 6 0"])
def test_patterns_of_file_names_have_one_number_of_sane_width(tmp_path, pattern):
    header = "NDims = 3\nDimSize = 10 8 6\nElementType = MET_SHORT\n"
    (tmp_path / "image.mhd").write_text(f"{header}ElementDataFile = {pattern}\n")
    refused("a pattern looks like", tmp_path / "image.mhd")


@pytest.mark.parametrize("counts", ["(True, 48,10), }", "(-6, 8, 9), }   "])
def test_counts_of_a_header_are_no_truth_values_and_not_negative(tmp_path, counts):
    np.save(tmp_path / "image.npy", IMAGE)
    content = (tmp_path / "image.npy").read_bytes().replace(b"(6, 8, 10), }   ", counts.encode())
    (tmp_path / "image.npy").write_bytes(content)
    refused("image.npy: its header says shape", tmp_path / "image.npy")


def test_a_link_that_is_cut_nowhere_is_refused(tmp_path):
    content = bytearray(duct())
    n_blocks = int(np.prod(np.frombuffer(content[12:24], ">u4")))
    head = 32 + 12 * n_blocks
    table = np.frombuffer(content[32:head], ">u4").reshape(-1, 3).copy()
    first = zlib.decompress(content[head : head + int(table[0, 1])])
    words = np.frombuffer(first, ">f4").copy()
    words[(words > 0.1) & (words <= 1.0)] = np.nan
    packed = zlib.compress(words.tobytes())
    rest = content[head + int(table[0, 1]) :]
    table[0, 1] = len(packed)
    (tmp_path / "nan.gmy").write_bytes(content[:32] + table.tobytes() + packed + rest)
    refused("nan.gmy: a link is cut at nan of its length", tmp_path / "nan.gmy", spacing_m=1e-4)


@pytest.mark.parametrize("scale", [1e-38, 1e20])
def test_surfaces_of_no_sane_size_are_refused(tmp_path, scale):
    points = box().points * scale
    faces = "".join(f"f {' '.join(str(k + 1) for k in face)}\n" for face in box().triangles)
    text = "".join(f"v {x} {y} {z}\n" for x, y, z in points)
    (tmp_path / "box.obj").write_text(text + faces)
    refused("box.obj: its coordinates reach", tmp_path / "box.obj", unit="m", spacing_m=0.25)


def test_spheres_that_all_lie_over_each_other_are_refused(tmp_path):
    rows = np.c_[np.random.default_rng(1).random((3000, 3)) * 100, np.full(3000, 60.0)]
    np.savetxt(tmp_path / "many.xyz", rows, fmt="%.3f")
    refused("each voxel lies in or near to .* of the 3000 spheres", tmp_path / "many.xyz", spacing_m=1.0)


# Options and labels.


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"opening_values": 5}, "opening_values is 5; give a table of whole numbers"),
        ({"opening_values": {"inlet:=A1": 1}}, "the name of the opening 'inlet:=A1' is '=A1'; allowed: letters"),
        ({"wall_values": {"@SUM(1)": 1}}, r"the name of a wall is '@SUM\(1\)'"),
        ({"wall_values": {"a\nb": 1}}, "the name of a wall is"),
        ({"wall_values": {"a": 1.5}}, "wall_values is"),
        ({"periodic": 5}, "periodic is 5"),
        ({"resample_m": [1]}, r"resample_m is \[1\]"),
        ({"resample_m": float("inf")}, "resample_m is inf"),
        ({"fluid_value": "a"}, "fluid_value is 'a'"),
        ({"fluid_value": [1, [2]]}, "fluid_value is"),
        ({"fluid_below": [1]}, r"fluid_below is \[1\]; it must be a number"),
        ({"fluid_below": 10**400}, "fluid_below is 1000"),
        ({"unit": [1]}, r"unit is \[1\]; allowed: m, cm, mm, um"),
        ({"otsu": [1]}, "otsu is"),
        ({"spacing_m": "a"}, "spacing_m = 'a'; it must be three finite lengths"),
        ({"median": 10**12}, "median is 1000000000000"),
        ({"divide": 10**12}, "divide is 1000000000000"),
        ({"crop": [[0, 0], [1, [2]]]}, "crop is"),
    ],
)
def test_options_of_the_wrong_kind_are_named(image, options, text):
    refused(text, image, **options)


@pytest.mark.parametrize("tag", ["wall:=HYPERLINK(1)", "wall:a\0b", "inlet:+cmd|x", f"outlet:{'x' * 300}"])
def test_labels_of_tags_are_plain_names(tmp_path, tag):
    (tmp_path / "box.tags").write_text(f"5 5 5 solid\n1 1 1 fluid\n2 1 1 {tag}\n")
    refused("box.tags, line 3: the name in the tag .* allowed: letters, digits", tmp_path / "box.tags")


@pytest.mark.parametrize(
    "words",
    [
        ("--opening", "name='inlet"),
        ("--opening-value", "inlet:x=²"),
        ("--opening-value", "inlet:x=--5"),
        ("--wall-value", "lid=" + "9" * 5000),
        ("--shape-option", "a=" + "9" * 5000),
        ("--shape-option", "a=" + "[" * 20000),
        ("--opening", "name=a\nb kind=inlet centre_m=1,1,1 normal=0,0,1"),
        ("--opening", "name==A1 kind=inlet centre_m=1,1,1 normal=0,0,1"),
        ("--opening", "name=a kind=inlet centre_m=1,nan,1 normal=0,0,1"),
    ],
)
def test_words_of_the_command_line_end_in_one_message(image, capsys, words):
    assert main([str(image), "out.h5", *words]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and len(said) < 600


def test_pages_are_sorted_by_decimal_digits_only(tmp_path):
    for name in ("a²3.tif", "a1.tif", "a³.tif"):
        Picture.fromarray(IMAGE[0].astype(np.uint8)).save(tmp_path / name)
    assert load_voxels(tmp_path, spacing_m=1.0).shape == (3, 8, 10)


def test_what_is_quoted_is_cut_even_where_python_refuses_to_write_it():
    assert limits.shown("x" * 1000) == "'" + "x" * limits.MAX_SHOWN + "...'"
    assert limits.shown(10**5000) == "of type int, too long to quote"


def test_the_spacing_that_a_refusal_gives_is_taken():
    """Rounded to six digits, it was refused in turn with itself as the remedy."""
    with pytest.raises(GeometryError, match="does not divide the cylinder's diameter") as caught:
        build_shape("obstacle_channel", spacing_m=3.3e-3)
    told_m = float(str(caught.value).split()[-1])
    assert build_shape("obstacle_channel", spacing_m=told_m).spacing_m == pytest.approx(0.1 / 30)

"""Each format: the values and the place that were written are read; each axis goes where the header says."""

import struct

import numpy as np
import pytest
from PIL import Image as Picture

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.arrays import read_npz
from muphy_lb.geometry.images.nifti import read_nifti
from muphy_lb.geometry.images.nrrd import read_nrrd
from muphy_lb.geometry.images.tiff import read_tiff
from muphy_lb.geometry.images.vtk import read_vti, read_vtu
from muphy_lb.geometry.load import load_voxels
from muphy_lb.geometry.slabs import slabs
from muphy_lb.geometry.voxels import FLUID
from tests.unit.geometry.images import write_nifti, write_nrrd, write_vti

IMAGE = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
ROWS = [[0.5, 0, 0, 10], [0, 0.5, 0, 20], [0, 0, 0.5, 30]]


def values_of(image):
    """All values of an image, read slab by slab."""
    return np.concatenate([slab for _, slab in slabs(image.values)])


@pytest.mark.parametrize("name", ["image.nii", "image.nii.gz", "image.hdr"])
@pytest.mark.parametrize("order", ["<", ">"])
def test_nifti_values_survive_every_storage(tmp_path, name, order):
    image = read_nifti(write_nifti(tmp_path / name, IMAGE, order=order))
    np.testing.assert_array_equal(values_of(image), IMAGE)


def test_nifti_places_are_those_of_the_affine_in_metres(tmp_path):
    image = read_nifti(write_nifti(tmp_path / "image.nii", IMAGE, ROWS))
    assert image.spacing_m == pytest.approx((5e-4,) * 3) and image.origin_m == pytest.approx((0.01, 0.02, 0.03))


def test_nifti_states_its_unit(tmp_path):
    assert read_nifti(write_nifti(tmp_path / "image.nii", IMAGE, ROWS, units=3)).spacing_m == pytest.approx((5e-7,) * 3)


def test_nifti_voxels_lie_where_the_affine_puts_them(tmp_path):
    # x runs along -k, y along i, z along -j: voxel (i, j, k) lies at rows @ (i, j, k, 1).
    rows = np.array([[0, 0, -2, 10], [3, 0, 0, 20], [0, -4, 0, 30]], dtype=float)
    image = read_nifti(write_nifti(tmp_path / "image.nii", IMAGE, rows), unit="m")
    values = values_of(image)
    for k, j, i in np.ndindex(IMAGE.shape):
        x, y, z = np.rint((rows @ (i, j, k, 1) - image.origin_m) / image.spacing_m).astype(int)
        assert values[z, y, x] == IMAGE[k, j, i]


def test_nifti_q_forms_turn_the_axes(tmp_path):
    # The quaternion (0, 0, 0, 1) is half a turn about z.
    image = read_nifti(write_nifti(tmp_path / "image.nii", IMAGE, q_form=(0, 0, 1, 10, 20, 30)), unit="m")
    np.testing.assert_array_equal(values_of(image), IMAGE[:, ::-1, ::-1])
    assert image.origin_m == (10.0 - 3.0, 20.0 - 2.0, 30.0)


def test_nifti_2_headers_are_read(tmp_path):
    header = bytearray(544)
    struct.pack_into("<i4s", header, 0, 540, b"n+2\0")
    struct.pack_into("<2h", header, 12, 4, 16)
    struct.pack_into("<8q", header, 16, 3, 4, 3, 2, 1, 1, 1, 1)
    struct.pack_into("<8d", header, 104, 1, 0.5, 0.5, 0.5, 0, 0, 0, 0)
    struct.pack_into("<q", header, 168, 544)
    (tmp_path / "image.nii").write_bytes(bytes(header) + IMAGE.tobytes())
    image = read_nifti(tmp_path / "image.nii")
    np.testing.assert_array_equal(values_of(image), IMAGE)
    assert image.spacing_m == (5e-4,) * 3


def test_nifti_values_are_scaled_as_the_header_says(tmp_path):
    image = read_nifti(write_nifti(tmp_path / "image.nii", IMAGE, slope=(2.0, -5.0)))
    np.testing.assert_array_equal(values_of(image), 2.0 * IMAGE - 5.0)


def test_nifti_of_several_volumes_is_refused(tmp_path):
    with pytest.raises(GeometryError, match="holds several volumes"):
        read_nifti(write_nifti(tmp_path / "image.nii", IMAGE, dim=(4, 4, 3, 1, 2, 1, 1, 1)))


@pytest.mark.parametrize("encoding", ["raw", "gzip", "text"])
@pytest.mark.parametrize("data_file", [None, "voxels.dat"])
def test_nrrd_values_survive_every_storage(tmp_path, encoding, data_file):
    image = read_nrrd(write_nrrd(tmp_path / "image.nrrd", IMAGE, "", encoding, data_file))
    np.testing.assert_array_equal(values_of(image), IMAGE)


def test_nrrd_axes_that_are_reversed_are_turned_around(tmp_path):
    extra = 'space directions: (-2,0,0) (0,2,0) (0,0,2)\nspace origin: (10,20,30)\nspace units: "mm" "mm" "mm"\n'
    image = read_nrrd(write_nrrd(tmp_path / "image.nrrd", IMAGE, extra))
    np.testing.assert_array_equal(values_of(image), IMAGE[:, :, ::-1])
    assert image.origin_m == pytest.approx((0.004, 0.02, 0.03))


SPACES = {"left-posterior-superior": (1, 1), "RAS": (-1, -1), "left-anterior-superior": (1, -1), "": (1, 1)}


@pytest.mark.parametrize("space", SPACES)
def test_nrrd_spaces_become_left_posterior_superior(tmp_path, space):
    extra = f"space: {space}\n" if space else ""
    extra += "space directions: (2,0,0) (0,2,0) (0,0,2)\nspace origin: (10,20,30)\n"
    image = read_nrrd(write_nrrd(tmp_path / "image.nrrd", IMAGE, extra))
    values, signs = values_of(image), np.array((*SPACES[space], 1))
    for k, j, i in np.ndindex(IMAGE.shape):
        place = signs * (np.array((10, 20, 30)) + 2 * np.array((i, j, k))) * 1e-3
        x, y, z = np.rint((place - image.origin_m) / image.spacing_m).astype(int)
        assert values[z, y, x] == IMAGE[k, j, i]
    assert ("converted to x to the left" in " ".join(image.notes)) == (signs.min() < 0)


def test_a_left_handed_nrrd_is_not_mirrored_without_a_word(tmp_path):
    extra = "space: 3D-left-handed\nspace directions: (2,0,0) (0,2,0) (0,0,2)\n"
    path = write_nrrd(tmp_path / "image.nrrd", IMAGE, extra)
    with pytest.raises(
        GeometryError, match="space is '3D-left-handed', in which x, y, z mirror the image; give frame ="
    ):
        read_nrrd(path)
    np.testing.assert_array_equal(values_of(read_nrrd(path, frame="image")), IMAGE)


def test_nrrd_states_its_unit(tmp_path):
    extra = 'spacings: 2 2 2\nunits: "microns" "microns" "microns"\n'
    assert read_nrrd(write_nrrd(tmp_path / "image.nrrd", IMAGE, extra)).spacing_m == pytest.approx((2e-6,) * 3)


def test_nrrd_bytes_to_skip_are_skipped(tmp_path):
    path = write_nrrd(tmp_path / "image.nhdr", IMAGE, "byte skip: -1\n", data_file="voxels.dat")
    (tmp_path / "voxels.dat").write_bytes(b"a header of unknown length" + IMAGE.tobytes())
    np.testing.assert_array_equal(values_of(read_nrrd(path)), IMAGE)


def save_pages(path, pages, **options):
    first, *others = [Picture.fromarray(page) for page in pages]
    first.save(path, save_all=True, append_images=others, **options)
    return path


@pytest.mark.parametrize("compression", [None, "tiff_lzw", "tiff_adobe_deflate"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_tiff_pages_are_layers(tmp_path, compression, dtype):
    values = IMAGE.astype(dtype)
    image = read_tiff(save_pages(tmp_path / "stack.tif", values, compression=compression))
    np.testing.assert_array_equal(values_of(image), values)


def test_a_folder_of_tiff_files_is_read_in_the_order_of_their_numbers(tmp_path):
    for k in range(12):
        Picture.fromarray(np.full((3, 4), k, np.uint8)).save(tmp_path / f"slice{k}.tif")
    voxels = load_voxels(tmp_path, fluid_value=10, spacing_m=1.0)
    assert np.argwhere(voxels.flags == FLUID)[:, 0].tolist() == [10] * 12


def test_a_folder_without_tiff_files_is_refused(tmp_path):
    with pytest.raises(GeometryError, match="holds no file that ends with .tif"):
        load_voxels(tmp_path)


def test_tiff_pages_must_be_alike(tmp_path):
    path = save_pages(tmp_path / "stack.tif", [np.zeros((3, 4), np.uint8), np.zeros((3, 5), np.uint8)])
    with pytest.raises(GeometryError, match="page 2: 5 x 3 pixels .*must be equal"):
        load_voxels(path, fluid_value=0, spacing_m=1.0)


def test_tiff_of_colours_is_refused(tmp_path):
    with pytest.raises(GeometryError, match="one grey or label value per pixel"):
        read_tiff(save_pages(tmp_path / "stack.tif", [np.zeros((3, 4, 3), np.uint8)]))


def test_tiff_lengths_of_imagej_are_read(tmp_path):
    options = {"description": "ImageJ=1.53\nunit=micron\nspacing=3.0\n", "x_resolution": 0.5, "y_resolution": 0.5}
    image = read_tiff(save_pages(tmp_path / "stack.tif", [IMAGE[0].astype(np.uint8)], **options))
    assert image.spacing_m == pytest.approx((2e-6, 2e-6, 3e-6))


STACKS = {  # description of 12 pages, axes of their numbers (slowest first), options that choose
    "imagej": ("ImageJ=1.53\nimages=12\nchannels=2\nslices=3\nframes=2\n", "TZC", {"channel": 1, "time": 0}),
    "imagej channels": ("ImageJ=1.53\nimages=12\nchannels=2\nslices=6\nhyperstack=true\n", "ZC", {"channel": 0}),
    "ome": (
        '<?xml version="1.0" encoding="UTF-8"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image>'
        '<Pixels DimensionOrder="XYZTC" SizeX="4" SizeY="3" SizeZ="3" SizeC="2" SizeT="2" PhysicalSizeX="0.5"'
        ' PhysicalSizeY="0.5" PhysicalSizeYUnit="\u00b5m" PhysicalSizeZ="2000" PhysicalSizeZUnit="nm"><TiffData/>'
        "</Pixels></Image></OME>",
        "CTZ",
        {"channel": 1, "time": 1},
    ),
    "tifffile": ('{"shape": [2, 6, 3, 4]}', "CZ", {"channel": 1}),
    "tifffile axes": ('{"shape": [6, 2, 3, 4], "axes": "ZTYX"}', "ZT", {"time": 1}),
}


@pytest.mark.parametrize("name", STACKS)
def test_one_channel_and_time_of_a_tiff_stack_are_read_if_they_are_chosen(tmp_path, name):
    description, axes, chosen = STACKS[name]
    counts = {"C": 2, "T": 2, "Z": 12 // 2 ** len(chosen)}
    numbers = np.arange(12).reshape([counts[axis] for axis in axes])
    pages = np.arange(12, dtype=np.uint8)[:, None, None] * np.ones((3, 4), np.uint8)
    path = save_pages(tmp_path / "stack.tif", pages, description=description.encode("utf-8"))
    with pytest.raises(GeometryError, match=f"holds several volumes, 2 .*{'=0 '.join(chosen)}=0"):
        read_tiff(path)
    wanted = numbers[tuple(chosen.get({"C": "channel", "T": "time"}.get(axis), slice(None)) for axis in axes)]
    image = read_tiff(path, **chosen)
    assert values_of(image)[:, 0, 0].tolist() == wanted.tolist()
    assert image.spacing_m == ((5e-7, 5e-7, 2e-6) if name == "ome" else None)
    first = next(iter(chosen))
    with pytest.raises(GeometryError, match=f"{first} is 2; give a whole number, 0 or more, at most 1"):
        read_tiff(path, **(chosen | {first: 2}))


@pytest.mark.parametrize(
    ("description", "words"),
    [
        ("ImageJ=1.53\nimages=300\nslices=300\n", "holds 2 pages; its description says 300 layers"),
        ("ImageJ=1.53\nimages=2\nframes=2\n", r"2 times.*exchange them in ImageJ \(Image > Properties\)"),
        ("ImageJ=1.53\nimages=two\n", "its description has images = 'two'"),
        ('{"shape": [2, 3, 4], "axes": "RYX"}', "allowed: counts above zero along T, C, Z, Y, X"),
        ("<OME><Image><Pixels/></Image><Image><Pixels/></Image></OME>", r"several volumes \(2 images of OME-TIFF\)"),
        ("<OME><Image></OME>", "its description is not OME-XML"),
        ('<OME><Image><Pixels DimensionOrder="XYZZT"/></Image></OME>', "DimensionOrder is 'XYZZT'"),
        (
            '<OME><Image><Pixels DimensionOrder="XYZCT" SizeZ="2"><TiffData IFD="1"/></Pixels></Image></OME>',
            "do not name each of its 2 pages once",
        ),
    ],
)
def test_descriptions_of_tiff_that_do_not_fit_are_one_clear_error(tmp_path, description, words):
    path = save_pages(tmp_path / "stack.tif", np.zeros((2, 3, 4), np.uint8), description=description)
    with pytest.raises(GeometryError, match=words):
        read_tiff(path)


def test_ome_tiff_says_which_page_is_which_layer(tmp_path):
    places = "".join(f'<TiffData IFD="{k}" FirstZ="{1 - k}"/>' for k in range(2))
    text = f'<OME><Image><Pixels DimensionOrder="XYZCT" SizeZ="2">{places}</Pixels></Image></OME>'
    path = save_pages(tmp_path / "stack.tif", IMAGE.astype(np.uint8), description=text)
    np.testing.assert_array_equal(values_of(read_tiff(path)), IMAGE[::-1])


def test_the_distance_of_tiff_layers_is_not_made_up(tmp_path):
    options = {"description": "ImageJ=1.53\nimages=2\nslices=2\nunit=micron\n"}
    for pixels, spacing in ((0.5, None), (1.0, (1e-6,) * 3)):
        options |= {"x_resolution": pixels, "y_resolution": pixels}
        assert read_tiff(save_pages(tmp_path / "stack.tif", IMAGE.astype(np.uint8), **options)).spacing_m == spacing


def test_colours_of_a_palette_are_taken_by_their_numbers(tmp_path):
    pages = [Picture.fromarray(page.astype(np.uint8), "P") for page in IMAGE]
    for page in pages:
        page.putpalette([7, 7, 7] * 256)
    pages[0].save(tmp_path / "labels.tif", save_all=True, append_images=pages[1:])
    image = read_tiff(tmp_path / "labels.tif")
    np.testing.assert_array_equal(values_of(image), IMAGE)
    assert "palette" in image.notes[0]


VTI_STORAGES = [("ascii", False, ""), ("binary", False, ""), ("binary", True, "")]
VTI_STORAGES += [("appended", compressed, encoding) for compressed in (False, True) for encoding in ("raw", "base64")]


@pytest.mark.parametrize(("form", "compressed", "encoding"), VTI_STORAGES)
def test_vti_values_survive_every_storage(tmp_path, form, compressed, encoding):
    path = write_vti(tmp_path / "image.vti", IMAGE, form, compressed, encoding=encoding)
    np.testing.assert_array_equal(values_of(read_vti(path, "mm")), IMAGE)


@pytest.mark.parametrize(("place", "origin"), [("PointData", (1, 2, 3)), ("CellData", (1.25, 2.25, 3.25))])
def test_vti_points_lie_at_the_origin_and_cells_half_a_spacing_further(tmp_path, place, origin):
    image = read_vti(write_vti(tmp_path / "image.vti", IMAGE, place=place), "m")
    assert (image.origin_m, image.spacing_m, image.values.shape) == (origin, (0.5,) * 3, IMAGE.shape)


def test_vti_arrays_are_chosen_by_name(tmp_path):
    with pytest.raises(GeometryError, match="unknown name 'lable'; did you mean 'label'"):
        read_vti(write_vti(tmp_path / "image.vti", IMAGE), "m", "lable")


def test_vtu_cells_become_voxels(tmp_path):
    meshio = pytest.importorskip("meshio")
    wanted = np.zeros((2, 3, 4), bool)
    wanted[1, 2, 3] = wanted[0, 0, 0] = wanted[0, 2, 1] = True
    corner = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)])
    points = (np.argwhere(wanted)[:, np.newaxis, ::-1] + corner).reshape(-1, 3) * 0.5
    mesh = meshio.Mesh(points, [("hexahedron", np.arange(24).reshape(3, 8))])
    mesh.write(tmp_path / "cells.vtu")
    image = read_vtu(tmp_path / "cells.vtu", "m")
    np.testing.assert_array_equal(image.values, wanted)
    assert (image.spacing_m, image.origin_m) == ((0.5,) * 3, (0.25,) * 3)


def test_npz_of_one_array_is_read(tmp_path):
    np.savez_compressed(tmp_path / "image.npz", labels=IMAGE)
    np.testing.assert_array_equal(read_npz(tmp_path / "image.npz").values, IMAGE)


def test_npz_of_several_arrays_needs_a_name(tmp_path):
    np.savez(tmp_path / "image.npz", labels=IMAGE, grey=IMAGE)
    with pytest.raises(GeometryError, match="holds 2 arrays; give array, one of: labels, grey"):
        read_npz(tmp_path / "image.npz")
    np.testing.assert_array_equal(read_npz(tmp_path / "image.npz", "grey").values, IMAGE)


def test_fortran_ordered_npy_keeps_its_index_order(tmp_path):
    np.save(tmp_path / "image.npy", np.asfortranarray(IMAGE == 5))
    np.testing.assert_array_equal(load_voxels(tmp_path / "image.npy", spacing_m=1.0).flags == FLUID, IMAGE == 5)

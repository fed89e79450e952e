import zlib
from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images import arrays, metaimage
from muphy_lb.geometry.images.rule import ImageRule
from muphy_lb.geometry.load import load_voxels
from muphy_lb.geometry.voxels import FIRST_OPENING, FLUID, SOLID, wall_flag

IMAGE = np.arange(24, dtype=np.uint8).reshape(2, 3, 4) % 3


def segmented(image, rule):
    """Voxels of an image by a rule; of 1 m where neither states their edge."""
    rule = rule or ImageRule()
    is_stated = image.spacing_m or rule.spacing_m
    return (rule if is_stated else replace(rule, spacing_m=1.0)).segment(image).voxels


def read_npy(path, rule=None):
    """Voxels of a ``.npy`` file by a rule."""
    return segmented(arrays.read_npy(path), rule)


def read_raw(path, shape_zyx, dtype, header_bytes, rule=None):
    """Voxels of a headerless file by a rule."""
    return segmented(arrays.read_raw(path, shape_zyx, dtype, header_bytes), rule)


def read_metaimage(path, rule=None, unit="mm"):
    """Voxels of a MetaImage file by a rule."""
    return segmented(metaimage.read_metaimage(path, unit), rule)


def write_mha(path, values, extra="", compressed=False, big=False, data_file=None):
    data = values.astype(values.dtype.newbyteorder(">" if big else "<")).tobytes()
    data = zlib.compress(data) if compressed else data
    kinds = {"uint8": "MET_UCHAR", "int16": "MET_SHORT", "float32": "MET_FLOAT"}
    header = (
        f"ObjectType = Image\nNDims = {values.ndim}\nBinaryDataByteOrderMSB = {big}\nCompressedData = {compressed}\n"
        f"{extra}DimSize = {' '.join(map(str, values.shape[::-1]))}\nElementType = {kinds[values.dtype.name]}\n"
        f"ElementDataFile = {data_file or 'LOCAL'}\n"
    )
    path.write_bytes(header.encode() + (b"" if data_file else data))
    if data_file:
        (path.parent / data_file).write_bytes(data)
    return path


def save_npy(path, values):
    np.save(path, values)
    return path


@pytest.fixture
def npy(tmp_path):
    return save_npy(tmp_path / "image.npy", IMAGE)


@pytest.fixture
def raw(tmp_path):
    path = tmp_path / "image.raw"
    path.write_bytes(b"head" + IMAGE.tobytes())
    return path


def test_fluid_value_selects_exactly_its_voxels_and_others_become_solid(npy):
    np.testing.assert_array_equal(read_npy(npy, ImageRule(fluid_value=2)).flags, np.where(IMAGE == 2, FLUID, SOLID))


def test_one_or_true_is_fluid_by_default_and_values_can_be_flags_already(npy, tmp_path):
    assert read_npy(npy).n_fluid == np.count_nonzero(IMAGE == 1)
    assert read_npy(save_npy(tmp_path / "b.npy", IMAGE > 0)).n_fluid == np.count_nonzero(IMAGE)
    np.testing.assert_array_equal(read_npy(npy, ImageRule(fluid_value=None)).flags, IMAGE)


LEVEL = np.zeros((2, 3, 4))
HOLES = LEVEL.copy()
HOLES[1, 2, 3] = HOLES[1, 0, 2] = np.nan


@pytest.mark.parametrize(
    ("values", "rule", "told"),
    [
        (IMAGE.astype(np.int32) * 200, {"fluid_value": None}, "0 to 400 are not geometry flags"),
        (LEVEL, {}, "give fluid_below"),
        (IMAGE, {"fluid_value": 2, "fluid_below": 1.0}, "both given"),
        (HOLES, {"fluid_below": 0.5}, r"2 NaN values, the first at \(x, y, z\) = \(2, 0, 1\)"),
        (IMAGE, {"fluid_value": 7}, r"fluid_value = 7 selects no voxel; the image holds 0 \(33.3%\), 1"),
        (np.ones((0, 2, 2), np.uint8), {}, "holds no voxel"),
    ],
)
def test_values_that_are_no_image_for_a_rule_are_refused(tmp_path, values, rule, told):
    with pytest.raises(GeometryError, match=told):
        read_npy(save_npy(tmp_path / "image.npy", values), ImageRule(**rule))


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("image.am", {}, r"'.am' is not supported; allowed: .npy, .npz, .raw"),
        ("image.npy", {"fluid_values": 1}, "unknown name 'fluid_values'; did you mean 'fluid_value'"),
        ("image.raw", {"shape_zyx": (2, 3, 4)}, "needs the option dtype"),
        ("image.npy", {"fluid_value": 9, "spacing_m": 1.0}, r"image.npy: fluid_value = 9"),
    ],
)
def test_load_names_what_is_amiss(npy, raw, name, options, told):
    with pytest.raises(GeometryError, match=told):
        load_voxels(npy.parent / name, **options)


def test_threshold_is_half_open(tmp_path):
    path = save_npy(tmp_path / "level.npy", np.array([[-1.0, 0.0, 1.0]]))
    np.testing.assert_array_equal(read_npy(path, ImageRule(fluid_below=0.0)).flags, [[[FLUID, SOLID, SOLID]]])


def test_two_dimensional_images_get_one_layer(tmp_path):
    assert read_npy(save_npy(tmp_path / "flat.npy", IMAGE[0])).shape == (1, 3, 4)


@pytest.mark.parametrize("shape", [(4,), (2, 2, 2, 2)])
def test_other_dimensions_are_refused(tmp_path, shape):
    with pytest.raises(GeometryError, match="allowed: 2 or 3"):
        read_npy(save_npy(tmp_path / "image.npy", np.ones(shape, np.uint8)))


def test_place_and_periodicity_come_from_the_rule(npy):
    voxels = read_npy(npy, ImageRule(spacing_m=1e-4, origin_m=(1, 2, 3), periodic="xz"))
    assert (voxels.spacing_m, voxels.origin_m, voxels.periodic) == (1e-4, (1.0, 2.0, 3.0), (True, False, True))


def test_a_truncated_npy_is_refused(npy):
    npy.write_bytes(npy.read_bytes()[:-5])
    with pytest.raises(GeometryError, match=r"holds 19 bytes of voxels; its header needs 24: it is truncated"):
        read_npy(npy)


def test_pickled_arrays_are_refused(tmp_path):
    path = tmp_path / "objects.npy"
    np.save(path, np.array([{"a": 1}]), allow_pickle=True)
    with pytest.raises(GeometryError, match="cannot read"):
        read_npy(path)


def test_raw_is_read_x_fastest_behind_its_header(raw):
    voxels = read_raw(raw, (2, 3, 4), "uint8", 4, ImageRule(fluid_value=None))
    np.testing.assert_array_equal(voxels.flags, IMAGE)


def test_raw_of_the_wrong_size_names_both_sizes(raw):
    with pytest.raises(GeometryError, match=r"holds 28 bytes; .* need 24"):
        read_raw(raw, (2, 3, 4), "uint8", 0)


def test_raw_byte_order_is_obeyed(tmp_path):
    path = tmp_path / "image.raw"
    path.write_bytes(np.array([[[1, 256]]], ">u2").tobytes())
    np.testing.assert_array_equal(read_raw(path, (1, 1, 2), ">u2", 0).flags, [[[FLUID, SOLID]]])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (((2, 3, 4), "octet", 4), "numpy type name"),
        (((2, 0, 4), "uint8", 4), "each above zero"),
        (((2, 3, 4), "uint8", -1), "0 or more"),
        (((2, 3, 4), "uint8", "four"), "header_bytes is 'four'"),
        ((("2", "b", 4), "uint8", 4), "each above zero"),
        (((2, 3, 4), "O", 4), "allowed: integers, floats, booleans"),
    ],
)
def test_raw_layout_errors_name_the_remedy(raw, arguments, text):
    with pytest.raises(GeometryError, match=text):
        read_raw(raw, *arguments)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("data_file", [None, "voxels.zraw"])
def test_metaimage_values_survive_every_storage(tmp_path, compressed, big, data_file):
    path = write_mha(tmp_path / "image.mhd", IMAGE.astype(np.int16), "", compressed, big, data_file)
    np.testing.assert_array_equal(read_metaimage(path, ImageRule(fluid_value=None)).flags, IMAGE)


def test_metaimage_place_is_converted_to_metres(tmp_path):
    path = write_mha(tmp_path / "image.mha", IMAGE, "ElementSpacing = 0.5 0.5 0.5\nOffset = 1 2 3\n")
    voxels = read_metaimage(path)
    assert (voxels.spacing_m, voxels.origin_m) == (0.5e-3, (1e-3, 2e-3, 3e-3))


@pytest.mark.parametrize(
    ("extra", "flags", "origin_m"),
    [
        ("TransformMatrix = -1 0 0 0 1 0 0 0 1\nOffset = 10 0 0\n", IMAGE[:, :, ::-1], (7, 0, 0)),
        (
            "TransformMatrix = 0 1 0 1 0 0 0 0 1\nElementSpacing = 2 2 2\nOffset = 10 20 30\n",
            IMAGE.transpose(0, 2, 1),
            (10, 20, 30),
        ),
    ],
    ids=["reversed", "exchanged"],
)
def test_metaimage_axes_are_put_in_order(tmp_path, extra, flags, origin_m):
    voxels = read_metaimage(write_mha(tmp_path / "image.mha", IMAGE, extra), ImageRule(fluid_value=None), "m")
    np.testing.assert_array_equal(voxels.flags, flags)
    assert voxels.origin_m == origin_m


def test_oblique_metaimages_are_refused_with_the_remedy_to_keep_their_own_axes(tmp_path):
    path = write_mha(tmp_path / "image.mha", IMAGE, "TransformMatrix = 0.8 0.6 0 -0.6 0.8 0 0 0 1\n")
    with pytest.raises(GeometryError, match="rotates the axes .*give frame = 'image'"):
        read_metaimage(path)
    voxels = load_voxels(path, frame="image", fluid_value=None, spacing_m=1.0)
    np.testing.assert_array_equal(voxels.flags, IMAGE)


def test_metaimages_of_text_are_read(tmp_path):
    path = write_mha(tmp_path / "image.mha", IMAGE, "BinaryData = False\n")
    header = path.read_bytes()[: -IMAGE.size]
    path.write_bytes(header + " ".join(map(str, IMAGE.ravel())).encode())
    np.testing.assert_array_equal(read_metaimage(path, ImageRule(fluid_value=None)).flags, IMAGE)


@pytest.mark.parametrize("names", ["slice%d.raw 0 1 1", "LIST\nslice0.raw\nslice1.raw"])
def test_metaimages_of_one_file_a_slice_are_read(tmp_path, names):
    for k, plane in enumerate(IMAGE):
        (tmp_path / f"slice{k}.raw").write_bytes(plane.tobytes())
    path = write_mha(tmp_path / "image.mhd", IMAGE)
    path.write_bytes(path.read_bytes()[: -IMAGE.size].replace(b"LOCAL", names.encode()))
    np.testing.assert_array_equal(read_metaimage(path, ImageRule(fluid_value=None)).flags, IMAGE)


@pytest.mark.parametrize("compressed", [False, True])
def test_truncated_metaimages_are_refused(tmp_path, compressed):
    path = write_mha(tmp_path / "image.mha", IMAGE, compressed=compressed)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(GeometryError, match="truncated"):
        read_metaimage(path)


@pytest.mark.parametrize(
    ("line", "replacement", "text"),
    [
        ("MET_UCHAR", "MET_STRANGE", "ElementType is 'MET_STRANGE'"),
        ("DimSize = 4 3 2", "DimSize = 4 a 2", "DimSize"),
        ("DimSize = 4 3 2", "DimSize =", "DimSize"),
        ("LOCAL", "nothing.raw", "cannot read .*nothing.raw"),
        ("NDims = 3", "ElementSpacing = 1 1", "ElementSpacing is '1 1'; it must be 3 numbers"),
        ("NDims = 3", "no header at all", "no MetaImage header"),
    ],
)
def test_broken_metaimage_headers_name_the_entry(tmp_path, line, replacement, text):
    path = write_mha(tmp_path / "image.mha", IMAGE)
    path.write_bytes(path.read_bytes().replace(line.encode(), replacement.encode()))
    with pytest.raises(GeometryError, match=text):
        read_metaimage(path)


def test_a_raw_file_without_a_header_needs_no_length_of_it(raw, tmp_path):
    (tmp_path / "bare.raw").write_bytes(raw.read_bytes()[4:])
    layout = {"shape_zyx": (2, 3, 4), "dtype": "uint8", "spacing_m": 1.0}
    bare, whole = load_voxels(tmp_path / "bare.raw", **layout), load_voxels(raw, header_bytes=4, **layout)
    np.testing.assert_array_equal(bare.flags, whole.flags)


def labelled_channel() -> np.ndarray:
    """Fluid 1 along x between an inlet of value 2 and an outlet of value 3."""
    image = np.zeros((5, 5, 8), np.uint8)
    image[1:4, 1:4, 1:7] = 1
    image[1:4, 1:4, 0], image[1:4, 1:4, 7] = 2, 3
    return image


def test_values_become_named_openings(tmp_path):
    np.save(tmp_path / "channel.npy", labelled_channel())
    voxels = read_npy(tmp_path / "channel.npy", ImageRule(opening_values={"inlet:left": 2, "outlet": 3}))
    assert [(o.name, o.kind, o.normal) for o in voxels.openings] == [
        ("left", "inlet", pytest.approx((1, 0, 0))),
        ("outlet", "outlet", pytest.approx((-1, 0, 0))),
    ]
    assert (voxels.flags[2, 2, 0], voxels.flags[2, 2, 7]) == (FIRST_OPENING, FIRST_OPENING + 1)


@pytest.mark.parametrize(
    ("tag", "value", "message"), [("inlet", 9, "no voxel has the tag 'inlet'"), ("lid", 2, "kind is 'lid'")]
)
def test_opening_values_that_name_nothing_are_refused(tag, value, message):
    with pytest.raises(GeometryError, match=message):
        ImageRule(opening_values={tag: value}).voxels(labelled_channel(), 1.0)


def test_values_label_walls():
    image = np.array([[1, 7, 0], [1, 9, 7]], dtype=np.uint8)
    voxels = ImageRule(wall_values={"stent": 7, "lid": 9}).voxels(image, 1.0)
    assert voxels.walls == ("stent", "lid")
    assert voxels.flags.tolist() == [[[FLUID, wall_flag(0), SOLID], [FLUID, wall_flag(1), wall_flag(0)]]]


def test_a_wall_without_voxels_is_refused():
    with pytest.raises(GeometryError, match="no voxel of the image has the value 7 of wall 'stent'; it holds 0 .*1 "):
        ImageRule(wall_values={"stent": 7}).voxels(np.array([[1, 0]]), 1.0)

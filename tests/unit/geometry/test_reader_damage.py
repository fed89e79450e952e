"""Damaged files: one clear GeometryError each, quickly and without the memory that a header asks for."""

import random
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from PIL import Image as Picture

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.load import BARE_FORMATS, load_voxels
from tests.unit.geometry.images import write_nifti, write_nrrd, write_vti

IMAGE = (np.arange(4 * 5 * 6) % 3).astype(np.int16).reshape(4, 5, 6)
HUGE = 10**6
MOST_BYTES = 30e6


def write_mha(path):
    header = "NDims = 3\nElementSpacing = 1 1 1\nDimSize = 6 5 4\nElementType = MET_SHORT\nElementDataFile = LOCAL\n"
    path.write_bytes(header.encode() + IMAGE.tobytes())


def write_tif(path):
    pages = [Picture.fromarray(page.astype(np.uint8)) for page in IMAGE]
    pages[0].save(path, save_all=True, append_images=pages[1:])


WRITERS = {
    "image.nii": lambda path: write_nifti(path, IMAGE),
    "image.nii.gz": lambda path: write_nifti(path, IMAGE),
    "image.nrrd": lambda path: write_nrrd(path, IMAGE),
    "packed.nrrd": lambda path: write_nrrd(path, IMAGE, encoding="gzip"),
    "image.mha": write_mha,
    "image.npy": lambda path: np.save(path, IMAGE),
    "image.npz": lambda path: np.savez_compressed(path, IMAGE),
    "image.tif": write_tif,
    "image.vti": lambda path: write_vti(path, IMAGE),
    "base64.vti": lambda path: write_vti(path, IMAGE, "binary", True),
    "appended.vti": lambda path: write_vti(path, IMAGE, "appended", False),
}


BARE = (*BARE_FORMATS, ".nrrd", ".tif")
"""Of these the writers state no voxel edge."""


def written(folder, name):
    WRITERS[name](folder / name)
    return folder / name


def load(path):
    options = {"unit": "mm"} if path.suffix == ".vti" else {"spacing_m": 1.0} if path.suffix in BARE else {}
    return load_voxels(path, **options)


@pytest.mark.parametrize("name", WRITERS)
def test_whole_files_are_read(tmp_path, name):
    assert load(written(tmp_path, name)).n_fluid == np.count_nonzero(IMAGE == 1)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.8])
def test_truncated_files_are_one_clear_error(tmp_path, name, share):
    path = written(tmp_path, name)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(GeometryError, match=name):
        load(path)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("text", ["the dog ate my image\n" * 30, "\0" * 600, "a = 1\n" * 100])
def test_other_content_is_one_clear_error(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(GeometryError, match=name):
        load(tmp_path / name)


@pytest.mark.parametrize("name", WRITERS)
def test_missing_files_are_one_clear_error(tmp_path, name):
    with pytest.raises(GeometryError, match=f"cannot read .*{name}.*No such file"):
        load(tmp_path / name)


def replaced(path, old, new):
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new))
    return path


def with_huge_counts(folder, name):
    """The file with a header that asks for 10^18 voxels."""
    path = written(folder, name)
    many = f"{HUGE} {HUGE} {HUGE}".encode()
    if name.endswith(".nrrd"):
        return replaced(path, b"sizes: 6 5 4", b"sizes: " + many)
    if name.endswith(".mha"):
        return replaced(path, b"DimSize = 6 5 4", b"DimSize = " + many)
    if name.endswith(".vti"):
        return replaced(path, b"0 5 0 4 0 3", f"0 {HUGE} 0 {HUGE} 0 {HUGE}".encode())
    if name.endswith(".npy"):
        return replaced(path, b"(4, 5, 6), }" + b" " * 20, f"({HUGE}, {HUGE}, {HUGE}), }}".encode().ljust(32))
    many = (3, 32767, 32767, 32767, 1, 1, 1, 1)
    return write_nifti(path, IMAGE, dim=many)


def with_a_layer_less(folder, name):
    """The file with a header that leaves out its last layer."""
    path = written(folder, name)
    if name.endswith(".nrrd"):
        return replaced(path, b"sizes: 6 5 4", b"sizes: 6 5 3")
    if name.endswith(".mha"):
        return replaced(path, b"DimSize = 6 5 4", b"DimSize = 6 5 3")
    if name.endswith(".vti"):
        return replaced(path, b"0 5 0 4 0 3", b"0 5 0 4 0 2")
    if name.endswith(".npy"):
        return replaced(path, b"(4, 5, 6)", b"(3, 5, 6)")
    if name.endswith(".npz"):
        inner = with_a_layer_less(folder, "image.npy").read_bytes()
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("arr_0.npy", inner)
        return path
    if name.endswith(".tif"):
        pages = [Picture.fromarray(page.astype(np.uint8)) for page in IMAGE]
        pages[0].save(path, save_all=True, append_images=pages[1:], description="ImageJ=1.53\nimages=3\nslices=3\n")
        return path
    return write_nifti(path, IMAGE, dim=(3, 6, 5, 3, 1, 1, 1, 1))


@pytest.mark.parametrize("name", WRITERS)
def test_values_that_the_header_leaves_out_are_one_clear_error(tmp_path, name):
    with pytest.raises(GeometryError, match=f"{name}.* (needs|says|holds|say)") as caught:
        load(with_a_layer_less(tmp_path, name))
    assert "truncated" not in str(caught.value)


@pytest.mark.parametrize("name", ["image.nii", "image.nrrd", "image.mha", "image.npy", "packed.nrrd", "image.nii.gz"])
def test_bytes_behind_the_values_are_one_clear_error(tmp_path, name):
    path = written(tmp_path, name)
    path.write_bytes(path.read_bytes() + b"and more")
    with pytest.raises(GeometryError, match=name):
        load(path)


def test_zeros_may_fill_a_compressed_file_up(tmp_path):
    path = written(tmp_path, "image.nii.gz")
    path.write_bytes(path.read_bytes() + bytes(512))
    assert load(path).n_fluid == np.count_nonzero(IMAGE == 1)


LONGER = {  # what is written for 8-bit voxels, and what mends it
    "type.mhd": (IMAGE.astype("<u2").tobytes(), ("MET_UCHAR", "MET_USHORT")),
    "ahead.mhd": (b"H" * 50 + IMAGE.astype("u1").tobytes(), ("ElementDataFile", "HeaderSize = -1\nElementDataFile")),
    "type.nhdr": (IMAGE.astype("<u2").tobytes(), ("type: uint8", "type: uint16")),
    "ahead.nhdr": (b"H" * 50 + IMAGE.astype("u1").tobytes(), ("encoding", "byte skip: -1\nencoding")),
}


@pytest.mark.parametrize("name", LONGER)
def test_the_remedy_for_a_short_header_works(tmp_path, name):
    content, (old, new) = LONGER[name]
    (tmp_path / "voxels.dat").write_bytes(content)
    (tmp_path / "a.mhd").write_text(
        "NDims = 3\nElementSpacing = 1 1 1\nDimSize = 6 5 4\nElementType = MET_UCHAR\nElementDataFile = voxels.dat\n"
    )
    (tmp_path / "a.nhdr").write_text(
        "NRRD0004\ntype: uint8\ndimension: 3\nsizes: 6 5 4\nspacings: 1 1 1\nencoding: raw\ndata file: voxels.dat\n"
    )
    path = tmp_path / f"a{name[name.index('.') :]}"
    remedy = new.partition("\n")[0]
    with pytest.raises(
        GeometryError, match=f"voxels.dat holds {len(content)} bytes of voxels; .* needs 120: .*{remedy}"
    ):
        load(path)
    assert load(replaced(path, old.encode(), new.encode())).n_fluid == np.count_nonzero(IMAGE == 1)


@pytest.mark.parametrize("name", [name for name in WRITERS if not name.endswith((".tif", ".npz"))])
def test_huge_headers_cost_no_memory(tmp_path, name):
    path = with_huge_counts(tmp_path, name)
    tracemalloc.start()
    with pytest.raises(GeometryError, match=name):
        load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MOST_BYTES


@pytest.mark.parametrize("name", WRITERS)
def test_flipped_bytes_never_cause_another_error(tmp_path, name):
    path = written(tmp_path, name)
    whole = path.read_bytes()
    draw = random.Random(name)
    for _ in range(60):
        content = bytearray(whole)
        for _ in range(draw.choice((1, 4, 30))):
            content[draw.randrange(min(len(content), 600))] = draw.randrange(256)
        path.write_bytes(content)
        try:
            load(path)
        except GeometryError as error:
            assert len(str(error)) < 2000


def test_infinite_and_zero_spacings_are_one_clear_error(tmp_path):
    path = written(tmp_path, "image.mha")
    for spacing in (b"0 1 1", b"nan 1 1", b"inf 1 1", b"1e400 1 1", b"-1 1 1e-300"):
        broken = replaced(path, b"ElementSpacing = 1 1 1", b"ElementSpacing = " + spacing)
        with pytest.raises(GeometryError):
            load(broken)
        WRITERS["image.mha"](path)


def test_an_affine_of_zeros_is_one_clear_error(tmp_path):
    with pytest.raises(GeometryError, match="each must be finite and not zero"):
        load(write_nifti(tmp_path / "image.nii", IMAGE, np.zeros((3, 4))))


def test_an_unknown_type_of_values_names_the_known_ones(tmp_path):
    path = written(tmp_path, "image.nii")
    content = bytearray(path.read_bytes())
    struct.pack_into("<h", content, 70, 128)
    path.write_bytes(content)
    with pytest.raises(GeometryError, match="datatype is 128; allowed: 2, 4"):
        load(path)


def test_objects_in_an_npz_are_refused(tmp_path):
    np.savez(tmp_path / "image.npz", np.array([{"a": 1}]))
    with pytest.raises(GeometryError, match="it holds values of type object"):
        load(tmp_path / "image.npz")

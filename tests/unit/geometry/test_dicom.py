"""DICOM series: slices lie where their headers say; what is no even stack of one series is one clear error."""

import sys

import numpy as np
import pytest

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.dicom import read_dicom
from muphy_lb.geometry.load import load_voxels

pytest.importorskip("pydicom")

from tests.unit.geometry.dicom import write_series, write_slice
from tests.unit.geometry.test_reader_formats import values_of

VALUES = np.arange(24, dtype=np.uint16).reshape(2, 3, 4)
STACK = np.arange(48, dtype=np.uint16).reshape(4, 3, 4)


def test_slices_are_ordered_by_their_place_not_by_their_name(tmp_path):
    np.testing.assert_array_equal(values_of(read_dicom(write_series(tmp_path / "series", STACK))), STACK)


def test_lengths_are_those_of_the_headers_in_metres(tmp_path):
    image = read_dicom(write_series(tmp_path / "series", STACK, 2.0, PixelSpacing=[0.25, 0.5]))
    assert image.spacing_m == pytest.approx((0.0005, 0.00025, 0.002))
    assert image.origin_m == pytest.approx((0.010, 0.020, 0.030))


def test_one_file_stands_for_its_series(tmp_path):
    folder = write_series(tmp_path / "series", STACK)
    write_slice(folder / "other.dcm", STACK[0], (0, 0, 0), SeriesInstanceUID="9.9")
    np.testing.assert_array_equal(values_of(read_dicom(folder / "slice1.dcm")), STACK)


def test_values_are_rescaled(tmp_path):
    image = read_dicom(write_series(tmp_path / "series", STACK, RescaleSlope=2.5, RescaleIntercept=-1024))
    np.testing.assert_array_equal(values_of(image), 2.5 * STACK - 1024.0)


def test_values_in_hounsfield_units_stay_whole(tmp_path):
    image = read_dicom(write_series(tmp_path / "series", STACK, RescaleSlope=1, RescaleIntercept=-1024))
    assert values_of(image).dtype == np.int32 and values_of(image).min() == -1024


def test_voxels_of_coronal_slices_lie_where_the_headers_put_them(tmp_path):
    # Rows run along x, columns against z, so slices climb along y.
    for k in range(2):
        position = (1.0, 2.0 + 0.5 * k, 3.0)
        write_slice(tmp_path / f"{k}.dcm", VALUES[k], position, orientation=(1, 0, 0, 0, 0, -1))
    image = read_dicom(tmp_path)
    values, origin, spacing = values_of(image), np.array(image.origin_m), np.array(image.spacing_m)
    for k, j, i in np.ndindex(VALUES.shape):
        place = np.array([1.0 + 0.5 * i, 2.0 + 0.5 * k, 3.0 - 0.5 * j]) * 1e-3
        x, y, z = np.rint((place - origin) / spacing).astype(int)
        assert values[z, y, x] == VALUES[k, j, i]


def test_a_folder_of_slices_is_an_input(tmp_path):
    assert load_voxels(write_series(tmp_path / "series", STACK), fluid_above=10).n_fluid == 38


def test_objects_without_pixels_are_passed_over(tmp_path):
    folder = write_series(tmp_path / "series", STACK)
    write_slice(folder / "report.dcm", STACK[0], (0, 0, 0), SeriesInstanceUID="9.9")
    strip(folder / "report.dcm")
    np.testing.assert_array_equal(values_of(read_dicom(folder)), STACK)


def strip(path):
    """Take the image out of a DICOM file."""
    import pydicom

    data = pydicom.dcmread(path)
    del data.Rows, data.Columns, data.PixelData
    data.save_as(path)


def refused(path, match):
    with pytest.raises(GeometryError, match=match):
        read_dicom(path)


def test_several_series_are_named(tmp_path):
    folder = write_series(tmp_path / "series", STACK)
    write_slice(folder / "other.dcm", STACK[0], (0, 0, 0), SeriesInstanceUID="9.9", SeriesDescription="scout")
    refused(folder, r"holds 2 series: .*'scout' \(1, other.dcm\).*; give one file")


def test_a_missing_slice_is_named(tmp_path):
    folder = write_series(tmp_path / "series", STACK)
    (folder / "slice2.dcm").unlink()
    refused(folder, "slice3.dcm and slice1.dcm are 1 mm apart, the others 0.5 mm: .* missing or uneven")


def test_two_slices_at_one_place_are_refused(tmp_path):
    folder = write_series(tmp_path / "series", STACK)
    write_slice(folder / "again.dcm", STACK[0], (10, 20, 30.5))
    refused(folder, "again.dcm.* lie at the same position")


def test_slices_shifted_by_a_tilted_gantry_are_refused(tmp_path):
    for k in range(3):
        write_slice(tmp_path / f"{k}.dcm", STACK[k], (0.0, 0.2 * k, 0.5 * k))
    refused(tmp_path, "tilted gantry")


@pytest.mark.parametrize(
    "odd", [{"PixelSpacing": [1, 1]}, {"PixelRepresentation": 1}, {"orientation": (0, 1, 0, -1, 0, 0)}]
)
def test_slices_that_differ_are_refused(tmp_path, odd):
    folder = write_series(tmp_path / "series", STACK)
    write_slice(folder / "odd.dcm", STACK[0], (10, 20, 32), **odd)
    refused(folder, "differs from")


@pytest.mark.parametrize(
    ("elements", "match"),
    [
        (
            {"PhotometricInterpretation": "RGB", "SamplesPerPixel": 3},
            "PhotometricInterpretation is .RGB.; allowed: one grey",
        ),
        ({"NumberOfFrames": 7}, "holds 7 images in one file"),
        ({"PixelSpacing": None}, "has no PixelSpacing"),
        ({"ImageOrientationPatient": [1, 0, 0, 1, 0, 0]}, "must be two unit vectors"),
        ({"Rows": 60000, "Columns": 60000}, "too small for 60000 x 60000"),
        ({"Columns": 5}, "broken or truncated"),
    ],
)
def test_headers_of_other_images_are_one_clear_error(tmp_path, elements, match):
    refused(write_series(tmp_path / "series", STACK, **elements), match)


def test_compressed_pixels_without_a_decoder_name_the_remedy(tmp_path):
    from pydicom.encaps import encapsulate
    from pydicom.uid import JPEGLosslessSV1

    pixels = {"TransferSyntaxUID": JPEGLosslessSV1, "PixelData": encapsulate([b"\xff\xd8 no picture"])}
    refused(write_slice(tmp_path / "a.dcm", STACK[0], (0, 0, 0), **pixels), "are compressed .*pip install pylibjpeg")


def test_truncated_slices_are_one_clear_error(tmp_path):
    folder = write_series(tmp_path / "series", STACK)
    for file in folder.iterdir():
        file.write_bytes(file.read_bytes()[:-10])
    refused(folder, r"cannot read .*slice\d.dcm: it is not a readable DICOM image, broken or truncated")


def test_pixels_beyond_those_of_the_header_are_one_clear_error(tmp_path):
    folder = write_series(tmp_path / "series", STACK, Rows=STACK.shape[1] - 1)
    refused(folder, r"slice\d.dcm holds \d+ bytes of pixels; an image of .* needs \d+: .*dcm2niix")


def test_a_missing_library_is_named_with_the_command_that_installs_it(tmp_path, monkeypatch):
    folder = write_series(tmp_path / "series", STACK)
    monkeypatch.setitem(sys.modules, "pydicom", None)
    refused(folder, r"pip install 'pydicom>=3.0,<4'")

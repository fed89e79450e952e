"""Images of the data folder: what is read agrees with what was published about them."""

import zipfile

import numpy as np
import pytest

from muphy_lb.geometry.load import load_voxels, load_with_notes

SPACING_MM = (0.878906, 0.878906, 1.50009)


def unzipped(archive, folder):
    with zipfile.ZipFile(archive) as file:
        file.extractall(folder)
    return folder


@pytest.mark.parametrize("rule", [{"fluid_value": 0}, {"otsu": "below"}])
def test_the_ketton_stack_has_its_published_porosity(data_dir, tmp_path, rule):
    path = next(unzipped(data_dir / "ketton/ketton.zip", tmp_path).rglob("*.tif"))
    voxels = load_voxels(path, spacing_m=1e-6, **rule)
    assert voxels.n_fluid / voxels.flags.size == pytest.approx(0.126862, abs=1e-6)


def test_vessel_voxels_of_a_parallel_vtk_file_are_all_read(data_dir, tmp_path):
    path = next(unzipped(data_dir / "vessel_voxels_vtk/blood_vessels.zip", tmp_path).rglob("*.pvtu"))
    assert load_voxels(path, unit="m").n_fluid == 39353


def test_the_aorta_is_resampled_to_cubes_and_keeps_its_volume(data_dir):
    voxels, notes = load_with_notes(data_dir / "aorta_vmtk/aorta-levelset.mha", fluid_below=0.0)
    assert voxels.shape == (58, 393, 157) and voxels.spacing_m == pytest.approx(0.878906e-3)
    volume_mm3 = voxels.n_fluid * (voxels.spacing_m * 1e3) ** 3
    # 57,309 voxels are published; a level set that is cut off beside the vessel tells its wall only to a tenth.
    assert volume_mm3 == pytest.approx(57309 * np.prod(SPACING_MM), rel=0.1)
    assert "resampled: 157 x 393 x 34 voxels" in notes[1]


def test_the_axes_of_the_aorta_are_turned_as_its_header_says(data_dir):
    voxels = load_voxels(data_dir / "aorta_vmtk/aorta-levelset.mha", fluid_below=0.0)
    kept = load_voxels(data_dir / "aorta_vmtk/aorta-levelset.mha", fluid_below=0.0, frame="image")
    np.testing.assert_array_equal(voxels.flags, kept.flags[:, ::-1, ::-1])

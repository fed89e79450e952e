"""Real pores: what is left of them after preparation is what was published."""

import csv
import zipfile

import pytest

from muphy_lb.geometry.load import load_voxels
from muphy_lb.geometry.porous.pores import find_pores
from muphy_lb.geometry.porous.preparation import porosity

PUBLISHED_DIGITS = 1e-5
FINNEY_POROSITY = 0.3610  # of its central cube of side 16
BLOCK = 128


@pytest.fixture(scope="module")
def ketton(data_dir, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ketton")
    with zipfile.ZipFile(data_dir / "ketton" / "ketton.zip") as archive:
        archive.extract("ketton.tif", folder)
    return folder / "ketton.tif"


def published_blocks(data_dir):
    with open(data_dir / "ketton" / "reference_permeability.csv") as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


def test_the_effective_porosity_of_filtered_ketton_blocks_is_the_published_one(data_dir, ketton):
    for row in published_blocks(data_dir):
        low = [int(row[f"{axis}0"]) for axis in "xyz"]
        crop = [low, [start + BLOCK for start in low]]
        steps = {"crop": crop, "median": 1, "drop_unconnected": "xyz", "connected_by": "faces"}
        block = load_voxels(ketton, fluid_value=0, spacing_m=1.0, **steps)
        assert porosity(block) == pytest.approx(row["effective_porosity"], abs=PUBLISHED_DIGITS)


def test_ketton_leads_through_along_every_axis(ketton):
    voxels = load_voxels(ketton, fluid_value=0, spacing_m=1.0)
    pores = find_pores(voxels, "faces")
    for axis in "xyz":
        assert pores.share(axis) * porosity(voxels) == pytest.approx(0.126226, abs=1e-6)


def test_finneys_pack_has_its_porosity(data_dir):
    box = {"radius": 1.0, "numbered": True, "low": [-8.0] * 3, "high": [8.0] * 3}
    pack = load_voxels(data_dir / "finney_pack" / "FinneyPack.txt", spacing_m=0.1, **box)
    assert porosity(pack) == pytest.approx(FINNEY_POROSITY, abs=1e-3)

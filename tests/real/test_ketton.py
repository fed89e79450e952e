"""The case of the Ketton limestone reads what was published and can tell a wrong rock."""

import zipfile

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.validation.case import Settings
from muphy_lb.validation.flow.ketton import LEAST_CORRELATION, Core, ketton, rank_correlation, read_blocks

LAYER = 2 * 2 * 40 * 40  # nodes of both reservoirs of a core of 40


def test_the_quick_case_passes(data_dir, monkeypatch):
    monkeypatch.setenv("MUPHY_DATA", str(data_dir))
    outcome = ketton(Settings(quick=True, precision="fp32"))
    assert len(outcome.rows) == 2 and outcome.passed, str(outcome)


def test_the_case_is_skipped_without_its_files(tmp_path, monkeypatch):
    monkeypatch.setenv("MUPHY_DATA", str(tmp_path))
    assert "ketton.zip" in ketton().skipped


def test_eight_blocks_fill_the_rock(data_dir):
    blocks = read_blocks(data_dir / "ketton/reference_permeability.csv")
    assert {block.low for block in blocks} == {(x, y, z) for x in (0, 128) for y in (0, 128) for z in (0, 128)}
    assert blocks[1].low == (128, 0, 0) and blocks[1].permeability["z"] == 0.009215


@pytest.mark.parametrize("text", ["subvolume,z0\n0,0\n", "subvolume,z0,y0,x0,effective_porosity\n0,0,0,a,0.1\n"])
def test_a_table_that_is_no_table_of_blocks_is_refused(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(InputError, match="no table of blocks"):
        read_blocks(path)


def test_rank_correlation_knows_only_the_order():
    rising = np.arange(1.0, 9.0)
    assert rank_correlation(rising, rising**3) == pytest.approx(1.0)
    assert rank_correlation(rising, -rising) == pytest.approx(-1.0)
    assert rank_correlation([1, 2, 3, 4], [1, 2, 4, 3]) == pytest.approx(0.8)


def test_rank_correlation_sees_two_axes_that_were_swapped(data_dir):
    blocks = read_blocks(data_dir / "ketton/reference_permeability.csv")
    published = [block.permeability[axis] for block in blocks for axis in "xyz"]
    swapped = [block.permeability[axis] for block in blocks for axis in "zyx"]
    assert rank_correlation(published, swapped) < LEAST_CORRELATION


def test_a_core_has_a_reservoir_at_both_ends(data_dir, tmp_path):
    with zipfile.ZipFile(data_dir / "ketton/ketton.zip") as archive:
        image = archive.extract("ketton.tif", tmp_path)
    nodes = Core(image, (0, 128, 128), 40, "x").nodes("periodic")
    assert nodes.shape == (40, 40, 44) and nodes.periodic == (True, False, False)
    in_reservoir = np.isin(nodes.coordinates()[:, 0], (0, 1, 42, 43))
    assert np.count_nonzero(in_reservoir) == LAYER

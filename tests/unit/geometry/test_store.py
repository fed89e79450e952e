"""CASE.h5: what is written comes back, and every broken file is refused by name."""

import os
from dataclasses import fields, replace

import h5py
import numpy as np
import pytest

from muphy_lb.base.errors import OutputError
from muphy_lb.base.files.hdf5 import CHECKSUMMED
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.implicit import RoundWall
from muphy_lb.geometry.neighbours import cut_links
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.store import VERSION, read_geometry, write_geometry
from muphy_lb.geometry.voxels import FIRST_OPENING, FLAG_DTYPE, FLUID, Opening, Voxels, wall_flag

DISC = Opening("Ein-/Ausgang", "inlet", (0.1, 0.2, 0.3), (1.0, 2.0, 2.0), 0.25)
PLANE = Opening("plane", "outlet", (0.0, 0.0, 0.0), (-1.0, 0.0, 0.0))


@pytest.fixture
def nodes():
    """A small geometry in which no attribute has its default."""
    flags = np.full((2, 3, 6), FLUID, FLAG_DTYPE)
    flags[:, :, 0], flags[:, :, -1], flags[0, 1, 2] = FIRST_OPENING, FIRST_OPENING + 1, 0
    flags[1, 1, 3] = wall_flag(1)
    box = (1e-4, (0.5, -0.25, 1 / 3), (False, True, False), (DISC, PLANE), ("lid", "bödy"))
    nodes = cut_links(build_nodes(Voxels(flags, *box)), RoundWall(np.array([[2.0, 1.0, 0.0]]), 0.7))
    return replace(nodes, cuts=replace(nodes.cuts, area=np.linspace(0.0, 2.0, nodes.cuts.n_links)))


@pytest.fixture
def case_file(nodes, tmp_path):
    """That geometry, written."""
    path = tmp_path / "case.h5"
    write_geometry(path, nodes)
    return path


def refused(path, words):
    """Reading raises a GeometryError that names the file and says these words."""
    with pytest.raises(GeometryError, match=words) as caught:
        read_geometry(path)
    return str(path) in str(caught.value)


def test_a_node_list_comes_back_as_it_was(nodes, case_file):
    found = read_geometry(case_file)
    for field in fields(nodes):
        before, after = getattr(nodes, field.name), getattr(found, field.name)
        if field.name == "cuts":
            names = [each.name for each in fields(before)]
            pairs = [(getattr(before, name), getattr(after, name)) for name in names]
            assert all(np.array_equal(*pair) and len({np.asarray(each).dtype for each in pair}) == 1 for pair in pairs)
            assert 0 < after.n_missed < after.n_links
            continue
        assert np.array_equal(before, after) and type(before) is type(after), field.name
        assert getattr(before, "dtype", None) == getattr(after, "dtype", None), field.name


def test_a_geometry_without_cuts_comes_back_without(nodes, tmp_path):
    write_geometry(tmp_path / "case.h5", replace(nodes, cuts=None))
    assert read_geometry(tmp_path / "case.h5").cuts is None


def test_more_than_ten_openings_keep_their_order(tmp_path):
    openings = tuple(Opening(f"opening {k}", "outlet", (k, 0, 0), (1, 0, 0)) for k in range(12))
    flags = np.full((1, 2, 12), FLUID, FLAG_DTYPE)
    flags[0, 0] = FIRST_OPENING + np.arange(12)
    write_geometry(tmp_path / "case.h5", build_nodes(Voxels(flags, openings=openings)))
    assert [opening.name for opening in read_geometry(tmp_path / "case.h5").openings] == [o.name for o in openings]


def test_a_file_with_neighbour_tables_of_an_earlier_version_is_read(nodes, case_file):
    with h5py.File(case_file, "a") as file:
        table = file["geometry"].create_dataset("neighbours/D3Q19", data=np.zeros((19, nodes.n_nodes)))
        table.attrs["vectors"] = np.zeros((19, 3))
    assert np.array_equal(read_geometry(case_file).voxel, nodes.voxel)


def test_a_missing_file_is_refused(tmp_path):
    assert refused(tmp_path / "none.h5", "there is no file .* prepare it with muphy-lb geometry INPUT none.h5")


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_truncated_file_is_refused(case_file, share):
    whole = case_file.read_bytes()
    case_file.write_bytes(whole[: int(share * len(whole))])
    assert refused(case_file, "not a readable HDF5 file .*prepare it again with muphy-lb geometry INPUT case.h5")


def test_a_file_without_checksums_is_refused(nodes, case_file):
    with h5py.File(case_file, "r") as new, h5py.File(case_file.with_name("old.h5"), "w") as old:
        new.copy("geometry", old)
    assert refused(case_file.with_name("old.h5"), "format without checksums.*prepare it again with muphy-lb geometry")


def test_a_file_of_another_version_is_refused(case_file):
    with h5py.File(case_file, "a") as file:
        file["geometry"].attrs["version"] = VERSION + 1
    assert refused(case_file, f"/geometry/version is {VERSION + 1}, this program reads {VERSION}")


def test_a_file_without_version_is_refused(case_file):
    with h5py.File(case_file, "a") as file:
        del file["geometry"].attrs["version"]
    assert refused(case_file, "/geometry/version is missing")


def test_a_file_without_geometry_is_refused(tmp_path):
    path = tmp_path / "case.h5"
    with h5py.File(path, "w", libver=CHECKSUMMED) as file:
        file.create_group("partition")
    assert refused(path, "/geometry is missing")


def test_a_folder_that_is_not_there_is_refused(nodes, tmp_path):
    with pytest.raises(OutputError, match="cannot write .*check that the folder exists"):
        write_geometry(tmp_path / "none" / "case.h5", nodes)


def test_a_failed_write_leaves_the_old_file_alone(nodes, case_file, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    before = case_file.read_bytes()
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OutputError, match="No space left"):
        write_geometry(case_file, nodes)
    assert case_file.read_bytes() == before and list(case_file.parent.iterdir()) == [case_file]

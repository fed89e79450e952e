"""partition.store: named partitionings live in CASE.h5 and endanger nothing in it."""

import os

import h5py
import numpy as np
import pytest

from muphy_lb.base.errors import OutputError
from muphy_lb.base.files.hdf5 import CHECKSUMMED
from muphy_lb.partition.errors import PartitionError
from muphy_lb.partition.store import StoredPartition, list_partitions, read_graph, read_partition, write_partition

OWNER = np.array([0, 1, 1, 0, 2, 2], dtype=np.int64)


@pytest.fixture
def case(tmp_path):
    """A CASE.h5 of six nodes in a row: 0 to 3 are plain, 4 and 5 lie at opening 0."""
    path = tmp_path / "case.h5"
    with h5py.File(path, "w", libver=CHECKSUMMED) as file:
        group = file.create_group("geometry")
        group.attrs.update(version=1, shape=(1, 1, 6), periodic=(False, False, False))
        group["voxel"] = np.array([1, 2, 3, 4, 0, 5])
        group["group_start"] = np.array([0, 4, 6])
        file["other/data"] = np.arange(1000.0)
    return path


def test_owner_comes_back_as_written_in_int32(case):
    write_partition(case, "mine", OWNER, "metis")
    assert read_partition(case, "mine").tolist() == OWNER.tolist()
    write_partition(case, "mine", OWNER, "metis")
    assert read_partition(case, "mine").dtype == np.int32


def test_file_holds_many_partitionings(case):
    write_partition(case, "b", OWNER, "metis")
    write_partition(case, "a", OWNER % 2, "x")
    assert list_partitions(case) == (StoredPartition("a", 2, "x"), StoredPartition("b", 3, "metis"))


def test_new_file_has_no_partitioning(case):
    assert list_partitions(case) == ()


def test_same_name_replaces_and_other_groups_stay_as_they_are(case):
    write_partition(case, "mine", OWNER, "metis")
    write_partition(case, "mine", OWNER % 2, "x")
    assert list_partitions(case) == (StoredPartition("mine", 2, "x"),)
    with h5py.File(case) as file:
        assert file["other/data"][...].tolist() == list(range(1000))
        assert dict(file["geometry"].attrs).keys() == {"version", "shape", "periodic"}


def test_failed_write_leaves_the_file_and_nothing_else(case, monkeypatch):
    before = case.read_bytes()

    def full_disk(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OutputError, match="cannot write .*no space left"):
        write_partition(case, "mine", OWNER, "metis")
    assert case.read_bytes() == before and os.listdir(case.parent) == [case.name]


def test_copy_is_made_in_the_folder_of_the_file(case, monkeypatch):
    seen = []
    monkeypatch.setattr(os, "fsync", lambda _: seen.append(os.listdir(case.parent)))
    write_partition(case, "mine", OWNER, "metis")
    assert len(seen[0]) == 2 and os.listdir(case.parent) == [case.name]


def test_a_link_to_the_file_stays_one_and_permissions_stay(case, tmp_path):
    link = tmp_path / "link.h5"
    link.symlink_to(case)
    case.chmod(0o640)
    write_partition(link, "mine", OWNER, "metis")
    assert link.is_symlink() and list_partitions(case) != () and case.stat().st_mode & 0o777 == 0o640


def test_wrong_length_is_an_error(case):
    with pytest.raises(PartitionError, match=r"shape \(5,\) for the 6 nodes"):
        write_partition(case, "mine", OWNER[:5], "metis")


@pytest.mark.parametrize("owner", [[0, 0, 2, 2, 2, 2], [-1, 0, 0, 0, 0, 0]])
def test_unused_or_negative_part_is_an_error(case, owner):
    with pytest.raises(PartitionError, match="every part from 0 to the last needs a node"):
        write_partition(case, "mine", np.array(owner), "metis")


@pytest.mark.parametrize("name", ["", "a/b", ".", ".."])
def test_name_that_is_no_single_group_is_an_error(case, name):
    with pytest.raises(PartitionError, match="bad name"):
        write_partition(case, name, OWNER, "metis")


def test_missing_name_is_an_error_that_lists_those_there_are(case):
    write_partition(case, "mine", OWNER, "metis")
    with pytest.raises(PartitionError, match="no partitioning 'yours'; it has: mine"):
        read_partition(case, "yours")


def test_other_version_is_an_error(case):
    write_partition(case, "mine", OWNER, "metis")
    with h5py.File(case, "r+") as file:
        file["partition/mine"].attrs["version"] = 99
    with pytest.raises(PartitionError, match="/partition/mine/version is 99, this program reads 1"):
        read_partition(case, "mine")


@pytest.mark.parametrize(
    ("place", "values", "told"),
    [
        ("geometry/voxel", np.arange(4), r"shape \(6,\) for the 4 nodes"),
        ("partition/mine/owner", OWNER.astype(float), "owner has type float64 .* it must be one row of int32"),
    ],
    ids=["another geometry", "another type"],
)
def test_a_partitioning_of_another_geometry_or_type_is_an_error(case, place, values, told):
    write_partition(case, "mine", OWNER, "metis")
    with h5py.File(case, "r+") as file:
        del file[place]
        file[place] = values
    with pytest.raises(PartitionError, match=told):
        read_partition(case, "mine")


@pytest.mark.parametrize("owner", [2**31 - 1, 3, -1])
def test_owner_that_is_no_part_is_an_error(case, owner):
    write_partition(case, "mine", OWNER, "metis")
    with h5py.File(case, "r+") as file:
        file["partition/mine/owner"][0] = owner
    with pytest.raises(PartitionError, match=r"owners for .*case\.h5 lie between .*partition it again|n_parts is 3"):
        read_partition(case, "mine")


@pytest.mark.parametrize("start", [[0, 6, 4], [0, 4], [1, 4, 6], [0, 2**62, 6], [6]])
def test_groups_that_do_not_share_out_the_nodes_are_an_error(case, start):
    with h5py.File(case, "r+") as file:
        del file["geometry/group_start"]
        file["geometry/group_start"] = np.array(start)
    with pytest.raises(PartitionError, match=r"case\.h5: /geometry/group_start is .* it must climb from 0 to 6"):
        read_graph(case)


@pytest.mark.parametrize("voxel", [6, -1, 2**62])
def test_a_voxel_outside_the_box_is_an_error(case, voxel):
    with h5py.File(case, "r+") as file:
        file["geometry/voxel"][3] = voxel
    with pytest.raises(PartitionError, match=rf"case\.h5: /geometry/voxel .*{voxel}.*prepare it again"):
        read_graph(case)


def test_missing_file_is_an_error(tmp_path):
    with pytest.raises(PartitionError, match="there is no file .*absent.h5"):
        list_partitions(tmp_path / "absent.h5")


def test_truncated_file_is_an_error(case):
    case.write_bytes(case.read_bytes()[:500])
    with pytest.raises(PartitionError, match="not a readable HDF5 file"):
        read_graph(case)


def test_file_without_geometry_is_an_error(tmp_path):
    path = tmp_path / "empty.h5"
    h5py.File(path, "w", libver=CHECKSUMMED).close()
    with pytest.raises(PartitionError, match="/geometry is missing"):
        read_graph(path)


def test_incomplete_geometry_is_an_error(case):
    with h5py.File(case, "r+") as file:
        del file["geometry"].attrs["shape"]
    with pytest.raises(PartitionError, match="/geometry/shape is missing"):
        read_graph(case)


def test_a_graph_is_read_in_node_order_and_weighed_by_groups(case):
    assert read_graph(case).coordinates[:, 0].tolist() == [1, 2, 3, 4, 0, 5]
    assert read_graph(case, {1: 2.5}).weights.tolist() == [2, 2, 2, 2, 5, 5]


def test_cost_of_a_group_that_is_not_there_is_an_error(case):
    with pytest.raises(PartitionError, match="no group 7 in .*; its groups are 0 to 1"):
        read_graph(case, {7: 2.0})

"""CASE.h5 as an input: whatever is wrong with it is refused by name before anything uses it as an index."""

from dataclasses import replace

import h5py
import numpy as np
import pytest

from muphy_lb.geometry import store
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.implicit import RoundWall
from muphy_lb.geometry.neighbours import cut_links
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.store import open_nodes, read_geometry, write_geometry
from muphy_lb.geometry.voxels import FIRST_OPENING, FLAG_DTYPE, FLUID, Opening, Voxels, wall_flag
from muphy_lb.partition.errors import PartitionError
from muphy_lb.partition.store import list_partitions, read_partition, write_partition
from tests.fuzz.prepared_damages import damage_of

N_DAMAGES = 150
REMEDY = "; prepare it again with muphy-lb geometry INPUT case.h5"
INLET = Opening("in", "inlet", (0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
OUTLET = Opening("out", "outlet", (9.0, 0.0, 0.0), (-1.0, 0.0, 0.0), 2.0)


@pytest.fixture(scope="module")
def nodes():
    """A duct of 4 x 5 x 10 voxels with two openings, a labelled wall and cuts."""
    flags = np.full((4, 5, 10), FLUID, FLAG_DTYPE)
    flags[:, :, 0], flags[:, :, -1], flags[1, 2, 4] = FIRST_OPENING, FIRST_OPENING + 1, wall_flag(0)
    nodes = build_nodes(Voxels(flags, 1.0, openings=(INLET, OUTLET), walls=("lid",)))
    nodes = cut_links(nodes, RoundWall(np.array([[4.0, 2.0, 1.0]]), 0.7))
    return replace(nodes, cuts=replace(nodes.cuts, area=np.ones(nodes.cuts.n_links)))


@pytest.fixture(scope="module")
def whole(nodes, tmp_path_factory):
    """The bytes of that geometry as a file, with a partitioning."""
    path = tmp_path_factory.mktemp("whole") / "case.h5"
    write_geometry(path, nodes)
    write_partition(path, "halves", np.arange(nodes.n_nodes) * 2 // nodes.n_nodes, "curve")
    return path.read_bytes()


@pytest.fixture
def path(whole, tmp_path):
    """That file, to be damaged."""
    path = tmp_path / "case.h5"
    path.write_bytes(whole)
    return path


def refused(path, place, problem):
    """Reading raises one line that names the file, the place, what is wrong, and the remedy."""
    with pytest.raises(GeometryError) as caught:
        read_geometry(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: {place} ") and problem in message and "\n" not in message
    assert message.endswith(REMEDY)


def replaced(path, place, **dataset):
    """The dataset gives way to another one; returns its values."""
    with h5py.File(path, "r+") as file:
        values = file[place][...]
        del file[place]
        if dataset:
            file.create_dataset(place, **dataset)
    return values


VALUES = {
    "far beyond the box": ("voxel", lambda v: np.append(v[:-1], 2**62), "holds 4611686018427387904; allowed are 0 to"),
    "beyond the box": ("voxel", lambda v: np.append(v[:-1], 200), "holds 200; allowed are 0 to 199"),
    "negative": ("voxel", lambda v: np.append(-1, v[1:]), "holds -1"),
    "reversed": ("voxel", lambda v: v[::-1], "does not ascend"),
    "twice in a group": ("voxel", lambda v: np.append(v[0], v[:-1]), "does not ascend"),
    "in two groups": ("voxel", lambda v: np.append(v[:-1], 197), "holds the id 197 twice"),
    "shorter": ("voxel", lambda v: v[:-1], "climb"),
    "no nodes": ("voxel", lambda v: v[:0], "no node"),
    "groups doubled": ("group_start", lambda v: 2 * v, "it must climb from 0 to"),
    "groups that fall": ("group_start", lambda v: v[[0, 2, 1, 3]], "it must climb from 0 to"),
    "a group too few": ("group_start", lambda v: v[[0, 1, 3]], "has 3 values; 2 openings make it 4"),
    "labels reversed": ("label_voxel", lambda v: v[::-1], "does not ascend"),
    "labels negative": ("label_voxel", lambda v: v - 1, "holds -1"),
    "labels beyond": ("label_voxel", lambda v: np.append(v[:-1], 2**62), "holds 4611686018427387904"),
    "fewer labels": ("label_voxel", lambda v: v[:-1], "labelled voxels"),
    "unknown opening": ("label_number", lambda v: v + 1, "there are 2 openings, numbered from 0, and 1 walls"),
    "cut nowhere": ("cuts/voxel", lambda v: v + 200, "allowed are 0 to 199"),
    "no direction": ("cuts/direction", lambda v: np.full_like(v, 13), "holds 13, which leads to no neighbour"),
    "direction 27": ("cuts/direction", lambda v: np.full_like(v, 27), "holds 27; allowed are 0 to 26"),
    "cuts out of order": ("cuts/direction", lambda v: v[::-1], "is not in the order"),
    "distance NaN": ("cuts/distance", lambda v: np.append(v[1:], np.nan), "holds nan; allowed are 0.001 to 1"),
    "distance zero": ("cuts/distance", lambda v: np.append(v[1:], 0.0), "holds 0.0"),
    "fewer distances": ("cuts/distance", lambda v: v[1:], "values for"),
    "area negative": (
        "cuts/area",
        lambda v: np.append(v[1:], -1.0),
        "holds -1.0; allowed are finite numbers from 0 on",
    ),
    "area infinite": ("cuts/area", lambda v: np.append(v[1:], np.inf), "holds inf"),
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("stretch", [1 << 20, 7], ids=["at once", "in stretches"])
def test_wrong_values_are_refused(path, name, stretch, monkeypatch):
    monkeypatch.setattr(store, "STRETCH", stretch)
    place, change, problem = VALUES[name]
    values = replaced(path, f"geometry/{place}")
    with h5py.File(path, "r+") as file:
        file[f"geometry/{place}"] = change(values)
    with pytest.raises(GeometryError) as caught:
        read_geometry(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: /geometry/") and problem in message and message.endswith(REMEDY)


def test_whole_arrays_are_accepted_in_stretches(nodes, path, monkeypatch):
    monkeypatch.setattr(store, "STRETCH", 7)
    assert np.array_equal(read_geometry(path).voxel, nodes.voxel)


def test_who_says_that_values_are_checked_does_not_read_them(path):
    with h5py.File(path, "r+") as file:
        file["geometry/voxel"][0] = -1
    with open_nodes(path, is_checked=True) as unread:
        assert unread.voxel[0] == -1
    with pytest.raises(GeometryError, match="holds -1"), open_nodes(path):
        pass


ATTRIBUTES = {
    "origin NaN": ("geometry", "origin_m", (0.0, np.nan, 0.0), "allowed are finite numbers"),
    "origin of two": ("geometry", "origin_m", (0.0, 0.0), "it must be 3 number values"),
    "origin empty": ("geometry", "origin_m", np.zeros(0), "it must be 3 number values"),
    "spacing zero": ("geometry", "spacing_m", 0.0, "is 0.0; allowed are 1e-15 to"),
    "spacing NaN": ("geometry", "spacing_m", np.nan, "is nan; allowed are finite numbers"),
    "spacing enormous": ("geometry", "spacing_m", 1e308, "is 1e+308; allowed"),
    "shape zero": ("geometry", "shape", (4, 0, 10), "allowed are 1 to"),
    "shape enormous": ("geometry", "shape", (2**24, 2**24, 2**24), "a box of less than"),
    "axis enormous": ("geometry", "shape", (1, 1, 2**62), "allowed are 1 to"),
    "shape of text": ("geometry", "shape", "4 5 10", "it must be 3 integer values"),
    "version an array": ("geometry", "version", (2, 2), "it must be one integer value"),
    "periodic of numbers": ("geometry", "periodic", (1, 0, 0), "it must be 3 boolean values"),
    "centre NaN": ("geometry/openings/0", "centre_m", (np.nan, 0, 0), "allowed are finite numbers"),
    "normal zero": ("geometry/openings/0", "normal", (0.0, 0.0, 0.0), "non-zero vector"),
    "kind unknown": ("geometry/openings/1", "kind", "door", "allowed: inlet, outlet"),
    "radius NaN": ("geometry/openings/1", "radius_m", np.nan, "allowed are numbers"),
    "radius negative": ("geometry/openings/1", "radius_m", -1.0, "must be positive"),
    "name twice": ("geometry/openings/1", "name", "in", "two records of the name 'in'"),
    "name that is none": ("geometry/openings/1", "name", "\x1b[1m", "printable letters"),
    "name not UTF-8": ("geometry/walls/0", "name", np.bytes_(b"\xff\xfe"), "is damaged"),
    "voxels negative": ("geometry/walls/0", "n_voxels", -1, "allowed are 0 to"),
    "missed too many": ("geometry/cuts", "n_missed", 10**6, "allowed are 0 to"),
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_wrong_attributes_are_refused(path, name):
    place, attribute, value, problem = ATTRIBUTES[name]
    with h5py.File(path, "r+") as file:
        file[place].attrs[attribute] = value
    with pytest.raises(GeometryError) as caught:
        read_geometry(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: /geometry") and problem in message and message.isprintable()


@pytest.mark.parametrize("place", ["geometry", "geometry/openings/1", "geometry/walls/0", "geometry/cuts"])
def test_a_missing_attribute_is_refused(path, place):
    with h5py.File(path, "r+") as file:
        name = sorted(set(file[place].attrs) - {"is_solid"})[0]
        del file[place].attrs[name]
    refused(path, f"/{place}/{name}", "is missing")


def test_values_of_another_file_are_refused(path, tmp_path):
    (tmp_path / "secret").write_bytes(bytes(4096))
    size = replaced(path, "geometry/voxel").size
    with h5py.File(path, "r+") as file:
        external = [(str(tmp_path / "secret"), 0, 4096)]
        file.create_dataset("geometry/voxel", (size,), "i8", external=external)
    refused(path, "/geometry/voxel", "has its values in another file")


@pytest.mark.parametrize(
    "link", [h5py.ExternalLink("other.h5", "/a"), h5py.SoftLink("/partition")], ids=["file", "soft"]
)
def test_links_are_refused(path, link):
    replaced(path, "geometry/voxel")
    with h5py.File(path, "r+") as file:
        file["geometry/voxel"] = link
    refused(path, "/geometry/voxel", "is a link to another place or file")


@pytest.mark.parametrize("chunks", [None, (2**10,)], ids=["whole", "in chunks"])
def test_values_that_no_space_was_given_to_are_refused(path, chunks):
    replaced(path, "geometry/voxel", shape=(2**40,), dtype="i8", chunks=chunks)
    refused(path, "/geometry/voxel", f"declares {2**43} bytes, of which the file holds 0")


def test_compressed_values_are_refused(path):
    replaced(path, "geometry/voxel", data=np.zeros(10**6, np.int64), compression="gzip")
    refused(path, "/geometry/voxel", "is compressed")


@pytest.mark.parametrize("dtype", ["int32", "float64", ">i8"])
def test_another_type_is_refused(path, dtype):
    values = replaced(path, "geometry/voxel")
    with h5py.File(path, "r+") as file:
        file["geometry/voxel"] = values.astype(dtype)
    refused(path, "/geometry/voxel", "it must be one row of int64")


def test_random_damages_are_refused_with_one_line_or_harmless(whole, path):
    wrong = []
    for number in range(N_DAMAGES):
        path.write_bytes(whole)
        damage = damage_of(1, number)
        words = damage.apply(path)
        try:
            nodes = read_geometry(path)
            owners = [read_partition(path, record.name) for record in list_partitions(path)]
        except (GeometryError, PartitionError) as error:
            message = str(error)
            wrong += [] if str(path) in message and message.isprintable() and len(message) < 1000 else [message]
            continue
        if not damage.may_be_read or any(owner.size != nodes.n_nodes for owner in owners):
            wrong.append(words)
    assert not wrong


def test_an_opening_without_labels_or_nodes_is_read(nodes, tmp_path):
    third = replace(OUTLET, name="third")
    start = np.append(nodes.group_start, nodes.n_nodes)
    write_geometry(tmp_path / "case.h5", replace(nodes, openings=(INLET, OUTLET, third), group_start=start))
    assert np.array_equal(read_geometry(tmp_path / "case.h5").group_start, start)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"origin_m": (0.0, np.nan, 0.0)}, "the origin is"),
        ({"spacing_m": 1e300}, "voxel spacing is 1e\\+300 m"),
        ({"openings": (INLET, replace(OUTLET, name="a\nb"))}, "the name 'a.*b' is not of 1 to 255 printable letters"),
    ],
)
def test_what_would_be_refused_is_not_written(nodes, tmp_path, change, problem):
    with pytest.raises(GeometryError, match=problem):
        write_geometry(tmp_path / "case.h5", replace(nodes, **change))
    assert not list(tmp_path.iterdir())

"""HemeLB geometry files: a small one written here, and two that HemeLB made."""

import struct
import zlib
from itertools import product

import numpy as np
import pytest

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.gmy import read_gmy, read_sites
from muphy_lb.geometry.load import load_voxels
from muphy_lb.geometry.neighbours import DIRECTIONS, FIRST_OPENING_LINK, WALL_LINK, cut_links, neighbour_table
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FLUID, opening_flag
from tests.unit.geometry.links import cut_points

EDGE = 4
INLET, OUTLET = 2, 3
PIPE = "pipe_hemelb/cyl_l100_r5.gmy", 3.333e-7
BIFURCATION = "bifurcation_hemepure/bifurcation.gmy", 6.667e-5


def site(fluid, x, y, z):
    """The bytes of one site of a duct along z: walls lie a quarter of a link away, planes of openings a half."""
    if not fluid(x, y, z):
        return struct.pack(">I", 0)
    out = struct.pack(">I", 1)
    for dx, dy, dz in product((-1, 0, 1), repeat=3):
        place = (x + dx, y + dy, z + dz)
        if (dx, dy, dz) == (0, 0, 0):
            continue
        if fluid(*place):
            out += struct.pack(">I", 0)
        elif not fluid(place[0], place[1], 0):
            out += struct.pack(">If", 1, 0.25)
        else:
            out += struct.pack(">IIf", INLET if dz < 0 else OUTLET, 0, 0.5)
    return out + (struct.pack(">I3f", 1, 1.0, 0.0, 0.0) if x == 1 else struct.pack(">I", 0))


def duct(n_z=2, version=4, width=2):
    """A file of 1 x 1 x (n_z + 1) blocks, the last of which is solid; the duct is 2 x ``width`` sites wide."""

    def fluid(x, y, z):
        return 1 <= x <= 2 and 1 <= y <= width and 0 <= z < n_z * EDGE

    header, body = b"", b""
    for block in range(n_z + 1):
        places = [(x, y, z + block * EDGE) for x, y, z in product(range(EDGE), repeat=3)]
        n_fluid = sum(fluid(*place) for place in places)
        plain = b"".join(site(fluid, *place) for place in places)
        packed = zlib.compress(plain) if n_fluid else b""
        header += struct.pack(">3I", n_fluid, len(packed), len(plain) if n_fluid else 0)
        body += packed
    return struct.pack(">8I", 0x686C6221, 0x676D7904, version, 1, 1, n_z + 1, EDGE, 0) + header + body


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "duct.gmy"
    path.write_bytes(duct())
    return path


@pytest.fixture(scope="module", params=[PIPE, BIFURCATION], ids=["pipe", "bifurcation"])
def real(request, data_dir):
    """A file of HemeLB's and its voxels."""
    name, spacing_m = request.param
    return name, spacing_m, data_dir / name, read_gmy(data_dir / name, spacing_m)


def test_fluid_sites_become_fluid_voxels_x_slowest_in_the_file_and_openings_lie_where_links_lead(path):
    flags = read_gmy(path, 1.0).flags
    assert flags.shape == (3 * EDGE + 2, EDGE + 2, EDGE + 2)
    assert np.array_equal(np.argwhere(flags == FLUID), list(product(range(1, 9), (2, 3), (2, 3))))
    assert np.all(flags[0, 2:4, 2:4] == opening_flag(0)) and np.all(flags[9, 2:4, 2:4] == opening_flag(1))
    assert np.count_nonzero(flags >= opening_flag(0)) == 8


def test_openings_are_measured_from_their_links(path):
    inlet, outlet = read_gmy(path, 0.5, origin_m=(10.0, 20.0, 30.0)).openings
    assert (inlet.name, inlet.kind, outlet.name, outlet.kind) == ("inlet_0", "inlet", "outlet_0", "outlet")
    assert inlet.centre_m == pytest.approx((10.75, 20.75, 29.75)) and inlet.normal == pytest.approx((0, 0, 1))
    assert outlet.centre_m == pytest.approx((10.75, 20.75, 33.75)) and outlet.normal == pytest.approx((0, 0, -1))
    assert np.pi * inlet.radius_m**2 == pytest.approx(4 * 0.5**2)


def test_cut_distances_are_those_of_the_file(path):
    voxels = read_gmy(path, 1.0)
    cuts = cut_links(build_nodes(voxels), voxels.wall_shape).cuts
    assert cuts.n_missed == 0 and np.all(cuts.distance == 0.25)


def test_an_opening_of_one_row_has_the_normal_of_its_links(tmp_path):
    (tmp_path / "slit.gmy").write_bytes(duct(width=1))
    inlet, outlet = read_gmy(tmp_path / "slit.gmy", 1.0).openings
    assert inlet.normal == pytest.approx((0, 0, 1)) and outlet.normal == pytest.approx((0, 0, -1))


def test_the_loader_asks_for_the_spacing(path):
    with pytest.raises(GeometryError, match="needs the option spacing_m"):
        load_voxels(path)


def test_another_version_is_refused(tmp_path):
    (tmp_path / "old.gmy").write_bytes(duct(version=3))
    with pytest.raises(GeometryError, match="of version 3; only version 4"):
        read_gmy(tmp_path / "old.gmy", 1.0)


@pytest.mark.parametrize("n_bytes", [0, 10, 40, 100, -1])
def test_a_truncated_file_is_refused(path, n_bytes):
    path.write_bytes(path.read_bytes()[:n_bytes])
    with pytest.raises(GeometryError, match=r"cannot read .*duct.gmy"):
        read_gmy(path, 1.0)


@pytest.mark.parametrize("word", [1, 2])
def test_a_block_that_breaks_the_format_is_refused(tmp_path, word):
    plain = struct.pack(">2I", 1, 9) if word == 1 else struct.pack(">2I", 1, 1)
    packed = zlib.compress(plain)
    words = struct.pack(">11I", 0x686C6221, 0x676D7904, 4, 1, 1, 1, 1, 0, 1, len(packed), len(plain))
    (tmp_path / "bad.gmy").write_bytes(words + packed)
    with pytest.raises(GeometryError, match="breaks the format"):
        read_gmy(tmp_path / "bad.gmy", 1.0)


def test_a_file_without_fluid_is_refused(tmp_path):
    (tmp_path / "solid.gmy").write_bytes(duct(n_z=0))
    with pytest.raises(GeometryError, match="holds no fluid"):
        read_gmy(tmp_path / "solid.gmy", 1.0)


def test_real_files_have_the_known_fluid_sites(real):
    name, _, path, voxels = real
    assert voxels.n_fluid == read_sites(path)[0].sum() == {PIPE: 212_400, BIFURCATION: 197_431}[(name, real[1])]


def test_the_bifurcation_has_the_known_links(data_dir):
    links = read_sites(data_dir / BIFURCATION[0])[1]
    assert np.bincount(links.kind).tolist() == [0, 233_698, 6_132, 11_936]


def test_links_of_real_files_lead_out_of_the_fluid(real):
    fluid, links = read_sites(real[2])
    x, y, z = (links.target + 1).T
    assert not np.pad(fluid, 1)[z, y, x].any()


def test_cut_links_of_real_files_are_all_in_the_table(real):
    nodes = cut_links(build_nodes(real[3]), real[3].wall_shape)
    table = neighbour_table(nodes, DIRECTIONS)
    assert nodes.cuts.n_missed == 0 and nodes.cuts.n_links == np.count_nonzero(table == WALL_LINK)


def test_few_links_change_between_wall_and_opening(real):
    """A voxel that both wall and opening links lead to can be only one of the two."""
    links, table = read_sites(real[2])[1], neighbour_table(build_nodes(real[3]), DIRECTIONS)
    n_opening = np.count_nonzero(table <= FIRST_OPENING_LINK)
    assert n_opening == pytest.approx(np.count_nonzero(links.kind > 1), rel=0.005)


def test_openings_of_the_bifurcation_are_the_published_ones(data_dir):
    """Centres to half a voxel along the disc: it is cut by a staircase. Normals are exact."""
    openings = read_gmy(data_dir / BIFURCATION[0], 1.0).openings
    centres = [(77.999, 18.1515, 3.0), (13.7137, 18.1515, 173.351), (142.284, 18.1515, 173.351)]
    normals = [(0, 0, 1), (0.707107, 0, -0.707107), (-0.707107, 0, -0.707107)]
    np.testing.assert_allclose([o.normal for o in openings], normals, atol=1e-5)
    np.testing.assert_allclose([o.centre_m for o in openings], centres, atol=0.5)
    assert [o.radius_m for o in openings] == pytest.approx([15.0] * 3, rel=0.02)


def test_walls_of_the_real_pipe_lie_on_its_cylinder(data_dir):
    voxels = read_gmy(data_dir / PIPE[0], PIPE[1], (-5.16615e-06, -5.16615e-06, -5.016165e-05))
    nodes = cut_links(build_nodes(voxels), voxels.wall_shape)
    place = cut_points(nodes)[:, :2]
    radius_m = np.linalg.norm(np.array(voxels.origin_m[:2]) + voxels.spacing_m * place, axis=1)
    assert np.median(radius_m) == pytest.approx(5e-6, rel=0.01)

"""Real artery surfaces: volumes, openings, and the refusal of surfaces with holes."""

import json

import numpy as np
import pytest

from muphy_lb.geometry.clean import clean
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.load import load_voxels, load_with_notes
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.openings.carve import carve
from muphy_lb.geometry.surfaces.surface import diagnose, read_surface, voxelise
from muphy_lb.geometry.voxels import Opening

AORTA = ("aorta_openlb/aorta3d.stl", "mm", 30_260e-9)
BIFURCATION = ("bifurcation_openlb/bifurcation3d.stl", "m", 3.630e-5)
SPACING_M = 5e-4


def closed_surface(data_dir, name, unit):
    return read_surface(data_dir / name, unit)


def published_openings(path, normal_names):
    """The openings of a data folder's openings.json."""
    content = json.loads(path.read_text())
    openings = []
    for kind, key in (("inlet", "inlet"), ("outlet", "outlets")):
        for k, record in enumerate(content[key]):
            normal = next(record[name] for name in normal_names if name in record)
            openings.append(Opening(f"{kind}_{k}", kind, tuple(record["centre"]), tuple(normal), record["radius"]))
    return openings


@pytest.mark.parametrize(("name", "unit", "volume"), [AORTA, BIFURCATION])
def test_closed_surfaces_are_found_closed(data_dir, name, unit, volume):
    report = diagnose(closed_surface(data_dir, name, unit))
    assert (report.is_closed, report.winding) == (True, "outward")
    assert report.volume_m3 == pytest.approx(volume, rel=1e-3)


@pytest.mark.parametrize(("name", "unit", "volume"), [AORTA, BIFURCATION])
def test_voxels_have_the_volume_of_the_surface(data_dir, name, unit, volume):
    voxels = voxelise(closed_surface(data_dir, name, unit), SPACING_M)
    assert voxels.n_fluid * SPACING_M**3 == pytest.approx(volume, rel=5e-3)


@pytest.mark.parametrize(
    ("name", "unit", "loop"),
    [
        ("aorta_vmtk/aorta-surface-open-ends.stl", "mm", (220.98, 177.78, 20.99)),
        ("bifurcation_hemepure/bifurcation.stl", "m", (0.0, 0.0, -7.0)),
    ],
)
def test_open_surfaces_are_refused_with_their_three_holes(data_dir, name, unit, loop):
    surface = read_surface(data_dir / name, unit)
    centres = diagnose(surface).loop_centres
    assert len(centres) == 3
    assert np.linalg.norm(centres - loop, axis=1).min() < 0.02
    with pytest.raises(GeometryError, match="3 boundary loops"):
        voxelise(surface, SPACING_M * (1 if unit == "mm" else 100))


@pytest.mark.parametrize(
    ("name", "unit", "normal_names"),
    [(*AORTA[:2], ("normal_axis",)), (*BIFURCATION[:2], ("normal_into_flow", "normal_inward"))],
)
def test_published_openings_cut_the_vessel_into_one_piece(data_dir, name, unit, normal_names):
    openings = published_openings((data_dir / name).parent / "openings.json", normal_names)
    voxels = carve(voxelise(closed_surface(data_dir, name, unit), SPACING_M), openings)
    nodes, report = clean(build_nodes(voxels), "openings")
    assert set(np.unique(nodes.label_number)) == {0, 1, 2}
    assert report.n_kept > 0.95 * (report.n_kept + report.n_dropped)


def test_outward_normals_of_the_aorta_are_reversed(data_dir):
    openings = published_openings(data_dir / "aorta_openlb/openings.json", ("normal_axis",))
    voxels = carve(voxelise(closed_surface(data_dir, *AORTA[:2]), SPACING_M), openings)
    np.testing.assert_allclose([o.normal for o in voxels.openings], [(0, -1, 0), (0, 1, 0), (0, 1, 0)], atol=1e-12)


def test_the_inlet_of_the_aorta_keeps_its_true_section(data_dir):
    # The lumen's area is that of a circle of 10.35 mm, smaller than the published disc of 11.23 mm.
    openings = published_openings(data_dir / "aorta_openlb/openings.json", ("normal_axis",))[:1]
    nodes = build_nodes(carve(voxelise(closed_surface(data_dir, *AORTA[:2]), SPACING_M), openings))
    assert nodes.label_voxel.size * SPACING_M**2 == pytest.approx(np.pi * 0.01035**2, rel=0.02)


def test_open_surfaces_are_loaded_with_their_published_volume_and_a_note(data_dir):
    path = data_dir / "aorta_vmtk/aorta-surface-open-ends.stl"
    loaded = load_with_notes(path, unit="mm", spacing_m=SPACING_M)
    assert loaded.voxels.n_fluid * SPACING_M**3 == pytest.approx(12_452e-9, rel=5e-3)
    assert any("3 open ends closed" in note for note in loaded.notes)


def test_an_anisotropic_level_set_becomes_cubes(data_dir):
    voxels = load_voxels(data_dir / "aorta_vmtk/aorta-levelset.mha", fluid_below=0.0)
    assert voxels.spacing_m == pytest.approx(0.878906e-3)


def test_a_published_tube_has_its_published_porosity(data_dir):
    voxels = load_voxels(
        data_dir / "channels_poremaps/ptube_54_54_50_vs_2e-05.raw",
        shape_zyx=(50, 54, 54),
        dtype="uint8",
        header_bytes=0,
        fluid_value=0,
        spacing_m=2e-5,
    )
    assert voxels.n_fluid / voxels.flags.size == pytest.approx(0.67764, abs=1e-5)

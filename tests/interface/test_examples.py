"""Every example loads, is sound, and runs."""

import json
import math
from pathlib import Path

import pytest

from muphy_lb.case.case import load_case
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.loop import Run
from muphy_lb.run.simulation import Simulation
from muphy_lb.setup.numerics import resolve

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.toml"))
AORTA = "aorta_openlb/aorta3d.stl"
# Coarser or shorter, so that a test takes seconds.
TINY = {
    "aorta": ["geometry.spacing_m=1.5e-3", "lattice.lattice_velocity=0.08"],
    "bubble": ["compute.backend=numpy", "geometry.spacing_m=1e-3", "geometry.options.length=24"]
    + ["geometry.options.height=48", "fluid.kinematic_viscosity_m2_s=4e-4"],
    "channel": ["geometry.options.length=40", "geometry.options.height=16", "compute.precision=fp32"],
    "cylinder": [],
    "pulsatile": ["geometry.spacing_m=3e-4"],
    "dam": ["compute.backend=numpy", "geometry.spacing_m=6e-3", "geometry.options.length=32"]
    + ["geometry.options.height=16", "geometry.options.width=6"],
    "drop": ["compute.backend=numpy", "geometry.spacing_m=2.5e-4", "geometry.options.length=16"]
    + ["geometry.options.height=16", "geometry.options.width=16"],
    "filling": ["compute.backend=numpy", "geometry.spacing_m=0.02", "fluid.kinematic_viscosity_m2_s=2e-2"],
    "heated_cavity": ["geometry.options.size=24"],
    "polymer": [
        "compute.backend=numpy",
        "particles.chain.beads_per_chain=8",
        "particles.chain.start_m=[6e-8,2.25e-8,2.25e-8]",
    ],
    "porous": ["geometry.options.size=20", "geometry.options.radius=4.0"],
    "tilting_tank": ["compute.backend=numpy", "geometry.spacing_m=8e-3", "geometry.options.length=24"]
    + ["geometry.options.height=14", "geometry.options.width=4"],
    "tracers": ["geometry.spacing_m=5e-4", "geometry.options.radius=4.0", "geometry.options.length=40"]
    + ["geometry.options.extent=16.0", "particles.dye.count=500", "particles.dye.start_s=0.0"],
    "vessel": ["geometry.spacing_m=3e-4", "geometry.options.generations=2", "fluid.kinematic_viscosity_m2_s=1e-5"],
    "windkessel": ["geometry.spacing_m=4e-4"],
}
SHORT = ["run.time_s=", "run.steps=60", "run.ramp_steps=20", "output.series_every_steps=20"]


def load_example(name, request, changes=()):
    """The case of an example; the aorta's surface comes from the real data, or the test is skipped."""
    if name == "aorta":
        changes = [*changes, f'geometry.file="{request.getfixturevalue("data_dir") / AORTA}"']
    return load_case(EXAMPLES / f"{name}.toml", changes)


@pytest.mark.parametrize("name", NAMES)
def test_example_is_sound(name):
    numerics = resolve(load_case(EXAMPLES / f"{name}.toml"))
    assert numerics.warnings == ()
    assert numerics.relaxation_time > 0.52 and (numerics.mach or 0.0) < 0.17


@pytest.mark.parametrize("name", NAMES)
def test_example_ends_by_itself(name):
    case = load_case(EXAMPLES / f"{name}.toml")
    beats = any(opening.waveform for opening in case.openings)
    moves_on = beats or case.particles or case.free_surface
    assert case.run.time_s is not None if moves_on else case.run.steady_tolerance is not None


@pytest.mark.parametrize("name", NAMES)
def test_example_runs(name, request, tmp_path):
    simulation = Simulation(load_example(name, request, TINY[name] + SHORT), SerialCommunicator())
    Run(simulation, tmp_path).execute()
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["steps"] == 60 and 0.0 < summary["max_velocity_m_s"] < math.inf
    assert (tmp_path / "picture.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", NAMES)
def test_the_readme_tells_about_the_example(name):
    assert f"{name}.toml" in (EXAMPLES / "README.md").read_text()

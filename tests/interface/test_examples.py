"""Every example loads, is sound, and runs."""

import json
import math
import tomllib
from pathlib import Path

import pytest

from muphy_lb.__main__ import main
from muphy_lb.backends import copying
from muphy_lb.case.case import case_from_dict, load_case
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from muphy_lb.setup.advice.stability import collision_for_small_viscosity
from muphy_lb.setup.numerics import resolve

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.toml"))
AORTA = "aorta_openlb/aorta3d.stl"
# Coarser or shorter, so that a test takes seconds.
TINY = {
    "aorta": ["geometry.spacing_m=1.5e-3", "lattice.lattice_velocity=0.08"],
    "aorta_pulse": ["compute.backend=numpy", "geometry.spacing_m=1.5e-3"],
    "bubble": ["compute.backend=numpy", "geometry.spacing_m=1e-3", "geometry.options.length=24"]
    + ["geometry.options.height=48", "fluid.kinematic_viscosity_m2_s=4e-4"],
    "channel": ["geometry.options.length=40", "geometry.options.height=16", "compute.precision=fp32"],
    "coil_in_vessel": ["geometry.options.length=40", "porous_medium.coil.centre_m=[4e-3, 8e-4, 2.2e-3]"],
    "cylinder": [],
    "dissolving_grain": [],
    "drainage": [],
    "drug_uptake": [],
    "drug_carriers": ["geometry.spacing_m=3e-4", "fluid.kinematic_viscosity_m2_s=1e-5", "particles.carriers.count=500"]
    + ["particles.carriers.start_s=0.0"],
    "pulsatile": ["geometry.spacing_m=3e-4"],
    "dam": ["compute.backend=numpy", "geometry.spacing_m=6e-3", "geometry.options.length=32"]
    + ["geometry.options.height=16", "geometry.options.width=6"],
    "dam_obstacle": ["compute.backend=numpy", "geometry.spacing_m=6e-3", "geometry.options.length=32"]
    + ["geometry.options.height=16", "geometry.options.width=11", "geometry.options.obstacle=[18, 0, 4, 20, 3, 6]"]
    + ["free_surface.gauges.foot.position_m=[0.102, 0.006, 0.03]"]
    + ["walls.block.box_m=[[0.105, -0.003, 0.021], [0.123, 0.021, 0.039]]"],
    "drop": ["compute.backend=numpy", "geometry.spacing_m=2.5e-4", "geometry.options.length=16"]
    + ["geometry.options.height=16", "geometry.options.width=16"],
    "filling": ["compute.backend=numpy", "geometry.spacing_m=0.02", "fluid.kinematic_viscosity_m2_s=2e-2"],
    "heated_cavity": ["geometry.options.size=24"],
    "oil_in_rock": ["geometry.options.size=24"],
    "polymer": [
        "compute.backend=numpy",
        "particles.chain.beads_per_chain=8",
        "particles.chain.start_m=[6e-8,2.25e-8,2.25e-8]",
    ],
    "porous": ["geometry.options.size=20", "geometry.options.radius=4.0"],
    "rock_tracers": ["geometry.options.size=20", "geometry.options.radius=4.0", "particles.dye.count=500"]
    + ["particles.dye.start_s=0.0", "openings.inlet.centre_m=[0.0, 1e-4, 1e-4]"]
    + ["openings.outlet.centre_m=[1.9e-4, 1e-4, 1e-4]", "particles.dye.planes.middle.point_m=[1e-4, 0.0, 0.0]"],
    "rock_dispersion": ["geometry.options.size=16", "geometry.options.radius=5.0"],
    "shaken_tank": ["compute.backend=numpy", "geometry.spacing_m=8e-3", "geometry.options.length=24"]
    + ["geometry.options.height=18", "free_surface.gauges.right.position_m=[0.18, 0.004, 0.0]"],
    "rock_blocks": ["geometry.options.size=20", "geometry.options.radius=4.0"],
    "tilting_tank": ["compute.backend=numpy", "geometry.spacing_m=8e-3", "geometry.options.length=24"]
    + ["geometry.options.height=14", "geometry.options.width=4"],
    "tracers": ["geometry.spacing_m=5e-4", "geometry.options.radius=4.0", "geometry.options.length=40"]
    + ["geometry.options.extent=16.0", "particles.dye.count=500", "particles.dye.start_s=0.0"],
    "uncertain_vessel": ["geometry.spacing_m=3e-4"],
    "vessel": ["geometry.spacing_m=3e-4", "geometry.options.generations=2", "fluid.kinematic_viscosity_m2_s=1e-5"],
    "windkessel": ["geometry.spacing_m=4e-4"],
}
RUN = ("channel", "dam", "heated_cavity", "tracers", "vessel")
"""Examples that a push runs: one of each kind."""
COARSE = "the cell Reynolds number is"
SHORT = ["run.time_s=", "run.steps=60", "run.ramp_steps=20", "output.series_every_steps=20"]


def load_example(name, request, changes=()):
    """The case of an example; the aorta's surface comes from the real data, or the test is skipped."""
    if name.startswith("aorta"):
        changes = [*changes, f'geometry.file="{request.getfixturevalue("data_dir") / AORTA}"']
    return load_case(EXAMPLES / f"{name}.toml", changes)


def doubts(case, comment):
    """What speaks against an example. Its relaxation time may be close to 1/2 only with the collision that is made for
    that, and if its comment tells of the warning that users then see."""
    numerics, lattice = resolve(case), case.lattice
    warnings = list(numerics.warnings)
    if 0.5 < numerics.relaxation_time < 0.52:
        best = collision_for_small_viscosity(lattice.name, lattice.equilibrium)
        if lattice.collision != best:
            yield f"relaxation time {numerics.relaxation_time} with {lattice.collision}"
        elif COARSE in comment:
            warnings = [warning for warning in warnings if not warning.startswith(COARSE)]
    if (numerics.mach or 0.0) >= 0.17:
        yield f"Mach number {numerics.mach}"
    yield from warnings


@pytest.mark.parametrize("name", NAMES)
def test_example_is_sound(name):
    path = EXAMPLES / f"{name}.toml"
    assert list(doubts(load_case(path), path.read_text())) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_case_that_a_run_writes_is_read_again(name):
    text = load_case(EXAMPLES / f"{name}.toml").to_toml()
    assert case_from_dict(tomllib.loads(text), EXAMPLES).to_toml() == text


def test_a_short_relaxation_time_is_sound_only_with_its_collision_and_said():
    path = EXAMPLES / "aorta_pulse.toml"
    text = path.read_text()
    (untold,) = doubts(load_case(path), "")
    assert untold.startswith(COARSE)
    assert any("with trt" in doubt for doubt in doubts(load_case(path, ["lattice.collision=trt"]), text))
    faster = doubts(load_case(path, ["lattice.time_step_s=6e-5"]), text)
    assert any("Mach" in doubt for doubt in faster)


@pytest.mark.parametrize("name", NAMES)
def test_example_ends_by_itself(name):
    case = load_case(EXAMPLES / f"{name}.toml")
    beats = any(opening.waveform for opening in case.openings)
    moves_on = beats or case.particles or case.free_surface or case.two_fluid or case.species
    assert case.run.time_s is not None if moves_on else case.run.steady_tolerance is not None


ONE_OF_EACH = pytest.mark.parametrize(
    "name", [*RUN, *(pytest.param(name, marks=pytest.mark.night) for name in NAMES if name not in RUN)]
)


@ONE_OF_EACH
def test_example_runs(name, request, tmp_path):
    simulation = Solver(load_example(name, request, TINY[name] + SHORT), SerialCommunicator())
    Run(simulation, tmp_path).execute()
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["steps"] == 60 and 0.0 < summary["max_velocity_m_s"] < math.inf
    assert (tmp_path / "picture.png").stat().st_size > 10_000


@ONE_OF_EACH
def test_example_is_timed_by_bench(name, request, monkeypatch, capsys):
    monkeypatch.setattr(copying, "COPY_BYTES_ON_HOST", 1 << 16)
    changes = [f"--set={change}" for change in TINY[name]]
    path = EXAMPLES / f"{name}.toml"
    if name.startswith("aorta"):
        changes.append(f'--set=geometry.file="{request.getfixturevalue("data_dir") / AORTA}"')
    assert main(["bench", str(path), *changes, "--backend=numpy", "--steps=1", "--runs=1"]) == 0
    said = capsys.readouterr().out
    assert "B/update" in said and "CPU (NumPy specification)" in said


@pytest.mark.parametrize("name", NAMES)
def test_the_readme_tells_about_the_example(name):
    assert f"{name}.toml" in (EXAMPLES / "README.md").read_text()

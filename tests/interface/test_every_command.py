"""Every command of ``--help`` with every option that it documents, and every physics through every command that takes
a case: each line is typed here once, on the smallest case that has what it needs."""

import argparse
import os
import runpy
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import tifffile

from muphy_lb.__main__ import COMMANDS, DOCTOR, PREPARING, main
from muphy_lb.apps.rock.permeability import UNSETTLED_EXIT_CODE
from muphy_lb.base.registry import PHYSICS
from muphy_lb.bench import whole
from muphy_lb.bench.papers import table1
from muphy_lb.doctor.command import parser as doctor_parser
from muphy_lb.geometry.__main__ import _parser as geometry_parser
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.partition.__main__ import _parser as partition_parser
from muphy_lb.run.verdict import DOUBTFUL_EXIT_CODE
from tests.conftest import HANGS_S, ROOT
from tests.unit.geometry.surfaces import tube
from tests.unit.geometry.test_surface import write_stl

DUCT = """
title = "duct"
[geometry]
shape = "stenosis"
spacing_m = 1e-4
options = {length = 12, radius = 3.0, severity = 0.1, extent = 6.0}
[[openings]]
name = "inlet"
velocity_m_s = 0.01
[[openings]]
name = "outlet"
pressure_pa = 0.0
[fluid]
density_kg_m3 = 1000.0
kinematic_viscosity_m2_s = 1e-6
[lattice]
relaxation_time = 0.8
[run]
steps = 4
check_interval_steps = 2
[output]
series_every_steps = 2
checkpoint_every_steps = 2
[compute]
backend = "numpy"
precision = "fp64"
"""
SPHERES = """
title = "spheres"
[geometry]
shape = "sphere_pack"
spacing_m = 1e-5
options = {size = 10, radius = 3.0, porosity = 0.7}
[fluid]
density_kg_m3 = 1000.0
kinematic_viscosity_m2_s = 1e-6
[flow]
acceleration_m_s2 = [1.0, 0.0, 0.0]
[lattice]
relaxation_time = 0.8
[run]
steps = 4
[compute]
backend = "numpy"
"""
TANK = """
title = "dam"
[geometry]
shape = "tank"
spacing_m = 6e-3
options = {length = 12, height = 8, width = 4}
[fluid]
density_kg_m3 = 950.0
kinematic_viscosity_m2_s = 1e-3
[flow]
acceleration_m_s2 = [0.0, -9.81, 0.0]
[[free_surface.liquid]]
box_m = [[-1.0, -1.0, -1.0], [0.03, 0.03, 1.0]]
[lattice]
time_step_s = 2e-4
[run]
steps = 4
[compute]
backend = "numpy"
"""
CAVITY = """
title = "cavity"
[geometry]
shape = "heated_cavity"
spacing_m = 1e-3
options = {size = 8, dimension = 2}
[[walls]]
name = "cold"
temperature_k = 288.0
[[walls]]
name = "hot"
temperature_k = 298.0
[fluid]
density_kg_m3 = 1.2
kinematic_viscosity_m2_s = 1.5e-5
[thermal]
reference_k = 293.0
prandtl = 0.71
rayleigh = 1e3
length_m = 8e-3
gravity_m_s2 = [0.0, -9.81, 0.0]
[lattice]
name = "D2Q9"
relaxation_time = 0.56
[run]
steps = 4
[compute]
backend = "numpy"
"""
OIL = "[two_fluid]\ninterfacial_tension_n_m = 1e-6\nkinematic_viscosity_m2_s = 2e-6\n"
FLUCTUATING = SPHERES.replace("1e-5", "2.5e-9").replace("relaxation_time = 0.8", "time_step_s = 1e-12").replace(
    "acceleration_m_s2 = [1.0, 0.0, 0.0]", ""
).replace("[flow]", "temperature_k = 300.0\n[fluctuating]")  # fmt: skip
TRACERS = DUCT + '[[particles]]\nname = "dye"\nkind = "tracers"\ncount = 20\n'
SMALLEST = {
    "thermal": CAVITY,
    "fluctuating": FLUCTUATING,
    "particles": TRACERS,
    "free_surface": TANK,
    "two_fluid": DUCT + OIL,
    "age": DUCT + "[age]\nschmidt = 1.0\n",
    "species": DUCT
    + "[[species]]\nname = 'drug'\nschmidt = 1.0\nrate = '-k * drug**2'\nrates = {k = 1e-3}\ninitial = 1.0\n",
    "dispersion": SPHERES + "[dispersion]\ndiffusivities_m2_s = [1e-6]\n",
    "dissipation": DUCT + "[dissipation]\n",
    "dissolution": DUCT.replace("[lattice]", "[lattice]\nwalls = 'bouzidi'")
    + "[[species]]\nname = 'salt'\nschmidt = 1.0\n[[walls]]\nname = 'grain'\nspecies_uptake_m_s = {salt = 1e-5}\n"
    + "[dissolution]\nwall = 'grain'\nspecies = 'salt'\nrole = 'product'\nmolar_volume_m3 = 1e-5\nend_s = 1.0\n"
    + "centre_m = [5.5e-4, 3e-4, 3e-4]\nradius_m = 1.6e-4\n",
    "porous_medium": DUCT + "[[porous_medium]]\nname = 'clot'\npermeability_m2 = 1e-7\n",
}
"""The smallest case with each physics."""
SPHERES_STUDY = """
case = "spheres.toml"
[study]
samples = 2
[[study.parameters]]
name = "density"
key = "fluid.density_kg_m3"
uniform = [999.0, 1001.0]
"""
WITH_A_CASE = """
info CASE --set run.steps=3
run CASE -o out --overwrite --set run.steps=2 --set output.checkpoint_every_steps=2 --set output.picture=false
resume out --set run.steps=4
plot out
trace CASE --steps 2 -o trace.json
bench CASE --steps 2 --runs 1
scaling CASE --steps 2 --runs 1
slurm CASE
"""
LINES = (Path(__file__).parent / "typed_lines.txt").read_text()
OWN_PARSERS = {"geometry": geometry_parser, "partition": partition_parser, "doctor": doctor_parser}


def lines(text: str) -> list[list[str]]:
    return [shlex.split(line) for line in text.strip().splitlines()]


def documented(command: str) -> list[tuple[str, ...]]:
    """The options of a command, each with its spellings."""
    if command in OWN_PARSERS:
        parser = OWN_PARSERS[command]()
    else:
        COMMANDS[command].add_options(parser := argparse.ArgumentParser())
    actions = [action for action in parser._actions if action.option_strings and "--help" not in action.option_strings]
    return [tuple(action.option_strings) for action in actions]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files that the lines name."""
    folder = tmp_path_factory.mktemp("typed")
    texts = {"duct": DUCT, "spheres": SPHERES, "spheres_study": SPHERES_STUDY, "oil_spheres": SPHERES + OIL}
    texts["dissolution"] = SMALLEST["dissolution"]
    texts["oil_duct"] = DUCT.replace("velocity_m_s = 0.01", "pressure_pa = 0.1\nsecond_fluid = 1.0") + OIL
    for name, text in texts.items():
        (folder / f"{name}.toml").write_text(text)
    write_stl(folder / "tube.stl", tube(radius=0.5, length=2.0))
    rock = (np.random.default_rng(1).random((8, 8, 8)) < 0.3).astype(np.uint8)
    (folder / "rock.raw").write_bytes(rock.tobytes())
    grey = np.ones((8, 8, 8))
    grey[:, 2:6, 2:6] = 0.0
    np.savez(folder / "grey.npz", grey=grey)
    labels = np.zeros((8, 8, 8), np.uint8)
    labels[:, 2:6, 2:6], labels[0, 2:6, 2:6], labels[1:, 6:, :] = 1, 3, 2
    header = "ObjectType = Image\nNDims = 3\nDimSize = 8 8 8\nElementSpacing = 1 1 1\nElementType = MET_UCHAR\n"
    (folder / "labels.mha").write_bytes(f"{header}ElementDataFile = LOCAL\n".encode() + labels.tobytes())
    channels = np.where(labels == 1, np.uint8(0), np.uint8(200))
    stack = np.stack([channels, channels], axis=1)[None]  # time, z, channel, y, x
    tifffile.imwrite(folder / "stack.tif", stack, imagej=True, metadata={"axes": "TZCYX"})
    return folder


@pytest.fixture
def typed(monkeypatch, folder, capsys):
    """Function ``typed(words)``: the exit code of a command in that folder, and its output."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(table1, "PAPER_BOX", (6, 5, 4))
    monkeypatch.setattr(table1, "ALIGNED_BOX", (8, 4, 4))
    monkeypatch.setattr(whole, "KEPT_IN", ())  # a first start that compiles nothing

    def abort(self, exit_code):
        raise SystemExit(exit_code)

    monkeypatch.setattr(SerialCommunicator, "abort", abort)

    def type_in(words):
        try:
            code = main(words)
        except SystemExit as ended:
            code = ended.code
        return code, "".join(capsys.readouterr())

    return type_in


def assert_obeyed(words, code, said):
    """The command ended with an answer, if only with one that its few steps leave open."""
    open_answers = {"run": DOUBTFUL_EXIT_CODE, "resume": DOUBTFUL_EXIT_CODE, "permeability": UNSETTLED_EXIT_CODE}
    open_answers |= dict.fromkeys(("relative-permeability", "drainage", "dissolve"), UNSETTLED_EXIT_CODE)
    assert code in (0, open_answers.get(words[0])) and "error:" not in said, f"{shlex.join(words)}\n{said}"


@pytest.mark.parametrize("words", lines(LINES), ids=" ".join)
def test_the_line_is_obeyed(typed, words):
    assert_obeyed(words, *typed(words))


@pytest.mark.parametrize("name", PHYSICS)
def test_every_command_takes_the_physics(typed, folder, name):
    (folder / f"{name}.toml").write_text(SMALLEST[name])
    for words in lines(WITH_A_CASE.replace("CASE", f"{name}.toml")):
        assert_obeyed(words, *typed(words))


def test_every_command_and_option_is_typed():
    typed = lines(LINES) + lines(WITH_A_CASE)
    commands = {*COMMANDS, *PREPARING, *DOCTOR}
    assert {words[0] for words in typed} == commands
    for command in commands:
        given = {word.split("=")[0] for words in typed if words[0] == command for word in words}
        assert [option for option in documented(command) if not given.intersection(option)] == []


def test_every_physics_has_a_smallest_case():
    assert sorted(SMALLEST) == sorted(PHYSICS)


CAMPAIGNS = ("compare_ranks", "fill_disks", "fingerprints", "fuzz_inputs", "kill_runs", "stop_runs")
IN_CI = ("bootstrap", "check", "commit_subject", "test")


def test_every_script_is_known():
    assert sorted(path.name for path in (ROOT / "scripts").iterdir() if path.is_file()) == sorted(
        (*CAMPAIGNS, *IN_CI, "time_live_view")
    )


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_the_campaign_starts(name, tmp_path, monkeypatch, capsys):
    """The script calls a program of tests/, which here is called by itself: it takes seconds to import."""
    python, launcher = tmp_path / "python", tmp_path / "mpirun"
    for each in (python, launcher):
        each.write_text('#!/bin/sh\necho "$@"\n')
        each.chmod(0o755)
    environment = os.environ | {"MUPHY_PYTHON": str(python)}
    words = [ROOT / "scripts" / name, "--help"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=HANGS_S)
    assert done.returncode == 0, done.stderr
    *_, program, asked = done.stdout.splitlines()[-1].split()
    monkeypatch.setattr(sys, "argv", [program, asked])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(program if program.endswith(".py") else find_spec(program).origin, run_name="__main__")
    assert ended.value.code == 0 and "usage" in capsys.readouterr().out


@pytest.mark.night
def test_the_live_view_is_timed(folder, monkeypatch, capsys):
    pytest.importorskip("bokeh")
    main = runpy.run_path(str(ROOT / "scripts" / "time_live_view"))["main"]
    monkeypatch.setitem(main.__globals__, "N_ROUNDS", 1)  # one browser
    main(str(folder / "duct.toml"), "1")
    told = capsys.readouterr().out
    assert "median, nobody looks" in told and "pictures/s" in told

"""A physics is one folder and one row: nothing else names it, and without both the program still works."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from muphy_lb.base.registry import PHYSICS
from tests.conftest import HANGS_S
from tests.structure.source import FOLDERS, ROOT, modules, report

# What the texts of a package are about, whatever its identifiers are; "isothermal" is the flow itself.
WORDS = {
    "thermal": r"heat|(?<!iso)therm|temperat",
    "fluctuating": r"fluctuat|\bkT\b|brownian",
    "particles": r"tracers?\b|beads?\b|polymers?\b",
    "age": r"\bage\b",
    "dissipation": r"viscous dissipation",
    "free_surface": r"free.?surface|liquid(?!s\b)|capillar|\bgas\b",
}
ROWS = ROOT / "muphy_lb" / "base" / "registry.py"
BESIDE = ("muphy_lb/physics", "validation", "bench")  # where a physics has a folder
ROW = f"PHYSICS = ({', '.join(map(json.dumps, PHYSICS))}{',' * (len(PHYSICS) == 1)})\n"

EVERYTHING = """
import importlib, pkgutil
import muphy_lb
for module in pkgutil.walk_packages(muphy_lb.__path__, "muphy_lb."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:  # a library that is optional
            if error.name.startswith("muphy_lb"):
                raise
print("muphy_lb.__file__ is", muphy_lb.__file__)
"""
CASE = """
title = "channel"
geometry = {{ shape = "channel", spacing_m = 1e-3, options = {{ length = 6, height = 5, width = 1 }} }}
fluid = {{ density_kg_m3 = 1000.0, kinematic_viscosity_m2_s = 1e-5 }}
flow = {{ acceleration_m_s2 = [1e-3, 0.0, 0.0] }}
lattice = {{ name = "D2Q9", time_step_s = 1e-2 }}
compute = {{ backend = "numpy", precision = "fp64" }}
run = {{ steps = 400, steady_tolerance = 0.1, steady_interval_steps = 10 }}
output = {{ picture = false, wall_shear = true, permeability = true }}
probes = [{{ name = "p", point_m = [3e-3, 2e-3, 0.0] }}]
{more}
"""


def offenders(words: re.Pattern, folders):
    """Lines with such words outside some folders; the rows of the table do not count."""
    return [
        f"{module.place}:{number}: {line.strip()}"
        for module in modules()
        if not module.place.startswith(tuple(folders))
        for number, line in enumerate(module.path.read_text().splitlines(), 1)
        if words.search(line) and not (module.path == ROWS and line.startswith("PHYSICS = "))
    ]


@pytest.mark.parametrize("name", PHYSICS)
def test_no_file_outside_the_packages_names_what_a_physics_is_about(name):
    words = re.compile(WORDS.get(name, name), re.IGNORECASE)
    found = offenders(words, [f"{place}/{other}/" for place in BESIDE for other in PHYSICS])
    assert not found, report(found)


@pytest.mark.parametrize("name", PHYSICS)
def test_no_file_outside_its_folder_uses_a_physics(name):
    found = offenders(re.compile(rf"physics\.{name}\b"), [f"{place}/{name}/" for place in BESIDE])
    assert not found, report(found)


@pytest.fixture(scope="module")
def without_physics(tmp_path_factory):
    """A folder with the packages, less the folder and the row of every physics."""
    folder = tmp_path_factory.mktemp("without")
    ignored = shutil.ignore_patterns("__pycache__", *PHYSICS)
    for package, place in FOLDERS.items():
        shutil.copytree(ROOT / place, folder.joinpath(*package.split(".")), ignore=ignored, dirs_exist_ok=True)
    table = folder / "muphy_lb" / "base" / "registry.py"
    assert ROW in table.read_text()
    table.write_text(table.read_text().replace(ROW, "PHYSICS = ()\n"))
    return folder


def python(folder, *arguments):
    """Run Python in a folder, whose packages it takes."""
    line = [sys.executable, *map(str, arguments)]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=HANGS_S, env={"PYTHONPATH": "."})


def test_every_module_is_imported_without_physics(without_physics):
    done = python(without_physics, "-c", EVERYTHING)
    assert done.returncode == 0, done.stderr
    assert str(without_physics) in done.stdout


def test_a_case_runs_without_physics(without_physics):
    (without_physics / "case.toml").write_text(CASE.format(more=""))
    done = python(without_physics, "-m", "muphy_lb", "run", "case.toml", "-o", "out")
    assert done.returncode == 0, done.stderr
    written = {path.name for path in (without_physics / "out").iterdir()}
    assert {"summary.json", "report.html", "probe_p.csv", "wall_shear.vtkhdf", "fields.vtkhdf"} <= written


@pytest.mark.parametrize("name", PHYSICS)
def test_the_section_of_a_physics_that_is_not_there_is_an_unknown_key(without_physics, name):
    (without_physics / "asks.toml").write_text(CASE.format(more=f"[{name}]\n"))
    done = python(without_physics, "-m", "muphy_lb", "run", "asks.toml", "-o", "asked")
    assert done.returncode == 2 and f"{name} is an unknown key" in done.stderr


@pytest.mark.parametrize(("command", "name"), [("validate", "validation"), ("bench", "bench"), ("scaling", "bench")])
def test_a_command_of_an_absent_laboratory_tells_what_to_install(tmp_path, command, name):
    ignored = shutil.ignore_patterns("__pycache__", "validation", "bench")
    shutil.copytree(ROOT / "muphy_lb", tmp_path / "muphy_lb", ignore=ignored)
    done = python(tmp_path, "-m", "muphy_lb", command)
    assert done.returncode == 1 and f"pip install ./{name}" in done.stderr and "Traceback" not in done.stderr


def test_validation_lists_the_cases_of_the_flow_alone(without_physics):
    done = python(without_physics, "-m", "muphy_lb", "validate", "--list")
    assert done.returncode == 0, done.stderr
    assert "plane-channel" in done.stdout and "heat" not in done.stdout

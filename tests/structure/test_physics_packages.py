"""A physics is one folder and one row: nothing else names it, and without both the program still works."""

import ast
import re
import shutil
import subprocess
import sys
from functools import cache

import pytest

from muphy_lb.base.registry import PHYSICS
from muphy_lb.model import model
from tests.conftest import HANGS_S
from tests.structure.source import FOLDERS, ROOT, Module, imported, lies_in, modules, report

BESIDE = ("muphy_lb/physics", "validation", "bench")  # where a physics has a folder
ROWS = ROOT / "muphy_lb" / "base" / "registry.py"
PLAIN = ("section", "choice", "usual", "waveform", "substances")  # modules of the case file that know no physics
OF_MODELS = {value for value in vars(model).values() if isinstance(value, str)}  # "particles": words of the contract
PACKAGES = ("muphy_lb.physics", "muphy_lb.validation", "muphy_lb.bench")
TABLE = re.compile(r"^PHYSICS = \([^)]*\)$", re.MULTILINE)

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
WITHOUT_EDITABLE = """
import runpy, sys
sys.meta_path = [finder for finder in sys.meta_path if not finder.__module__.startswith("__editable__")]
sys.argv = {words}
runpy.run_module("muphy_lb", run_name="__main__")
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


def imports(module: Module, physics: str) -> bool:
    """Whether a module imports a physics, or has its dotted name in a text."""
    dotted = tuple(f"{package}.{physics}" for package in PACKAGES)
    return any(name.startswith(dotted) and any(lies_in(name, each) for each in dotted) for name in words(module))


def names(module: Module, physics: str):
    """Lines at which a module reads the section of a physics, ``case.NAME``, or has its name as a text."""
    sections, texts = read(module)
    yield from (line for line, name in sections if name == physics)
    yield from (line for line, text in texts if text == physics and text not in OF_MODELS)


@cache
def words(module: Module) -> frozenset[str]:
    """Every dotted name that a module imports, and every word of its texts."""
    return imported(module).union(*(text.split() for _, text in read(module)[1]))


@cache
def read(module: Module) -> tuple[list, list]:
    """(line, name) of every ``case.NAME`` of a module, and (line, text) of every text."""
    sections, texts = [], []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and getattr(node.value, "attr", getattr(node.value, "id", "")) == "case":
            sections.append((node.lineno, node.attr))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append((node.lineno, node.value))
    return sections, texts


def outside(folders) -> list[Module]:
    """The modules that do not lie in these folders; the table of all physics does not count."""
    return [module for module in modules() if not module.place.startswith(folders) and module.path != ROWS]


@pytest.mark.parametrize("name", PHYSICS)
def test_no_file_outside_its_folder_imports_a_physics(name):
    own = tuple(f"{place}/{name}/" for place in BESIDE)
    found = [module.place for module in outside(own) if imports(module, name)]
    assert not found, report(found)


@pytest.mark.parametrize("name", PHYSICS)
def test_no_file_outside_the_packages_names_a_physics(name):
    packages = tuple(f"{place}/{other}/" for place in BESIDE for other in PHYSICS)
    found = [f"{module.place}:{line}" for module in outside(packages) for line in names(module, name)]
    assert not found, report(found)


def test_sections_of_physics_import_no_section_that_is_made_of_theirs():
    """Whichever module comes first, a section of the case file then has the keys of every physics."""
    sections = [module for module in modules() if re.fullmatch(r"muphy_lb/physics/.*section\.py", module.place)]
    found = {
        f"{module.place}: {name}"
        for module in sections
        for name in imported(module)
        if lies_in(name, "muphy_lb.case") and not any(lies_in(name, f"muphy_lb.case.{each}") for each in PLAIN)
    }
    assert len(sections) > len(PHYSICS) and not found, report(sorted(found))


@pytest.mark.parametrize(
    ("text", "is_use"),
    [
        ("from muphy_lb.physics import age", True),
        ("import muphy_lb.physics.age.section", True),
        ('x = import_module("muphy_lb.physics.age.package")', True),
        ("x = self.case.age", True),
        ('x = getattr(case, "age")', True),
        ("from muphy_lb.physics import ages", False),
        ('x = engine.age, average(case), "the age of a message"', False),
    ],
)
def test_every_way_to_use_a_physics_is_seen_and_nothing_else(text, is_use):
    module = Module(ROOT / "x.py", "muphy_lb.x", ast.parse(text))
    assert (imports(module, "age") or bool([*names(module, "age")])) == is_use


@pytest.fixture(scope="module")
def without_physics(tmp_path_factory):
    """A folder with the packages, less the folder and the row of every physics."""
    folder = tmp_path_factory.mktemp("without")
    ignored = shutil.ignore_patterns("__pycache__", *PHYSICS)
    for package, place in FOLDERS.items():
        shutil.copytree(ROOT / place, folder.joinpath(*package.split(".")), ignore=ignored, dirs_exist_ok=True)
    table = folder / "muphy_lb" / "base" / "registry.py"
    text, n_tables = TABLE.subn("PHYSICS = ()", table.read_text())
    assert n_tables == 1
    table.write_text(text)
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


def test_the_section_of_a_physics_that_is_not_there_is_an_unknown_key(without_physics):
    (without_physics / "asks.toml").write_text(CASE.format(more="".join(f"[{name}]\n" for name in PHYSICS)))
    done = python(without_physics, "-m", "muphy_lb", "run", "asks.toml", "-o", "asked")
    assert done.returncode == 2
    assert [name for name in PHYSICS if f"{name} is an unknown key" not in done.stderr] == [], done.stderr


@pytest.mark.parametrize(("command", "name"), [("validate", "validation"), ("bench", "bench"), ("scaling", "bench")])
def test_a_command_of_an_absent_laboratory_tells_what_to_install(tmp_path, command, name):
    ignored = shutil.ignore_patterns("__pycache__", "validation", "bench")
    shutil.copytree(ROOT / "muphy_lb", tmp_path / "muphy_lb", ignore=ignored)
    done = python(tmp_path, "-c", WITHOUT_EDITABLE.format(words=["muphy-lb", command]))
    assert done.returncode == 1 and f"pip install ./{name}" in done.stderr and "Traceback" not in done.stderr


def test_validation_lists_the_cases_of_the_flow_alone(without_physics):
    done = python(without_physics, "-m", "muphy_lb", "validate", "--list")
    assert done.returncode == 0, done.stderr
    assert "plane-channel" in done.stdout and "heat" not in done.stdout

"""Who may import whom: the arrow of the design, in one direction."""

import ast
import configparser
import re
import sys
from functools import cache

import pytest

from tests.structure.source import ROOT, imported, lies_in, modules, report

# Folders of muphy_lb and the few modules beside them, lowest first: each imports its own row and the rows above it.
ROWS = (
    {"base"},
    {"geometry", "lattice", "partition"},
    {"case", "domain", "operators"},
    {"boundaries", "output", "parallel"},
    {"backends", "model"},
    {"engine"},
    {"setup"},
    {"measure"},
    {"physics", "view"},
    {"run"},
    {"apps", "doctor", "new"},
    {"__init__", "__main__"},
    {"bench"},
    {"validation"},
)
ROW_OF = {part: number for number, row in enumerate(ROWS) for part in row}
IMPORT_NAMES = {
    "cuda-bindings": ("cuda",),
    "nccl4py": ("nccl",),
    "numba-cuda": ("numba",),
    "pillow": ("PIL",),
    "pydantic": ("pydantic", "pydantic_core"),
    "scikit-image": ("skimage",),
}


def part(name: str) -> str:
    """The folder of muphy_lb that a dotted name ``muphy_lb.folder...`` lies in."""
    return name.split(".")[1]


def is_package(name: str) -> bool:
    """Whether a dotted name lies in a physics package."""
    parts = name.split(".")
    return parts[1] == "physics" and len(parts) > 2 and (ROOT / "muphy_lb" / "physics" / parts[2]).is_dir()


def imports_inside_the_solver():
    """(importing module, imported name) of every import of one part of muphy_lb by another."""
    for module in modules():
        for name in imported(module):
            if "." in module.name and name.startswith("muphy_lb."):
                yield module, name


def row(name: str) -> int:
    """The row of the part that a dotted name belongs to; ``muphy_lb.Name`` is the package itself."""
    return ROW_OF.get(part(name), ROW_OF["__init__"])


def test_every_folder_of_the_solver_has_a_row():
    folders = {path.parent.name for path in (ROOT / "muphy_lb").glob("*/__init__.py")}
    assert folders <= ROW_OF.keys(), f"folders without a row in {__file__}: {sorted(folders - ROW_OF.keys())}"


def test_the_solver_imports_only_downwards():
    offenders = [
        f"{module.place} imports {name}" for module, name in imports_inside_the_solver() if row(name) > row(module.name)
    ]
    assert not offenders, report(offenders)


def test_physics_does_not_import_backends():
    offenders = [
        f"{module.place} imports {name}"
        for module, name in imports_inside_the_solver()
        if part(module.name) == "physics" and part(name) == "backends"
    ]
    assert not offenders, report(offenders)


def test_no_loose_module_beside_the_folders():
    loose = {path.stem for path in (ROOT / "muphy_lb").glob("*.py")}
    assert loose == {"__init__", "__main__"}


def test_nothing_but_the_table_knows_a_physics_package():
    """Folders below physics/ are found by name, through ``base/registry.py``."""
    offenders = [
        f"{module.place} imports {name}"
        for module, name in imports_inside_the_solver()
        if is_package(name) and part(module.name) not in ("physics", "validation", "bench")
    ]
    assert not offenders, report(offenders)


@pytest.mark.parametrize("package", ["muphy_lb.geometry", "muphy_lb.partition"])
def test_geometry_and_partition_import_none_of_the_other_packages(package):
    """Nothing of the solver but its base: options, errors, files as such, types, kept compiled functions."""
    allowed = (package, *(f"muphy_lb.base.{name}" for name in ("arguments", "files", "errors", "narrow", "kept")))
    offenders = [
        f"{module.place} imports {name}"
        for module in modules()
        for name in imported(module)
        if lies_in(module.name, package)
        and lies_in(name, "muphy_lb")
        and not any(lies_in(name, one) for one in allowed)
    ]
    assert not offenders, report(offenders)


def test_files_know_nothing_of_what_is_in_them():
    offenders = [
        f"{module.place} imports {name}"
        for module, name in imports_inside_the_solver()
        if lies_in(module.name, "muphy_lb.base.files")
        and not (lies_in(name, "muphy_lb.base.files") or lies_in(name, "muphy_lb.base.errors"))
    ]
    assert not offenders, report(offenders)


@cache
def reached(module) -> frozenset[str]:
    """Dotted names that a module imports or reads as attributes (``numba.cuda`` after ``import numba``)."""
    attributes = {ast.unparse(node) for node in ast.walk(module.tree) if isinstance(node, ast.Attribute)}
    return imported(module) | attributes


@pytest.mark.parametrize(
    ("library", "folder"),
    [("numba.cuda", "muphy_lb/backends/cuda/"), ("mpi4py", "muphy_lb/parallel/"), ("pymetis", "partition/")],
)
def test_the_library_is_imported_in_one_module(library, folder):
    places = [module.place for module in modules() if any(lies_in(name, library) for name in reached(module))]
    assert len(places) == 1 and places[0].startswith(folder), f"{library} is imported in {places}"


def declared_requirements() -> set[str]:
    """Import names of everything that setup.cfg lists, test tools aside."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    extras = [text for name, text in config["options.extras_require"].items() if name != "test"]
    lines = "\n".join([config["options"]["install_requires"], *extras]).split("\n")
    names = {re.match(r"[\w-]+", line).group() for line in lines if line}
    return {module for name in names for module in IMPORT_NAMES.get(name, (name,))}


def test_every_library_in_use_is_declared():
    known = declared_requirements() | {"muphy_lb"} | set(sys.stdlib_module_names)
    offenders = [
        f"{module.place} imports {name}"
        for module in modules()
        for name in imported(module)
        if name.split(".")[0] not in known
    ]
    assert not offenders, report(offenders)

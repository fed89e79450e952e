"""Habits that the library keeps: it prints nothing, asserts nothing, names no machine, and passes the linter."""

import ast
import importlib.util
import re
import subprocess
import sys

import pytest

from tests.structure.source import ROOT, modules, report

TEXT_FILES = (".py", ".sh", ".cfg", ".toml", ".md", ".sbatch", ".ipynb", "")
MACHINE_PATH = re.compile(r"(?<![\w./:-])/(?:work|root|home|Users|tmp|scratch|mnt|opt)/[\w.]")


def calls(module, name: str) -> list[int]:
    """Lines of a module that call the plain function ``name``."""
    nodes = (node for node in ast.walk(module.tree) if isinstance(node, ast.Call))
    return [node.lineno for node in nodes if isinstance(node.func, ast.Name) and node.func.id == name]


def text_files():
    """Every text file of the repository, hidden folders and build products aside."""
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        hidden = any(part.startswith(".") or part.endswith(".egg-info") or part == "build" for part in parts)
        if path.is_file() and not hidden and path.suffix in TEXT_FILES and "out" not in parts:
            yield path


def test_only_command_lines_print():
    offenders = [
        f"{module.place}:{line}"
        for module in modules()
        if module.path.name != "__main__.py"
        for line in calls(module, "print")
    ]
    assert not offenders, report(offenders)


def test_no_assert_outside_tests():
    offenders = [
        f"{module.place}:{node.lineno}"
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Assert)
    ]
    assert not offenders, report(offenders)


def test_no_equation_is_a_product_of_matrices_of_blas():
    """It adds in an order that depends on the number of columns, so on the ranks: see muphy_lb/lattice/sums.py."""
    of_blas, places = {"tensordot", "dot", "matmul", "inner", "vdot"}, ("muphy_lb/backends/numpy", "muphy_lb/operators")
    offenders = [
        f"{module.place}:{node.lineno}"
        for module in modules()
        if module.place.startswith(places) or module.place.startswith("muphy_lb/physics/")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and node.attr in of_blas and ast.unparse(node.value) == "np"
    ]
    assert not offenders, report(offenders)


def test_no_file_names_a_path_of_one_machine():
    offenders = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in text_files()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if MACHINE_PATH.search(line)
    ]
    assert not offenders, report(offenders)


@pytest.mark.parametrize("arguments", [("check",), ("format", "--check")], ids=" ".join)
def test_the_linter_agrees(arguments):
    if importlib.util.find_spec("ruff") is None:
        pytest.skip("ruff is not installed; pip install 'muphy_lb[test]'")
    done = subprocess.run([sys.executable, "-m", "ruff", *arguments, ROOT], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr

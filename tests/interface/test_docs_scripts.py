"""The scripts of ``docs/scripts`` run, and what they print against theory holds; each asserts it itself."""

import re
import runpy
import sys
import textwrap

import pytest

from muphy_lb.operators import RELAXATIONS
from tests.conftest import ROOT

SCRIPTS = sorted({path.name for path in (ROOT / "docs" / "scripts").glob("*.py")} - {"own_collision.py"})
SAID = {
    "drag_of_a_surface.py": "Hasimoto",
    "heated_cavity.py": "Nusselt number",
    "on_many_ranks.py": "shares of the inflow",
    "own_collision.py": "of the parabola",
    "permeability_of_an_array.py": "permeability",
    "pipe_flow.py": "Poiseuille",
    "pulsatile_film.py": "1.5 times the mean",
    "restart.py": "the same bits after a restart: True",
    "reynolds_sweep.py": "theory 96",
    "to_pyvista.py": "flow rate through a slice",
}
WRITTEN = {"pulsatile_film.py": "pulse.gif", "to_pyvista.py": "flow.vtu", "restart.py": "saved/case.toml"}


@pytest.fixture
def collisions():
    """What a script adds to the table of collisions is taken out again."""
    before = dict(RELAXATIONS)
    yield
    RELAXATIONS.clear()
    RELAXATIONS.update(before)


@pytest.mark.usefixtures("collisions")
@pytest.mark.parametrize(
    "name", ["own_collision.py", *(pytest.param(name, marks=pytest.mark.night) for name in SCRIPTS)]
)
def test_the_script_agrees_with_theory(name, tmp_path, monkeypatch, capsys):
    if name in ("drag_of_a_surface.py", "to_pyvista.py"):
        pytest.importorskip("pyvista")
    if name in ("on_many_ranks.py", "restart.py"):
        pytest.importorskip("xarray")
    if name == "reynolds_sweep.py" and not sys.platform.startswith("linux"):
        pytest.skip("the script asks Linux for its memory")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "docs" / "scripts" / name), run_name="__main__")
    assert SAID[name] in capsys.readouterr().out
    assert name not in WRITTEN or (tmp_path / WRITTEN[name]).stat().st_size > 0


@pytest.mark.mpi
@pytest.mark.night
def test_the_same_script_on_four_ranks_tells_the_same_numbers(mpirun, capsys):
    pytest.importorskip("xarray")
    script = ROOT / "docs" / "scripts" / "on_many_ranks.py"
    runpy.run_path(str(script), run_name="__main__")
    four = mpirun(4, [script])
    assert four.returncode == 0, four.stderr
    assert four.stdout == capsys.readouterr().out
    assert "shares of the inflow" in four.stdout


def test_the_collision_that_a_newcomer_reads_is_the_one_that_runs():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    recipe = text.partition("## How to add a collision")[2].partition("\n## ")[0]
    lines = (line for line in recipe.split("\n") if line.startswith("    ") or not line)
    sample = textwrap.dedent("\n".join(lines)).strip()
    script = (ROOT / "docs" / "scripts" / "own_collision.py").read_text()
    assert sample.startswith("LAMBDA = ") and "RELAXATIONS[" in sample
    assert re.sub(r"\n+", "\n", sample) in re.sub(r"\n+", "\n", script)

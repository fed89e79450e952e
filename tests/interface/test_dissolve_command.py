"""A solid that dissolves or grows: exact fronts, exact balances, the same bits after a stop, and what is refused."""

import csv
from math import isfinite

import numpy as np
import pytest

from muphy_lb.apps.rock.dissolve import History
from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.case.toml import toml_lines
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.run.solver import Solver
from tests.laws.smallest import merged
from tests.vessel import command

LOW = {"name": "low", "box_m": [[-9.0, -9.0, -9.0], [9.0, 0.0, 9.0]], "species": {"salt": 0.2}}
RATE, DIFFUSIVITY, VOLUME, TOP = 0.1, 0.1, 0.1, 3.3
LAYER = {"name": "layer", "species_uptake_m_s": {"salt": RATE}, "species": {"salt": 1.0}}
FRONT = {
    "title": "front",
    "geometry": {"shape": "channel", "spacing_m": 1.0, "options": {"length": 3, "height": 8, "width": 1}},
    "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": 0.1},
    "lattice": {"name": "D2Q9", "time_step_s": 1.0, "walls": "bouzidi"},
    "compute": {"backend": "cpu", "precision": "fp64"},
    "run": {"steps": 20000, "steady_interval_steps": 50, "steady_tolerance": 1e-3},
    "walls": [LOW, LAYER],
    "species": [{"name": "salt", "diffusivity_m2_s": DIFFUSIVITY}],
    "dissolution": {
        **{"wall": "layer", "species": "salt", "role": "product", "molar_volume_m3": VOLUME, "end_s": 300.0},
        **{"box_m": [[-9.0, TOP + 0.5, -9.0], [9.0, 99.0, 9.0]], "settled_within": 1e-8},
    },
}


def _number(text: str) -> float | None:
    value = float(text == "True" or text)
    return value if isfinite(value) else None


def _given(value):
    """Tables without the keys that are None."""
    if isinstance(value, dict):
        return {key: _given(each) for key, each in value.items() if each is not None}
    return [_given(each) for each in value] if isinstance(value, list) else value


@pytest.fixture
def dissolve(tmp_path, monkeypatch):
    """Function ``dissolve(changes, *words)``: the rows of the table of a front whose case has other keys."""
    monkeypatch.chdir(tmp_path)

    def run(changes=(), *words):
        case = _given(merged(FRONT, dict(changes), by_name=("walls",)))
        (tmp_path / "case.toml").write_text("\n".join(toml_lines(case)))
        assert command("dissolve", "case.toml", "-o", "out", *words) == 0
        with open(tmp_path / "out" / "solid.csv") as file:
            rows = [*csv.DictReader(file)]
        return [{name: _number(value) for name, value in row.items()} for row in rows]

    return run


@pytest.mark.parametrize(("role", "sign"), [("product", 1.0), ("reactant", -1.0)])
def test_a_front_moves_as_fast_as_diffusion_and_rate_allow(dissolve, tmp_path, role, sign):
    """V k (c_eq - c) with c of the exact layer of diffusion; what takes salt up grows, or dissolves."""
    rows = dissolve({"dissolution": {"role": role}})
    assert len(rows) >= 3 and rows[-1]["time_s"] == 300.0
    for row in rows:
        depth = TOP + (rows[0]["solid_m3"] - row["solid_m3"]) / 3.0
        speed = sign * VOLUME * 0.8 / (depth / DIFFUSIVITY + 1.0 / RATE)
        assert -row["solid_rate_m3_s"] / 3.0 == pytest.approx(speed, rel=1e-7)
        lost = row["through_wall_m3"] + row["crumbs_m3"]
        assert rows[0]["solid_m3"] - row["solid_m3"] == pytest.approx(lost, abs=1e-12)
        assert row["beyond_m3"] == 0.0 and row["area_m2"] == pytest.approx(3.0)
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"solid.png", "outlines.png", "state.npz"}


def test_a_command_that_was_stopped_goes_on_with_the_same_bits(dissolve, tmp_path, monkeypatch):
    short = {"dissolution": {"end_s": 120.0}}
    whole, take, taken = dissolve(short), History.take, []

    def stop_after_two(self, *arguments):
        taken.append(take(self, *arguments))
        if len(taken) == 2:
            raise KeyboardInterrupt
        return taken[-1]

    monkeypatch.setattr(History, "take", stop_after_two)
    with pytest.raises(KeyboardInterrupt):
        dissolve(short, "--overwrite")
    assert dissolve(short) == whole and len(taken) == len(whole)
    with pytest.raises(InputError, match=r"holds a solid of another case: dissolution\.end_s was 120\.0, is 90\.0"):
        dissolve({"dissolution": {"end_s": 90.0}})
    np.savez(tmp_path / "out" / "state.npz", shares=np.zeros(3))
    with pytest.raises(InputError, match="by another version of muphy-lb: it has no 'record'"):
        dissolve(short)
    (tmp_path / "out" / "state.npz").write_bytes(b"no archive")
    with pytest.raises(
        InputError, match="is damaged, or not a record of this command; give --overwrite to start again"
    ):
        dissolve(short)


def test_a_solid_that_is_gone_ends_the_course(dissolve):
    thin = {"box_m": [[-9.0, 7.4, -9.0], [9.0, 99.0, 9.0]], "end_s": 1e4, "largest_change": 0.5, "settled_within": 1e-4}
    first, *_, last = rows = dissolve({"dissolution": thin})
    assert last["time_s"] < 1e3 and last["solid_m3"] == last["area_m2"] == 0.0
    assert last["through_wall_m3"] + last["crumbs_m3"] == pytest.approx(first["solid_m3"]) and last["porosity"] == 0.8
    assert rows[-2]["area_m2"] == pytest.approx(3.0) and last["permeability_m2"] is None


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"dissolution": {"step_s": 250.0}},
            "layer would move by .* voxels; allowed: largest_change = 0.2",
        ),
        ({"dissolution": {"step_s": 1e-6}}, r"steady flows; allowed: 10,000: give step_s = .* or leave it out"),
        ({"dissolution": {"largest_change": 1e-9}}, "dissolution.largest_change"),
        ({"dissolution": {"molar_volume_m3": -1.0}}, "dissolution.molar_volume_m3"),
        ({"dissolution": {"largest_change": 0.8}}, "dissolution.largest_change"),
        ({"dissolution": {"species": "sale"}}, "has dissolution.species = 'sale', which is not an entry of .*'salt'"),
        ({"dissolution": {"wall": "lay"}}, "has dissolution.wall = 'lay', which is not an entry of .*'layer'"),
        ({"dissolution": {"centre_m": [1.0, 1.0, 0.0]}}, "has one of centre_m and radius_m; give both"),
        ({"dissolution": {"shares_file": "s.npy"}}, "has box_m and shares_file; give one of them"),
        ({"walls": [{"name": "layer", "species_uptake_m_s": {"salt": -0.1}}]}, "species_uptake_m_s"),
        (
            {"walls": [{"name": "layer", "species_uptake_m_s": None, "species": None}]},
            "has no rate of salt at walls.layer",
        ),
        ({"lattice": {"walls": "half-way"}}, "lattice.walls is 'half-way' with .*: set lattice.walls = 'bouzidi'"),
        (
            {"run": {"frozen_after_s": 300.0, "steady_tolerance": None}},
            "run.frozen_after_s is given, but the command freezes each flow",
        ),
        ({"compute": {"streaming": "aa"}}, "compute.streaming is 'aa'.*: set compute.streaming = 'pull'"),
        ({"species": [{**FRONT["species"][0], "bolus": {"start_s": 1.0}}]}, "takes the species as steady"),
        ({"dissolution": None}, "has no solid that dissolves or grows"),
        ({"geometry": {"shape": None, "spacing_m": None, "options": None, "file": "a.h5"}}, "is prepared, without the"),
    ],
)
def test_what_cannot_be_is_refused(dissolve, changes, told):
    with pytest.raises((InputError, GeometryError), match=told):
        dissolve(changes)


def test_a_run_keeps_the_solid_as_it_is_at_the_start():
    core = Solver(case_from_dict(FRONT))
    assert core.header.n_nodes == 3 * 3 and "dissolution: layer by salt" in core.describe()
    core.step(20)
    assert np.isfinite(core.field("salt")).all()


@pytest.mark.night
def test_every_number_of_ranks_finds_the_same_bits(dissolve, tmp_path, mpirun):
    """A disc in a stream of what it takes up."""
    disc = {"centre_m": [9.0, 6.2, 0.0], "radius_m": 3.1, "box_m": None, "end_s": 400.0, "settled_within": 1e-3}
    stream = {"name": "inlet", "velocity_m_s": 0.01, "species": {"salt": 2.0}}
    changes = {
        "geometry": {"options": {"length": 18, "height": 11, "width": 1, "ends": "open"}},
        "openings": [stream, {"name": "outlet", "pressure_pa": 0.0}],
        "dissolution": disc,
    }
    assert len(dissolve(changes)) >= 3
    table = (tmp_path / "out" / "solid.csv").read_bytes()
    for n_ranks in (2, 3):
        done = mpirun(n_ranks, ["-m", "muphy_lb", "dissolve", tmp_path / "case.toml", "-o", tmp_path / f"on_{n_ranks}"])
        assert done.returncode == 0, done.stderr
        assert (tmp_path / f"on_{n_ranks}" / "solid.csv").read_bytes() == table

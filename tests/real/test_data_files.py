"""Every file of the data folder, as ``muphy-lb validate data`` reports it."""

import math
import shutil
import tomllib
from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.case.case import case_from_dict
from muphy_lb.geometry.inspection import inspect_input
from muphy_lb.geometry.openings.find import openings_toml
from muphy_lb.setup.geometry import load_nodes
from muphy_lb.validation.case import Row, Settings
from muphy_lb.validation.flow.data_files import (
    FILES,
    ROCKS,
    SURFACES,
    VESSELS,
    Fact,
    PublishedOpening,
    cap_area,
    data_files,
    rows_of,
)
from tests.unit.geometry.surfaces import box

QUICK = Settings(quick=True)
DUCT, BCC = ROCKS[2], ROCKS[0]
LEVEL_SET = VESSELS[0]
ONE_OF_A_KIND = [SURFACES[0], *VESSELS[:2], VESSELS[3], ROCKS[1]]  # the whole takes as long as all other tests here


def failed(rows):
    return [row.quantity for row in rows if not row.passed]


@pytest.mark.parametrize("item", ONE_OF_A_KIND, ids=[item.name for item in ONE_OF_A_KIND])
def test_what_is_found_in_a_file_is_what_is_published(data_dir, item):
    rows = list(rows_of(item, data_dir, QUICK))
    assert rows and not failed(rows)


def test_every_geometry_file_of_the_folder_is_looked_at(data_dir):
    named = {item.archive or item.file for item in FILES}
    no_geometry = ("README.md", "openings.json", "reference_permeability.csv")
    there = {str(path.relative_to(data_dir)) for path in data_dir.rglob("*") if path.is_file()}
    assert named == {name for name in there if not name.endswith(no_geometry) and "tables" not in name}


def test_a_wrong_count_fails(data_dir):
    wrong = replace(DUCT, facts=(Fact(DUCT.facts[0].quantity, 10_001),))
    assert len(failed(rows_of(wrong, data_dir, QUICK))) == 1


def test_an_opening_elsewhere_or_of_another_size_fails(data_dir):
    def moved(content):
        return [PublishedOpening(p.centre_m + (0.0, 6e-5, 0.0), 1.04 * p.area_m2) for p in DUCT.openings(content)]

    rows = rows_of(replace(DUCT, openings=moved), data_dir, QUICK)
    assert [name.partition(", ")[2].split()[0] for name in failed(rows)] == ["centre", "area"] * 2


def test_what_enters_a_real_file_leaves_it(data_dir, monkeypatch):
    monkeypatch.setattr("muphy_lb.validation.flow.data_files.INTERVAL", 100)
    monkeypatch.setattr("muphy_lb.validation.flow.data_files.STEADY", 1e-3)
    short = replace(DUCT, options={**DUCT.options, "crop": [[0, 0, 0], [24, 14, 4]]}, facts=(), openings=None)
    flow = [row for row in rows_of(short, data_dir, Settings(backend="numpy")) if "flow" in row.quantity]
    assert len(flow) == 1 and not failed(flow)


def test_the_openings_of_the_level_set_can_be_pasted(data_dir):
    path = data_dir / LEVEL_SET.file
    found = inspect_input(path, fluid_below=0.0).found
    table = {
        "geometry": {"file": str(path), "options": {"fluid_below": 0.0}},
        "openings": tomllib.loads(openings_toml(found))["openings"],
        "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-6},
        "lattice": {"relaxation_time": 1.0},
        "run": {"steps": 1},
    }
    nodes, _ = load_nodes(case_from_dict(table))
    assert [opening.name for opening in nodes.openings] == ["inlet", "outlet_1"]


@pytest.mark.parametrize("turn", [1.0, -1.0])
def test_the_area_of_a_cap_is_that_of_its_polygon(turn):
    place = PublishedOpening(np.array([0.5, 1.0, 3.01]), None, 1.2, np.array([0.0, 0.0, 2.0 * turn]))
    assert cap_area(box((1.0, 2.0, 3.0)), place) == pytest.approx(2.0)


def test_without_the_folder_the_case_is_skipped(monkeypatch):
    monkeypatch.delenv("MUPHY_DATA", raising=False)
    assert "MUPHY_DATA" in data_files(QUICK).skipped


def test_a_file_that_cannot_be_read_fails_the_case_and_leaves_the_others(tmp_path, monkeypatch):
    (tmp_path / "channels_poremaps").mkdir()
    (tmp_path / DUCT.file).write_bytes(bytes(10))
    (tmp_path / BCC.file).parent.mkdir()
    (tmp_path / BCC.file).write_bytes(bytes(1_000_000))
    monkeypatch.setenv("MUPHY_DATA", str(tmp_path))
    outcome = data_files(QUICK)
    assert DUCT.name in outcome.failure and not outcome.passed
    assert [row.quantity.partition(":")[0] for row in outcome.rows] == [BCC.name] * len(outcome.rows)
    assert all(isinstance(row, Row) and not math.isnan(row.error) for row in outcome.rows)


def test_what_was_found_stays_when_the_flow_fails(data_dir, tmp_path, monkeypatch):
    (tmp_path / DUCT.file).parent.mkdir()
    shutil.copy(data_dir / DUCT.file, tmp_path / DUCT.file)
    monkeypatch.setenv("MUPHY_DATA", str(tmp_path))
    monkeypatch.setattr("muphy_lb.validation.flow.data_files.MAX_STEPS", 10)
    monkeypatch.setattr("muphy_lb.validation.flow.data_files.INTERVAL", 10)
    outcome = data_files(Settings(backend="numpy"))
    assert "not steady" in outcome.failure and not outcome.passed
    assert len(outcome.rows) == 7 and not failed(outcome.rows)

"""The page "The papers": every table of a paper stands there, and measurements fit beside it."""

import importlib.util
import json
import re
import runpy

import pytest

from muphy_lb.__main__ import _parse
from muphy_lb.bench.papers import published
from muphy_lb.validation.cases import CASES
from tests.structure.source import ROOT

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def tables():
    """The module that makes the tables of the page."""
    spec = importlib.util.spec_from_file_location("paper_tables", DOCS / "paper_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_table_stands_on_the_page_once(tables):
    found = re.findall(r"<!-- generated: paper (.*?) -->", (DOCS / "papers.md").read_text())
    assert sorted(found) == sorted(tables.BY_KEY)


def test_every_row_has_a_number_for_each_column(tables):
    measured = json.loads(tables.MEASURED.read_text())
    assert measured.keys() <= tables.BY_KEY.keys()
    for key, table in tables.BY_KEY.items():
        ours = [row for entry in measured.get(key, []) for row in entry["rows"].values()]
        assert {len(row) for row in (*table.rows.values(), *ours)} <= {len(table.columns)}, key


def test_a_measured_table_tells_device_command_and_date(tables):
    text = tables.page_table(published.TOELKE_2.key)
    assert "| published, nVIDIA 8800 Ultra | 670 | 568 | 527 |" in text
    entry = json.loads(tables.MEASURED.read_text())[published.TOELKE_2.key][0]
    assert f"NVIDIA H200: `muphy-lb bench --paper toelke`, {entry['date']}, commit {entry['commit']}" in text


def test_every_command_of_the_page_is_one(tables):
    entries = [entry for found in json.loads(tables.MEASURED.read_text()).values() for entry in found]
    assert all(entry[key] for entry in entries for key in ("device", "command", "date", "commit"))
    lines = {entry["command"] for entry in entries}
    lines |= set(re.findall(r"(?:muphy-lb|run_mpi\.sh) [a-z-][^`#\n]*", (DOCS / "papers.md").read_text()))
    for line in lines:
        words = re.sub(r"^(.*run_mpi\.sh -n \d+|muphy-lb) ", "", line.replace("SCENE", "cavity")).split()
        options = _parse(words)
        if words[0] == "validate":
            assert set(options.names) <= CASES.keys(), line
        case = getattr(options, "case", None)
        assert case is None or (ROOT / case).exists(), line


def test_a_table_without_a_measurement_says_so(tables, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "MEASURED", tmp_path / "none.json")
    tables.MEASURED.write_text("{}")
    assert "not measured yet" in tables.page_table(published.SCHREIBER_5.key)


def test_a_second_measurement_takes_the_place_of_the_first(tmp_path):
    record, key = runpy.run_path(str(DOCS / "record_papers"))["main"], published.TOELKE_2.key
    kept, command = tmp_path / "measured.json", "muphy-lb bench --paper toelke"
    before = [{"device": name, "command": command, "rows": {"": [1, 2, 3]}} for name in ("a card", "another")]
    kept.write_text(json.dumps({key: before}))
    record.__globals__["MEASURED"] = kept
    told = {"device": "a card", "command": f"{command} --json x.json", "date": "2026-11-27T12:00:00+00:00"}
    (tmp_path / "x.json").write_text(json.dumps(told | {"commit": "abc", "tables": {key: {"": [4, 5, 6]}}}))
    record([str(tmp_path / "x.json")])
    another, new = json.loads(kept.read_text())[key]
    assert another == before[1] and new["rows"] == {"": [4, 5, 6]}
    assert (new["command"], new["date"]) == (command, "2026-11-27")


def test_published_numbers_agree_with_each_other():
    """Shares, ratios and seconds that a paper gives follow from its other numbers, as far as these are rounded."""
    speeds, (peak, _, copy) = published.TOELKE_2.rows, published.TOELKE_1.rows["nVIDIA 8800 Ultra"]
    shares = published.TOELKE_3.rows["nVIDIA 8800 Ultra"]
    for k, (name, column) in enumerate((("LBGKL", 0), ("MRT", 2))):
        speed = speeds["nVIDIA 8800 Ultra"][2 * k]
        assert 0.1 * speed * published.TOELKE_OPERATIONS[name] / peak == pytest.approx(shares[column], abs=0.6)
        assert 0.1 * speed * published.TOELKE_BYTES / copy == pytest.approx(shares[column + 1], abs=0.6)
    local, scattered, computed, whole = (row[0] for row in published.TABLE_I.rows.values())
    assert (scattered / local, round(whole / computed)) == published.SCATTERING.rows["C870, 62 x 30 x 30"]
    for _, mflups, seconds in published.TABLE_II.rows.values():
        assert 1e-6 * 4e6 * 1e4 / seconds == pytest.approx(mflups, rel=0.02)
    mlups, gb_s, share = list(published.OBRECHT_4.rows.values())[:3]
    assert gb_s == pytest.approx([48 * 4e-3 * speed for speed in mlups], abs=0.1)
    assert share == pytest.approx([100 * each / 73.3 for each in gb_s], abs=0.15)
    ((steps, cells, _),) = published.SCHREIBER_SCENE.rows.values()
    assert 64 * 64 * 32 * steps == pytest.approx(1e6 * cells, rel=1e-3)
    assert [list(by_size)[-1] for by_size in published.BANG_SECONDS.values()] == [208, 512]

"""The report of a run is one page that holds everything, and needs no other file."""

import base64
import json
from html.parser import HTMLParser

import h5py
import numpy as np
import pytest

from muphy_lb.measure.permeability_observer import permeability_lines
from muphy_lb.measure.shear.observer import shear_lines
from muphy_lb.output.series import read_series
from muphy_lb.run.criteria import SteadyState
from muphy_lb.run.loop import Run
from tests.channel import open_channel, periodic_channel, simulate

VOID = ("meta", "img", "br")


class Page(HTMLParser):
    """Checks that tags are closed in order; collects links and pictures."""

    def __init__(self, text):
        super().__init__()
        self.open, self.sources, self.words = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        """One more level, unless the tag is void."""
        self.sources += [value for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        """Must close the last one."""
        assert self.open.pop() == tag

    def handle_data(self, data):
        """Text."""
        self.words.append(data)


@pytest.fixture(scope="module")
def vessel(tmp_path_factory):
    """Folder of a run of a channel with openings, all measured."""
    folder = tmp_path_factory.mktemp("vessel")
    output = {"picture": True, "vtk": True, "wall_shear": True, "region_m": [[4.5e-3, -1.0, -1.0], [1.0, 1.0, 1.0]]}
    case = open_channel(output=output, run={"steady_tolerance": 1e-9, "steady_interval_steps": 20}, title="a < b")
    Run(simulate(case), folder).execute()
    return folder


def test_a_picture_that_cannot_be_drawn_costs_neither_report_nor_summary(tmp_path, monkeypatch, caplog):
    def fail(*_, **__):
        raise ValueError("no such colour")

    for name in ("pictures.vessel.draw_vessel", "report_html.line_chart"):
        monkeypatch.setattr(f"muphy_lb.output.{name}", fail)
    Run(simulate(open_channel(output={"picture": True}, title=r"$\undefined{$")), tmp_path).execute()
    warnings = [
        record.getMessage() for record in caplog.records if "cannot be drawn: ValueError" in record.getMessage()
    ]
    assert {text.split(" cannot")[0] for text in warnings} == {"warning: picture.png", "warning: a chart of the report"}
    assert json.loads((tmp_path / "summary.json").read_text())["ended"] == "completed"
    assert r"<h1>$\undefined{$</h1>" in (tmp_path / "report.html").read_text()


@pytest.fixture(scope="module")
def rock(tmp_path_factory):
    """Folder of a run of a driven channel, with its permeability."""
    folder = tmp_path_factory.mktemp("rock")
    flow = {"acceleration_m_s2": [1e-3, 0.0, 0.0]}
    case = periodic_channel(flow=flow, output={"permeability": True, "picture": True}, run={"steps": 60})
    Run(simulate(case), folder).execute()
    return folder


def test_the_page_is_well_formed_and_holds_the_pictures_of_the_run_in_itself(vessel):
    page = Page((vessel / "report.html").read_text())
    assert page.open == [] and len(page.sources) >= 5
    assert all(source.startswith("data:image/png;base64,") for source in page.sources)
    pictures = [base64.b64decode(source.split(",")[1]) for source in Page((vessel / "report.html").read_text()).sources]
    for name in ("picture.png", "wall_shear.png"):
        assert (vessel / name).read_bytes() in pictures


def test_the_page_tells_results_speed_and_case(vessel):
    text = " ".join(Page((vessel / "report.html").read_text()).words)
    summary = json.loads((vessel / "summary.json").read_text())
    for word in (
        "a < b",
        f"{summary['max_velocity_m_s']:.5g}",
        f"{summary['mflups']:.5g}",
        "wall shear stress",
        "[run]",
        "Verdict: doubtful",
        *summary["objections"],
        *summary["statements"],
        summary["date"],
        *summary["hosts"],
        f"{summary['reynolds']:.5g}",
        f"{summary['mach']:.5g}",
        "voxels across",
    ):
        assert word in text


def test_a_rock_tells_its_permeability(rock):
    text = " ".join(Page((rock / "report.html").read_text()).words)
    summary = json.loads((rock / "summary.json").read_text())
    assert f"{summary['permeability']['permeability_darcy']:.5g}" in text
    assert any("darcy" in line for line in permeability_lines(summary["permeability"]))


def test_without_pictures_the_page_has_none(tmp_path):
    Run(simulate(open_channel()), tmp_path).execute()
    assert Page((tmp_path / "report.html").read_text()).sources == []


def test_no_report_where_none_is_wanted(tmp_path):
    Run(simulate(open_channel(output={"report": False})), tmp_path).execute()
    assert not (tmp_path / "report.html").exists()


def test_a_new_run_removes_what_an_earlier_one_measured(tmp_path):
    for name in ("report.html", "wall_shear.vtkhdf", "wall_shear.png", "steady.csv", "probe_old.csv"):
        (tmp_path / name).write_text("old")
    Run(simulate(open_channel(output={"report": False})), tmp_path)
    assert not list(tmp_path.glob("*.html")) + list(tmp_path.glob("wall_shear*")) + list(tmp_path.glob("*old*"))


def test_the_summary_tells_pressure_drop_and_wall_shear_of_each_wall_node(vessel):
    summary = json.loads((vessel / "summary.json").read_text())
    states = summary["openings"]
    drop_pa = states["inlet"]["mean_pressure_pa"] - states["outlet"]["mean_pressure_pa"]
    assert summary["pressure_drops_pa"]["outlet"] == pytest.approx(drop_pa)
    assert summary["wall_shear"]["magnitude_pa"]["mean"] > 0.0
    assert any(line.startswith("warning") for line in shear_lines(summary["wall_shear"]))
    with h5py.File(vessel / "wall_shear.vtkhdf") as file:
        field = file["VTKHDF/CellData/wall_shear_stress"]
        assert field.shape == (summary["wall_shear"]["n_nodes"], 3) and field.attrs["unit"] == "Pa"


def test_fields_of_a_region_hold_its_nodes_only(vessel):
    nodes = simulate(open_channel()).nodes
    n_inside = np.count_nonzero(nodes.positions_m()[:, 0] >= 4.5e-3)
    with h5py.File(vessel / "fields.vtkhdf") as file:
        assert file["VTKHDF/NumberOfCells"][0] == n_inside < nodes.n_nodes
        assert file["VTKHDF/CellData/velocity"].shape == (n_inside, 3)


def test_the_steady_series_holds_what_was_looked_at(vessel):
    series = read_series(vessel / "steady.csv")
    assert series["step"].tolist() == [20, 40]
    assert np.isfinite(series["flow_rates.inlet"]).all() and np.isfinite(series["change"][-1])


def test_the_steady_series_continues(tmp_path):
    simulation = simulate(open_channel())
    SteadyState(simulation, tmp_path, None).write({"mean_speed": {"mean_speed": 1.0}}, 0.5)
    simulation.step(5)
    SteadyState(simulation, tmp_path, 0).write({"mean_speed": {"mean_speed": 2.0}}, 0.1)
    assert read_series(tmp_path / "steady.csv")["mean_speed.mean_speed"].tolist() == [1.0, 2.0]

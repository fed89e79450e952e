"""An output file is one class and one row: the run, the summary, the report and checkpoints know it by that."""

import json

import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.measure.observer import Observer
from muphy_lb.output.report_html import ReportPart, ReportTable
from muphy_lb.run import observers
from muphy_lb.run.loop import Run
from tests.channel import open_channel, simulate

EVERY, STEPS = 8, 24


class Fastest(Observer):
    """Writes the largest speed that was seen to ``fastest.txt``."""

    files = ("fastest.txt",)
    name = "fastest"
    every = EVERY

    def __init__(self, view, folder):
        self._view, self._path, self._speeds = view, folder / "fastest.txt", []

    @classmethod
    def create(cls, view, folder, resume_step):
        """One."""
        return (cls(view, folder),)

    @classmethod
    def check(cls, view):
        """A case of that title is refused."""
        if view.case.title == "refused":
            raise InputError("refused by the observer")

    def act(self):
        """Look."""
        self._speeds.append(self._view.health().max_speed)

    def finish(self):
        """The largest of what was seen."""
        return {"speed": max(self._speeds), "n": len(self._speeds)}

    def close(self):
        """Write it, when the summary is there."""
        assert self._path.with_name("summary.json").exists()
        self._path.write_text(str(max(self._speeds)))

    def state(self):
        """What was seen."""
        return {"speeds": self._speeds}

    def restore(self, state):
        """Seen before."""
        self._speeds = state["speeds"]

    def lines(self, summary):
        """A line."""
        return [f"fastest of {summary['fastest']['n']}"]

    def section(self, summary):
        """A table."""
        return ReportPart(tables=(ReportTable("Fastest", ("", "n"), [("seen", summary["fastest"]["n"])]),))


@pytest.fixture(autouse=True)
def _one_more_row(monkeypatch):
    monkeypatch.setattr(observers, "OBSERVERS", (*observers.OBSERVERS, Fastest))


def run(folder, steps=STEPS, resume=False, **more):
    """A finished run."""
    done = Run(simulate(open_channel(run={"steps": steps}, **more)), folder, resume)
    return done, done.execute()[1]


def test_its_record_is_in_the_summary_and_its_text_in_what_closes_the_run(tmp_path):
    done, summary = run(tmp_path)
    assert json.loads((tmp_path / "summary.json").read_text())["fastest"]["n"] == STEPS // EVERY
    assert "fastest of 3" in done.closing_lines(summary)
    assert "<h3>Fastest</h3>" in (tmp_path / "report.html").read_text()
    assert float((tmp_path / "fastest.txt").read_text()) == summary["fastest"]["speed"]


def test_a_new_run_removes_its_file(tmp_path):
    (tmp_path / "fastest.txt").write_text("old")
    Run(simulate(open_channel()), tmp_path)
    assert not (tmp_path / "fastest.txt").exists()


def test_a_checkpoint_keeps_what_it_remembers(tmp_path):
    output = {"checkpoint_every_steps": EVERY}
    run(tmp_path, output=output)
    _, summary = run(tmp_path, 2 * STEPS, resume=True, output=output)
    assert summary["fastest"]["n"] == 2 * STEPS // EVERY


def test_what_it_refuses_ends_the_run_before_anything_is_removed(tmp_path):
    (tmp_path / "fastest.txt").write_text("old")
    with pytest.raises(InputError, match="refused by the observer"):
        run(tmp_path, title="refused")
    assert (tmp_path / "fastest.txt").exists()


class Impatient(Fastest):
    """Ends the run as soon as it is asked for the second time."""

    asked = 0

    def verdict(self):
        """Enough."""
        self.asked += 1
        return "enough" if self.asked == 2 else None


def test_its_verdict_ends_the_run_after_all_have_observed_the_step(tmp_path, monkeypatch):
    monkeypatch.setattr(observers, "OBSERVERS", (Impatient,))
    done = Run(simulate(open_channel(run={"steps": STEPS, "check_interval_steps": EVERY})), tmp_path)
    reason, summary = done.execute()
    assert (reason, summary["steps"], summary["fastest"]["n"]) == ("enough", 2 * EVERY, 2)

"""muphy-lb trace: a time line of every rank, and a table of stages."""

import json

import pytest

from muphy_lb.run.trace import Span, hidden_share, stage_table
from tests.vessel import command, command_on, write_case


@pytest.fixture(scope="module")
def traced(on_ranks, tmp_path_factory):
    """Output of the command on two ranks, and the events of its file."""
    folder = tmp_path_factory.mktemp("traced")
    case = write_case(folder)
    code, said = on_ranks(2, command_on, "trace", case, "-o", folder / "trace.json", "--steps", "3")
    assert code == 0
    return said, json.loads((folder / "trace.json").read_text())["traceEvents"]


def test_every_rank_has_the_stages_of_every_step_one_behind_the_other(traced):
    _, events = traced
    for rank in (0, 1):
        names = [event["name"] for event in events if event["ph"] == "X" and event["pid"] == rank]
        assert {"pack", "exchange", "edge", "interior"} <= set(names)
        assert names.count("interior") == names.count("edge") == 3
    for rank in (0, 1):
        for queue in (0, 1, 2):
            spans = [e for e in events if e["ph"] == "X" and (e["pid"], e["tid"]) == (rank, queue)]
            ends = [e["ts"] + e["dur"] for e in spans]
            assert all(end <= after["ts"] + 1e-3 for end, after in zip(ends, spans[1:], strict=False))


def test_the_table_names_stages_and_transport(traced):
    text, _ = traced
    assert "halo exchange: host" in text and "interior" in text and "messages hidden" in text


def test_messages_beside_the_interior_are_hidden():
    spans = [Span("interior", "interior", 0.0, 3.0), Span("pack", "edge", 1.0, 2.0), Span("exchange", "edge", 2.0, 5.0)]
    assert hidden_share(spans) == pytest.approx(0.5)
    assert hidden_share(spans[:1]) is None
    assert "50 %" in stage_table([spans], 1)


def test_no_steps_are_refused(tmp_path):
    with pytest.raises(Exception, match="--steps is 0"):
        command("trace", write_case(tmp_path), "--steps", "0")

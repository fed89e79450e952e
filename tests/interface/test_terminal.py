"""What a run shows on a terminal, tried on a pseudo-terminal: one bar and colours; elsewhere plain lines."""

import os
import pty
import re
import subprocess
import sys

import pytest

from tests.channel import periodic_channel
from tests.conftest import ROOT
from tests.terminal import shown_on_terminal
from tests.vessel import STARTING, write_case

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
ERASE_LINE, HIDE_CURSOR, SHOW_CURSOR = "\x1b[2K", "\x1b[?25l", "\x1b[?25h"
GREEN, YELLOW, RED, AS_BEFORE = "\x1b[1;32m", "\x1b[33m", "\x1b[31m", "\x1b[0m"
QUICK = {"backend": "numpy", "precision": "fp64"}
OUTPUT = {"picture": False, "report": False, "progress_every_s": 0.001}
ASKED = "from muphy_lb.output.terminal import is_redrawn; print(is_redrawn())"
LINE = re.compile(r"step \d+/60 \(\d+\.\d %\) \| .* MFLUPS \| ETA \d+ s \| max velocity .* m/s \| inflow - outflow ")


def environment(**more) -> dict[str, str]:
    """This environment as in a terminal of 100 columns."""
    kept = {name: text for name, text in os.environ.items() if name not in ("NO_COLOR", "MUPHY_TERMINAL")}
    return kept | {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40", "PYTHONPATH": str(ROOT)} | more


def on_terminal(command, **more) -> tuple[int, str]:
    """Exit code and output of a command on a terminal."""
    return shown_on_terminal(command, environment(**more))


def run_command(folder, *more) -> list[str]:
    """The command line that runs the vessel into a folder."""
    case = write_case(folder, compute=QUICK, output=OUTPUT)
    return [sys.executable, "-m", "muphy_lb", "run", str(case), "-o", str(folder / "out"), *more]


def without_times(rows: list[str]) -> list[str]:
    """Rows without colours, but those that tell how far a run is, and how long something took."""
    plain = [ESCAPES.sub("", row) for row in rows]
    return [row for row in plain if not re.search(r"MFLUPS|inflow - outflow|done in|estimated time", row)]


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What the run shows on a terminal."""
    code, text = on_terminal(run_command(tmp_path_factory.mktemp("terminal")))
    assert code == STARTING, text
    return text


def test_on_a_terminal_there_is_a_bar_in_place_of_lines(shown):
    assert HIDE_CURSOR in shown and not LINE.search(shown)
    drawn = ESCAPES.sub("", shown)
    assert re.search(r"step +60/60 .*100 % ETA 00:00 +[\d.]+ MFLUPS", drawn)
    assert re.search(r"\nmax velocity .* m/s \| inflow - outflow ", drawn)


def test_the_cursor_is_there_again_at_once_in_case_the_process_dies(shown):
    assert re.search(re.escape(HIDE_CURSOR) + r"\s*" + re.escape(SHOW_CURSOR), shown)
    assert shown.rindex(SHOW_CURSOR) > shown.rindex(HIDE_CURSOR)


def test_a_sound_verdict_is_green_on_a_terminal(tmp_path):
    steady = {"steps": 600, "steady_tolerance": 0.1, "steady_interval_steps": 10}
    flow = periodic_channel(flow={"acceleration_m_s2": [1e-3, 0.0, 0.0]}, run=steady, output=OUTPUT)
    (tmp_path / "channel.toml").write_text(flow.to_toml())
    line = [sys.executable, "-m", "muphy_lb", "run", str(tmp_path / "channel.toml"), "-o", str(tmp_path / "out")]
    code, text = on_terminal(line)
    assert code == 0 and f"\n{GREEN}verdict: sound{AS_BEFORE}\n" in text


def test_a_doubtful_verdict_is_yellow_and_an_error_red(tmp_path):
    steady = ["--set", "run.steady_tolerance=1e-9", "--set", "run.steady_interval_steps=20"]
    code, text = on_terminal(run_command(tmp_path, *steady))
    assert code == 6 and f"{YELLOW}verdict: doubtful{AS_BEFORE}" in text and "ETA at most" in ESCAPES.sub("", text)
    code, text = on_terminal([sys.executable, "-m", "muphy_lb", "run", str(tmp_path / "missing.toml")])
    assert code == 2 and f"{RED}muphy-lb: error: " in text


@pytest.mark.parametrize(
    "instead",
    [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}, {"PYTHONIOENCODING": "ascii"}],
    ids=["all", "no colour", "dumb", "no signs of a bar"],
)
def test_who_wants_none_of_it_is_asked(instead):
    code, text = on_terminal([sys.executable, "-c", ASKED], **instead)
    assert (code, text) == (0, f"{not instead}\n")


def test_who_wants_none_of_it_gets_plain_lines(tmp_path):
    code, text = on_terminal(run_command(tmp_path), NO_COLOR="1")
    assert code == STARTING and "\x1b" not in text
    assert len(LINE.findall(text)) == 6


def test_a_pipe_gets_the_same_text_without_colours(tmp_path, shown):
    done = subprocess.run(run_command(tmp_path), capture_output=True, text=True, env=environment())
    assert done.returncode == STARTING
    assert "\x1b" not in done.stdout and len(LINE.findall(done.stdout)) == 6
    piped, drawn = without_times(_rows(done.stdout)), without_times(_rows(shown))
    folders = [re.search(r"\S+/(?=vessel.toml)", rows[0]).group() for rows in (piped, drawn)]
    assert [row.replace(folders[0], "") for row in piped] == [row.replace(folders[1], "") for row in drawn]


TOLD_MEANWHILE = """
import logging, sys
from muphy_lb.output.terminal import ProgressBar
from muphy_lb.output.terminal import configure_logging
from muphy_lb.parallel import SerialCommunicator
configure_logging(SerialCommunicator())
with ProgressBar(0, 10, None) as bar:
    bar.move_to(5)
    bar.tell("7.0 MFLUPS", "all is well")
    logging.getLogger("muphy_lb").warning("warning: something")
    print("a line", flush=True)
    print("of the other stream", file=sys.stderr, flush=True)
print("afterwards")
"""


def test_lines_that_come_meanwhile_appear_above_the_bar():
    code, text = on_terminal([sys.executable, "-c", TOLD_MEANWHILE])
    assert code == 0
    rows = _rows(text)
    told = [f"{YELLOW}warning: something{AS_BEFORE}", "a line", "of the other stream"]
    assert [ESCAPES.sub("", row) for row in rows[:3]] == [ESCAPES.sub("", row) for row in told]
    assert re.match(r"step +5/10 .* 50 %", rows[3]) and rows[4:] == ["all is well", "afterwards"]


def _rows(text: str) -> list[str]:
    """What stands on a screen in the end, after a cursor that goes up, erases lines, and down."""
    rows, row = [""], 0
    for piece in re.split(r"(\x1b\[[0-9;?]*[A-Za-z]|\n|\r)", text):
        if piece == "\n":
            row += 1
            rows += [""] * (row == len(rows))
        elif piece == "\x1b[1A":
            row -= 1
        elif piece == ERASE_LINE:
            rows[row] = ""
        elif piece and not piece.startswith("\x1b") and piece != "\r":
            rows[row] += piece
    return [row.rstrip() for row in rows if row.strip()]


@pytest.mark.mpi
def test_behind_a_launcher_rank_0_alone_draws(tmp_path, mpirun):
    done = mpirun(2, run_command(tmp_path)[1:], env={"MUPHY_TERMINAL": "90", "TERM": "xterm"})
    assert done.returncode == STARTING, done.stderr
    assert done.stdout.count(HIDE_CURSOR) == 1 and f"{YELLOW}verdict" in done.stdout
    rows = re.split("[\r\n]", ESCAPES.sub("", done.stdout))
    assert {len(row) for row in rows if re.match(r"step +\d+/60", row)} == {90}


def test_a_terminal_that_is_closed_costs_no_result(tmp_path):
    terminal, end = pty.openpty()
    command = run_command(tmp_path, "--set", "run.steps=400")
    with subprocess.Popen(command, stdout=end, stderr=subprocess.DEVNULL, env=environment()) as process:
        os.close(end)
        while b"ETA" not in os.read(terminal, 65536):
            pass
        os.close(terminal)
    assert process.returncode == 0 and (tmp_path / "out" / "summary.json").is_file()

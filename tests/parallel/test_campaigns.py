"""The campaigns of stops and of full disks cover what they are for, and would notice what they look for."""

import json
import os
import signal
import subprocess
import sys

import h5py
import numpy as np
import pytest

from muphy_lb.base.errors import OutputError
from muphy_lb.run.loop import STOPPED_EXIT_CODE
from muphy_lb.run.stop_signals import STOP_SIGNALS
from tests.parallel.disturbed import CASES, N_STEPS
from tests.parallel.full_disks import RESUME, RUN, TOOLS, situations
from tests.parallel.moments import ANY_MOMENT, STARTING, Moment
from tests.parallel.small_disks import FULL, LIMITED, PAGE, can_mount, filled, mounted, under_a_limit
from tests.parallel.stops import INTERRUPTED, Stop, is_expected, stops
from tests.parallel.whole_files import torn_files, unlike


def test_stops_are_of_every_kind():
    drawn = stops(100, seed=1)
    assert {how.signal for how in drawn} == {*STOP_SIGNALS, None}
    assert {how.moment.case for how in drawn} == set(CASES) and {how.moment.n_ranks for how in drawn} == {1, 2, 3, 4}
    assert sum(how.compiles for how in drawn) == 10 and len({how.moment.when for how in drawn}) == 4


def test_disks_fill_under_every_command():
    drawn = situations(60, seed=1)
    assert {each.command for each in drawn} == {RUN, RESUME, *TOOLS}
    assert {(each.disk, each.n_ranks) for each in drawn if each.case} == {
        (d, n) for d in (FULL, LIMITED) for n in (1, 2, 3, 4)
    }


@pytest.mark.parametrize(
    ("code", "step", "number", "expected"),
    [
        (STOPPED_EXIT_CODE, 40, signal.SIGTERM, True),
        (0, 40, signal.SIGTERM, False),  # it was not stopped
        (0, N_STEPS, signal.SIGTERM, True),
        (-signal.SIGTERM, 0, signal.SIGTERM, True),
        (INTERRUPTED, 0, signal.SIGINT, True),
        (-signal.SIGINT, 0, signal.SIGINT, False),
        (1, 40, signal.SIGUSR1, False),
        (0, 40, None, False),
    ],
)
def test_codes_are_judged_by_when_the_signal_came(tmp_path, code, step, number, expected):
    how = Stop(Moment(ANY_MOMENT if step else STARTING, 0, step, 0.0, n_ranks=1), number, compiles=False)
    assert is_expected(code, how, tmp_path, step) == expected


def test_an_interrupt_does_not_end_a_run_that_has_begun_with_130(tmp_path):
    (tmp_path / "case.toml").touch()
    how = Stop(Moment(ANY_MOMENT, 0, 40, 0.0, n_ranks=1), signal.SIGINT, compiles=False)
    assert not is_expected(INTERRUPTED, how, tmp_path, 40)


@pytest.fixture
def whole(tmp_path):
    """A folder of whole files."""
    folder = tmp_path / "whole"
    folder.mkdir()
    (folder / "a.csv").write_text("step,x\n1,2.0\n2,3.0\n")
    (folder / "a.json").write_text(json.dumps({"x": 1}))
    (folder / "a.toml").write_text("[x]\ny = 1\n")
    (folder / "a.html").write_text("<html></html>\n")
    with h5py.File(folder / "a.h5", "w") as file:
        file["x"] = np.arange(1000)
    return folder


def test_whole_files_are_not_torn(whole):
    assert torn_files(whole) == "" and unlike(whole, whole) == ""


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.toml", "a.html", "a.h5"])
def test_a_file_that_is_cut_off_is_torn(whole, name):
    os.truncate(whole / name, (whole / name).stat().st_size - 4)
    assert torn_files(whole) == name


def test_a_temporary_file_that_was_left_is_told(whole):
    (whole / ".a.h5.0123.tmp").touch()
    assert torn_files(whole) == ".a.h5.0123.tmp"


def test_a_limit_ends_a_command_with_one_message(tmp_path):
    words = under_a_limit(1000, "new", "channel", "--across", "12", "--yes", "-o", tmp_path / "case.toml")
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    assert done.returncode == OutputError.exit_code and done.stderr.count("\n") == 1
    assert f"cannot write {tmp_path / 'case.toml'}: File too large" in done.stderr and not any(tmp_path.iterdir())


@pytest.mark.skipif(not can_mount(), reason="this user may not mount a file system")
def test_a_small_disk_is_full_at_its_byte_and_has_space_again(tmp_path):
    with mounted(tmp_path / "disk"):
        path = tmp_path / "disk" / "file"
        with filled(path.parent, 3 * PAGE), pytest.raises(OSError, match="No space left"):
            path.write_bytes(bytes(4 * PAGE))
        assert path.write_bytes(bytes(4 * PAGE)) == 4 * PAGE

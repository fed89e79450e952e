"""The command line as a whole: one signature for all commands, and help that waits for no library."""

import inspect
import subprocess
import sys

import pytest

from muphy_lb.__main__ import COMMANDS, INTERRUPTED_EXIT_CODE, PREPARING, _parser
from muphy_lb.base.errors import InputError

HEAVY = ("numba", "scipy", "matplotlib", "h5py", "pydantic")
ASK_FOR_HELP = """
import sys
from muphy_lb.__main__ import main
try:
    main(sys.argv[1:])
except SystemExit:
    print([name for name in %r if name in sys.modules])
"""


def helped(*words):
    """What asking for help prints, and the last line: which of the heavy libraries were imported."""
    done = subprocess.run([sys.executable, "-c", ASK_FOR_HELP % (HEAVY,), *words], capture_output=True, text=True)
    text, _, modules = done.stdout.rstrip().rpartition("\n")
    return text, modules


@pytest.mark.parametrize("words", [("--help",), ("--version",), ("run", "--help"), ("new", "--help")], ids=" ".join)
def test_help_imports_no_heavy_library(words):
    text, modules = helped(*words)
    assert text and modules == "[]"


def test_help_names_every_command():
    text, _ = helped("--help")
    assert all(f"\n    {name}" in text for name in (*COMMANDS, *PREPARING))


INTERRUPTED = """
import os, signal, sys
from muphy_lb.parallel import communicator
from muphy_lb.case import case
def interrupt(*_):
    os.kill(os.getpid(), signal.SIGINT)
def load(*_):
    interrupt()
    raise ValueError("the interrupt was lost")
connect = communicator.connect
if sys.argv[1] == "before the ranks know each other":
    communicator.connect = lambda: (interrupt(), connect())[1]
else:
    case.load_case = load
from muphy_lb.__main__ import main
main(["run", "case.toml"])
"""
MOMENTS = ("before the ranks know each other", "while the case is read")


@pytest.mark.parametrize("moment", MOMENTS)
def test_ctrl_c_before_the_run_is_one_line(moment, tmp_path):
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, moment], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (INTERRUPTED_EXIT_CODE, "muphy-lb: interrupted\n")


@pytest.mark.mpi
def test_ctrl_c_before_the_run_is_one_line_of_all_ranks(mpirun):
    done = mpirun(3, ["-c", INTERRUPTED, MOMENTS[0]])
    told = [line for line in done.stderr.splitlines() if not line.startswith("Abort(")]
    assert (done.returncode, told) == (INTERRUPTED_EXIT_CODE, ["muphy-lb: interrupted [rank 0 of 3]"])


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_options_a_voice_and_the_ranks(name):
    assert list(inspect.signature(COMMANDS[name].execute).parameters) == ["options", "say", "communicator"]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_refuses_an_option_that_it_does_not_know(name):
    with pytest.raises(InputError, match="unrecognized arguments: --colour|the following arguments are required"):
        _parser([name]).parse_args([name, "--colour"])

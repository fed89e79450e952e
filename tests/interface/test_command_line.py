"""The command line as a whole: one signature for all commands, and help that waits for no library."""

import inspect
import subprocess
import sys

import pytest

from muphy_lb.__main__ import COMMANDS, PREPARING, _parser
from muphy_lb.errors import InputError

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


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_options_a_voice_and_the_ranks(name):
    assert list(inspect.signature(COMMANDS[name].execute).parameters) == ["options", "say", "communicator"]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_refuses_an_option_that_it_does_not_know(name):
    with pytest.raises(InputError, match="unrecognized arguments: --colour|the following arguments are required"):
        _parser([name]).parse_args([name, "--colour"])

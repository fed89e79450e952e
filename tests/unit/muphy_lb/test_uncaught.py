"""An exception that nobody caught ends all ranks; one that cannot be raised does not."""

import subprocess
import sys

from muphy_lb.parallel.communicator import _end_all_ranks

UNCAUGHT = """
import os, sys
from functools import partial
from muphy_lb.parallel.communicator import SerialCommunicator, _end_all_ranks
sys.excepthook = partial(_end_all_ranks, SerialCommunicator())
raise ValueError("nobody caught me")
"""


class Deaf:
    """A communicator that may not be called."""


def test_an_error_while_objects_are_cleaned_up_ends_nothing():
    assert _end_all_ranks(Deaf(), ValueError, ValueError("cannot be raised"), None) is None


def test_an_exception_that_nobody_caught_is_told_and_ends_all():
    line = [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path}\n{UNCAUGHT}"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.count("ValueError: nobody caught me") == 1

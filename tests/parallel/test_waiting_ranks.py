"""Ranks that do not begin are told at once, with their messages."""

import subprocess
import sys

import pytest

from tests.ranks import WaitingRanks


def test_a_launcher_that_ends_is_not_waited_for(tmp_path):
    """A whole session waited for ten minutes at each of its tests."""

    def launch(n_ranks, arguments, messages):
        return subprocess.Popen([sys.executable, "-c", "print('no slots')"], stdout=messages, stderr=messages)

    ranks = WaitingRanks(launch, subprocess.Popen.kill, tmp_path, timeout_s=60.0)
    with pytest.raises(AssertionError, match="the ranks have not begun\nno slots"):
        ranks(2, print)

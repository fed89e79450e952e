"""The process beside a rank never holds up its end."""

import os
import signal
import time
from types import SimpleNamespace

import pytest

from muphy_lb.parallel import watchdog
from muphy_lb.parallel.watchdog import Sentry

SECOND_OF_TWO = SimpleNamespace(rank=1, size=2)


def test_a_rank_that_is_done_leaves_no_process(tmp_path):
    with Sentry(SECOND_OF_TWO, tmp_path) as sentry:
        assert sentry._process.poll() is None
    assert sentry._process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_a_sentry_that_is_stopped_or_dead_holds_nobody_up(number, tmp_path, monkeypatch):
    monkeypatch.setattr(watchdog, "PATIENCE_S", 0.1)
    before = time.monotonic()
    with Sentry(SECOND_OF_TWO, tmp_path) as sentry:
        os.kill(sentry._process.pid, number)
    assert sentry._process.returncode == -signal.SIGKILL and time.monotonic() - before < 5.0

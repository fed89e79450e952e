"""The rehearsal of a first start asks for the very kernels that the run will launch."""

import logging
from pathlib import Path

import pytest

from muphy_lb.backends import make_backend
from muphy_lb.backends.cpu import kernels, skeletons
from muphy_lb.base.kept.code_digest import digest
from muphy_lb.base.precision import PRECISIONS
from muphy_lb.case.case import load_case
from muphy_lb.engine.engine import Engine
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.parallel.choice import HaloConnector
from muphy_lb.run import rehearsal
from muphy_lb.run.preparation import Preparation
from muphy_lb.run.rehearsal import rehearse

EXAMPLES = Path(__file__).parents[3] / "examples"
MISSED = {"dam": 0, "porous": 0, "heated_cavity": 1, "drainage": 3}
"""Kernels of steps of examples that the rehearsal does not know: walls with a temperature have nodes beside them, and
openings have links."""


@pytest.fixture
def asked(monkeypatch):
    """Kernels that helpers are asked for, with the types of their arguments."""
    found = set()
    monkeypatch.setattr(
        skeletons, "ahead", lambda kernel, given: found.add((digest(kernel), tuple(map(kernel.typeof_pyval, given))))
    )
    return found


def prepared(case, asked) -> tuple[set, set]:
    """Kernels of the rehearsal, and of the step of the case itself."""
    headers = []

    class Noting(Preparation):
        def _seen(self, header):
            headers.append(header)

    real = Noting(case, SerialCommunicator())
    asked.clear()
    rehearse(case, headers[0], "cpu", 0)
    early = set(asked)
    asked.clear()
    backend = make_backend("cpu", real.lattice, PRECISIONS[case.compute.precision], 0)
    Engine(backend, HaloConnector(real.communicator, "auto"), real.domain, real.model, real._at_links, 1.0).bind()
    return early, set(asked)


@pytest.mark.parametrize("name", MISSED)
def test_the_kernels_of_the_step_are_asked_for_ahead_of_the_nodes(name, asked):
    early, later = prepared(load_case(EXAMPLES / f"{name}.toml"), asked)
    assert early <= later and len(later - early) == MISSED[name]


@pytest.mark.parametrize("limit", [2**24, 2**28])
def test_the_kernels_for_large_buffers_are_asked_for_where_these_are_large(limit, asked, monkeypatch):
    monkeypatch.setattr(kernels, "CACHED_BYTES", limit)
    early, later = prepared(load_case(EXAMPLES / "porous.toml"), asked)
    assert early == later


def test_a_rehearsal_is_silent_but_for_what_is_said_once(monkeypatch, caplog):
    caplog.set_level("INFO", logger="muphy_lb")

    def speak(*given):
        logging.getLogger("muphy_lb.setup").warning("said again")
        logging.getLogger("muphy_lb.base.kept.store").warning("said once")

    monkeypatch.setattr(rehearsal, "_bind", speak)
    monkeypatch.setattr(rehearsal, "_Rehearsal", lambda *given: None)
    rehearse(None, None, "cpu", 0)
    logging.getLogger("muphy_lb.setup").info("afterwards")
    assert caplog.messages == ["said once", "afterwards"]


def test_a_rehearsal_that_fails_is_told_to_who_looks_for_it(monkeypatch, caplog):
    caplog.set_level("DEBUG", logger="muphy_lb")
    monkeypatch.setattr(rehearsal, "_bind", lambda *given: 1 // 0)
    monkeypatch.setattr(rehearsal, "_Rehearsal", lambda *given: None)
    rehearse(None, None, "cpu", 0)
    assert "ended early: ZeroDivisionError" in caplog.text

"""The rehearsal of a first start asks for the very kernels that the run will launch."""

from math import inf
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
    """Kernels that helpers are asked for, with the types of their arguments; stores do not depend on the number of
    nodes."""
    found = set()
    monkeypatch.setattr(kernels, "CACHED_BYTES", inf)
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


def test_a_rehearsal_that_fails_is_told_to_who_looks_for_it(monkeypatch, caplog):
    caplog.set_level("DEBUG", logger="muphy_lb")
    monkeypatch.setattr(rehearsal, "_bind", lambda *given: 1 // 0)
    monkeypatch.setattr(rehearsal, "_Rehearsal", lambda *given: None)
    rehearse(None, None, "cpu", 0)
    assert "ended early: ZeroDivisionError" in caplog.text

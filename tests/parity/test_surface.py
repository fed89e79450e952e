"""The CUDA kernels of a free surface, in Numba's simulator, against the specification."""

import numpy as np
import pytest

from muphy_lb.lattice.layout import WARP
from muphy_lb.physics.free_surface.cells import CELL
from tests.parity.cases import printed_by
from tests.parity.surface_cases import CASES, LISTED, MASK, extent, kinds, splash, state

OWN = ("bubbles", "tension", "contact angle")
"""Cases whose state is not that of all others."""


@pytest.fixture(scope="module", params=["contact angle,aa", pytest.param(",".join(CASES), marks=pytest.mark.night)])
def simulated(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("simulated") / "surface.npz"
    printed_by("tests.parity.surface_cases", path, request.param, simulator=True)
    return np.load(path)


@pytest.fixture(scope="module")
def specified():
    usual = state("pull", "numpy")
    return {label: state(label, "numpy") if label in OWN else usual for label in CASES}


def test_cells_turn_in_these_steps(specified):
    """The comparison means little where they do not."""
    before = splash("pull", "numpy").field(CELL)
    for found in specified.values():
        assert (before != found[-2]).sum() > 5
    assert np.abs(specified["bubbles"] - specified["pull"]).max() > 1e-7


def test_the_cuda_kernels_agree_in_the_simulator(simulated, specified):
    for label in sorted(set(simulated) & set(CASES)):
        assert np.array_equal(simulated[label][-2], specified[label][-2]), label
        assert np.abs(simulated[label] - specified[label]).max() < 1e-14, label


def test_the_device_lists_chosen_nodes_and_warps_with_fluid(simulated):
    kind = kinds()
    nodes = np.arange(LISTED.first, LISTED.last)
    assert np.array_equal(simulated["nodes"], nodes[kind[nodes] & MASK != 0])
    assert set(simulated["warps"]) >= set(nodes[kind[nodes] != 0] // WARP)
    assert set(simulated["warps"]) <= set(nodes[0] // WARP + np.flatnonzero(kind[nodes[0] :]) // WARP)
    assert len(set(simulated["warps"])) == simulated["warps"].size < nodes.size // WARP
    assert not simulated["counters"].any()


def test_the_liquid_is_measured_as_specified(simulated):
    assert simulated["extent"] == pytest.approx(extent("numpy"), rel=1e-12)


def test_collisions_find_the_warps_that_the_step_before_has_listed(simulated):
    assert simulated["known"].size == 4
    assert simulated["known"].all()

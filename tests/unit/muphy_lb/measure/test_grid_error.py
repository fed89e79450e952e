"""The limit of values on finer grids is the true one if they have an order, and its bar is honest if they have not."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

from muphy_lb.apps.rock.refined_flow import USUAL_ORDER, grid_limit, voxelisation_errors
from muphy_lb.measure import permeability
from muphy_lb.measure.permeability import EXPECTED, throat_lines, throats


def values(order, parts):
    """Values that go to 2 with an order."""
    return [2.0 + 0.5 * part**-order for part in parts]


@pytest.mark.parametrize("order", [1.0, 1.2, 1.5, 2.0])
def test_three_grids_measure_the_order_and_the_limit(order):
    found = grid_limit((1, 2, 3), values(order, (1, 2, 3)))
    assert found.is_measured and found.order == pytest.approx(order, abs=1e-6)
    assert found.value == pytest.approx(2.0, abs=1e-9)


@pytest.mark.parametrize("order", [0.95, 1.2, 1.9])
def test_two_grids_have_a_bar_that_holds_the_limit_of_every_usual_order(order):
    found = grid_limit((1, 2), values(order, (1, 2)))
    assert not found.is_measured and found.order == USUAL_ORDER
    assert abs(found.value - 2.0) <= found.error < 0.25


def test_the_finest_grids_count_if_there_are_more_than_three():
    parts = (1, 2, 3, 4)
    found = grid_limit(parts, [9.0, *values(1.3, parts)[1:]])
    assert found.value == pytest.approx(2.0, abs=1e-9)


def test_changes_that_do_not_shrink_make_a_bar_as_wide_as_they_are():
    found = grid_limit((1, 2, 3), (1.0, 1.1, 0.9))
    assert not found.is_measured and found.error >= 0.2


def test_what_values_are_uncertain_by_is_extrapolated_too():
    parts = (1, 2, 3)
    sure, unsure = grid_limit(parts, values(1.2, parts)), grid_limit(parts, values(1.2, parts), (0.0, 0.0, 0.01))
    assert unsure.value == sure.value and unsure.error > sure.error + 0.02


def test_voxels_of_smooth_walls_scatter_less_where_throats_are_wide():
    narrow, wide = voxelisation_errors((3.0, 3.0), (10.0, 20.0), (0.4, 0.4))
    assert wide == pytest.approx(0.5 * narrow)


def test_voxels_of_smooth_walls_are_as_uncertain_as_the_porosity():
    """Simple cubic spheres of a volume of 0.216, 8 and 16 voxels per cell: k errs by -27 and -7 %."""
    coarse, fine = voxelisation_errors((0.73, 0.93), (3.07, 7.45), (1.0 - 0.2656, 1.0 - 0.2227))
    slope = 3.0 / 0.7344 + 2.0 / 0.2656
    assert coarse == pytest.approx(0.73 * (0.15 / 3.07 + slope * 0.0429))
    assert fine == pytest.approx(0.93 * 0.15 / 7.45)
    limit = grid_limit((1, 2), (0.73, 0.93), (coarse, fine))
    assert abs(limit.value - 1.0) < limit.error


def test_a_grid_without_solid_is_uncertain_by_its_throats_alone():
    assert voxelisation_errors((1.0, 1.0), (10.0, 10.0), (1.0, 1.0)) == pytest.approx((0.015, 0.015))


def test_throats_are_where_the_flow_loses_its_pressure():
    square = np.array([4, 4, 64, 64, 0])
    speed = np.array([4.0, 4.0, 1.0, 1.0, 9.0])
    found = throats(square, np.stack((speed, 0 * speed, 0 * speed), axis=1))
    loss = np.array([16.0 / 4.0, 1.0 / 64.0])
    assert found.widths_voxels == (2.0, 2.0, 2.0)
    assert found.mean_width_voxels == pytest.approx(loss.sum() / (loss / (2.0, 8.0)).sum())
    assert found.expected_error == pytest.approx(EXPECTED / found.mean_width_voxels)
    assert "half of the pressure is lost" in throat_lines(found.record())[0]


def test_a_flow_at_rest_or_without_walls_has_no_throats():
    assert throats(np.array([0]), np.ones((1, 3))) is None
    assert throats(np.array([4]), np.zeros((1, 3))) is None


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_widths_are_found_once_and_beside_the_steps_of_a_gpu(backend, monkeypatch):
    found = []

    def widths(nodes):
        found.append(threading.current_thread() is threading.main_thread())
        return np.array([2.0, np.sqrt(2.0), np.inf], np.float32)

    monkeypatch.setattr(permeability, "pore_widths", widths)
    nodes, others = SimpleNamespace(), SimpleNamespace()
    squares = permeability.squares_beside(
        SimpleNamespace(communicator=SimpleNamespace(rank=0), backend_name=backend, nodes=nodes)
    )
    assert squares(nodes).tolist() == [4, 2, 0] and found == [backend == "cpu"]
    assert squares(others).tolist() == [4, 2, 0] and len(found) == 2

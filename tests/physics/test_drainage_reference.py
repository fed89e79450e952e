"""The exact menisci between disks that drainage is compared with."""

import numpy as np
import pytest

from muphy_lb.validation.two_fluid.drainage import TENSION, Reference, between_disks, held, invaded, reached, rocks


@pytest.mark.parametrize("degrees", [10.0, 30.0, 60.0])
@pytest.mark.parametrize("radius, half", [(12, 6), (14, 3), (8, 4)])
def test_two_disks_hold_the_exact_pressure(radius, half, degrees):
    centres = 5.3, 5.3 + 2 * (radius + half)
    disks = np.array([(30.2, centres[0], radius), (30.2, centres[1], radius)])
    widest = between_disks(disks, (1, int(centres[1]) + 6, 60), degrees).widest[0]
    assert TENSION / widest.max(axis=0).min() == pytest.approx(held(radius, half, degrees), rel=0.01)


def test_two_disks_that_wet_wholly_hold_what_their_gap_does():
    assert held(12, 6, 0.0) == pytest.approx(TENSION / 6)


def test_what_loses_its_way_stays_where_it_is():
    fluid = np.zeros((1, 17, 40), dtype=bool)
    fluid[0, 1:16, :8] = fluid[0, 1:16, -8:] = True
    fluid[0, 1:8] = True  # a wide way
    fluid[0, 8:12, 18:22] = fluid[0, 12:16, 16:24] = True  # a dead end behind a narrow mouth
    widest = np.where(fluid, 1.5, 0.0)
    widest[0, 1:8] = 3.5
    end = 8 * 4 / fluid[0, :, 8:-8].sum()
    first, last = invaded(Reference(fluid, widest), np.array([3.0, 1.0]), 8)
    assert first == last
    assert first < 1.0 - end
    assert reached(Reference(fluid, widest), np.zeros_like(fluid), 1.0, 8) == 1.0
    dead_end = fluid.copy()
    dead_end[0, :8] = False
    dead_end[..., [*range(8), *range(32, 40)]] = False
    assert reached(Reference(fluid, widest), dead_end, 1.0, 8) == pytest.approx(
        1.0 - dead_end.sum() / fluid[0, :, 8:-8].sum()
    )


def test_rocks_beside_each_other_are_those_of_their_own():
    one, two = rocks(16, 1), rocks(16, 2)
    parts = two.each(two.fluid)
    assert np.array_equal(parts[0], one.fluid) and not np.array_equal(parts[0], parts[1])
    assert not two.fluid[:, [0, 63, 64, 127]].any()
    shares = [float(part[..., 8:-8].sum()) for part in parts]
    assert two.mean([1.0, 0.0]) == pytest.approx(shares[0] / sum(shares))

"""A few of the damages of the study of checkpoints; thousands: scripts/fuzz_inputs checkpoints."""

import pytest

from tests.fuzz.checkpoints import GOOD, PASSED_OVER, STRUCTURES, study


@pytest.mark.parametrize("n", [40, pytest.param(80, marks=pytest.mark.night)])
def test_no_damage_is_believed(tmp_path, n):
    found = study(tmp_path, n, seed=3)
    assert not [(words, verdict) for words, verdict in found if verdict not in GOOD]
    assert sum(verdict == PASSED_OVER for _, verdict in found) > 0.75 * n and len(STRUCTURES) > 10

"""A few of the damages of the study of checkpoints; thousands: scripts/fuzz_inputs checkpoints."""

from tests.fuzz.checkpoints import GOOD, PASSED_OVER, STRUCTURES, study


def test_no_damage_is_believed(tmp_path):
    found = study(tmp_path, 80, seed=3)
    assert not [(words, verdict) for words, verdict in found if verdict not in GOOD]
    assert sum(verdict == PASSED_OVER for _, verdict in found) > 60 and len(STRUCTURES) > 10

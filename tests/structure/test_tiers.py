"""The tiers of the suite: their lists name files that exist, and few combinations of options contain every pair."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from tests.conftest import CHECKED, NIGHT, ROOT
from tests.pairs import covering


def test_every_listed_file_is_there():
    missing = [name for name in (*CHECKED, *NIGHT) if not (ROOT / "tests" / name).exists()]
    assert not missing, f"tests/conftest.py lists {missing}"


@pytest.mark.parametrize("shape", [(3,), (2, 4), (3, 4, 5), (2, 3, 4, 5)])
def test_every_pair_of_values_meets_in_a_covering_array(shape):
    rows = [row for row in np.ndindex(*shape) if row[:2] != (1, 2)]  # a combination that does not exist
    chosen = [rows[number] for number in covering(rows)]
    for i, j in combinations_with_replacement(range(len(shape)), 2):
        assert {(row[i], row[j]) for row in chosen} == {(row[i], row[j]) for row in rows}
    assert len(chosen) <= 1.5 * np.prod(sorted(shape)[-2:])

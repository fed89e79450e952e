"""The list of what ``scripts/check`` runs names files that exist."""

from tests.conftest import CHECKED, ROOT


def test_every_checked_file_is_there():
    missing = [name for name in CHECKED if not (ROOT / "tests" / name).exists()]
    assert not missing, f"tests/conftest.py lists {missing}"

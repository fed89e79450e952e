"""The lists of what ``scripts/check`` runs, and of what takes longest, name files that exist."""

from tests.conftest import CHECKED, LONGEST, ROOT


def test_every_listed_file_is_there():
    missing = [name for name in (*CHECKED, *LONGEST) if not (ROOT / "tests" / name).exists()]
    assert not missing, f"tests/conftest.py lists {missing}"

"""The fuzzer of prepared geometries: it can be repeated, and a file that its reader dies or hangs of is counted."""

import os
import signal
import time

import pytest

from muphy_lb.geometry.errors import GeometryError
from tests.fuzz import limited, prepared
from tests.fuzz.limited import READ, REFUSED
from tests.fuzz.prepared import study
from tests.fuzz.prepared_damages import NAME, Damage, damage_of


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a file, in which the number of the damage is written."""
    (tmp_path / NAME).write_bytes(b"")
    apply = {k: lambda path, k=k: str(path.write_text(str(k))) for k in range(4)}
    monkeypatch.setattr(prepared, "damage_of", lambda seed, number: Damage(apply[number], True))
    return tmp_path


def verdicts(folder, monkeypatch, second):
    """What comes of four files, of which reading the second calls ``second()``."""

    def read(folder):
        if (folder / NAME).read_text() == "1":
            second()

    monkeypatch.setattr(prepared, "read_everywhere", read)
    return [outcome.verdict for outcome in study(folder, range(4), 1)]


def refuse():
    raise GeometryError(f"{NAME} is damaged; prepare it again")


@pytest.mark.parametrize(
    ("second", "verdict"),
    [
        (refuse, REFUSED),
        (lambda: [][1], "TRACEBACK"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "KILLED BY SIGKILL"),
        (lambda: os._exit(3), "ENDS WITH 3"),
        (lambda: time.sleep(600), "HANG"),
    ],
    ids=["refused", "traceback", "killed", "ended", "hangs"],
)
def test_what_comes_of_a_file_is_told_and_the_others_are_read(folder, monkeypatch, second, verdict):
    monkeypatch.setattr(limited, "LIMIT_S", 3)
    assert verdicts(folder, monkeypatch, second) == [READ, verdict, READ, READ]


def test_damages_of_a_number_are_always_the_same(tmp_path):
    contents = []
    for seed in (1, 1, 2):
        (tmp_path / NAME).write_bytes(bytes(1000))
        flips = (damage for damage in (damage_of(seed, number) for number in range(99)) if "_flip" in str(damage.apply))
        next(flips).apply(tmp_path / NAME)
        contents.append((tmp_path / NAME).read_bytes())
    assert contents[0] == contents[1] != contents[2]

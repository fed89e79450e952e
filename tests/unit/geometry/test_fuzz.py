"""The fuzzer: damaged inputs end well, its damages can be repeated, and its judge knows a bad end from a good one."""

import dataclasses
import subprocess
import sys

import pytest

pytest.importorskip("pydicom")

from tests.conftest import HANGS_S
from tests.fuzz.campaign import FAMILIES, campaign, kind_of
from tests.fuzz.damages import damages
from tests.fuzz.limited import LIMIT_MIB, LIMIT_S, READ, REFUSED, Ending
from tests.fuzz.samples import BY_NAME
from tests.fuzz.study import judge
from tests.structure.source import ROOT

REFUSAL = Ending(
    2, 0.1, 100.0, "", "geometry: image.mha holds 7 bytes of voxels; its header needs 9: it is truncated\n"
)
READING = Ending(0, 0.1, 100.0, "written out.h5\n", "")


def with_name(name, seed=1):
    return next(one for one in damages(seed) if one.sample.name == "image.mha" and one.name == name)


def test_a_few_damaged_inputs_of_many_kinds_end_well():
    # A process of its own: children are forked from it, which it must not have threads for.
    command = [sys.executable, "-m", "tests.fuzz.study", "--quick", "--count", "60"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANGS_S)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_campaign_of_a_seed_is_always_the_same_and_has_inputs_of_all_families():
    names = [[(one.sample.name, one.name) for one in campaign(seed, 200)] for seed in (1, 1, 2)]
    assert names[0] == names[1] != names[2]
    kinds = {kind_of(one) for one in campaign(1, 200)}
    assert all({kind_of(one) for one in campaign(1, 20, family)} & kinds for family in FAMILIES)


def test_there_are_more_than_two_hundred_damages_of_each_sample_at_least_ten():
    found = [one.sample.name for one in damages(1)]
    assert len(found) >= 200 and all(found.count(name) >= 10 for name in BY_NAME)


def test_damages_of_a_seed_are_always_the_same(tmp_path):
    contents = []
    for seed in (1, 1, 2):
        BY_NAME["image.mha"].write(tmp_path)
        with_name("noise", seed).apply(tmp_path / "image.mha")
        contents.append((tmp_path / "image.mha").read_bytes())
    assert contents[0] == contents[1] != contents[2]


def test_a_message_that_names_the_file_is_a_good_end_and_reading_only_where_the_damage_is_harmless():
    assert judge(with_name("truncated to 60 %"), REFUSAL) == REFUSED
    assert judge(with_name("truncated to 60 %"), READING) == "SWALLOWED"
    assert judge(with_name("3 bits flipped"), READING) == READ


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({"err": "Traceback (most recent call last):\nValueError: image.mha\n"}, "TRACEBACK"),
        ({"err": ""}, "0 LINES OF 0 LETTERS"),
        ({"err": "geometry: there is no fluid\n"}, "NAMES NO FILE"),
        ({"err": "geometry: image.mha: Unable to allocate 9 TiB\n"}, "NOT ASKED"),
        ({"err": "image.mha " * 200}, "1 LINES OF 2000 LETTERS"),
        ({"err": "RuntimeWarning: image.mha\n"}, "1 LINES OF 26 LETTERS"),
        ({"seconds": LIMIT_S + 1.0}, "HANG"),
        ({"exit_code": -14}, "HANG"),
        ({"exit_code": -11}, "KILLED BY SIGSEGV"),
        ({"peak_mib": LIMIT_MIB + 1.0}, "MEMORY"),
    ],
)
def test_bad_ends_are_told(change, verdict):
    assert judge(with_name("truncated to 60 %"), dataclasses.replace(REFUSAL, **change)) == verdict

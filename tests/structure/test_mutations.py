"""The faults that ``tests.mutations`` seeds stand in the code that they change."""

from tests.mutations import FAULTS
from tests.structure.source import ROOT


def test_every_seeded_fault_has_its_place():
    lost = [fault.room for fault in FAULTS if (ROOT / fault.file).read_text().count(fault.old) < 1]
    assert not lost

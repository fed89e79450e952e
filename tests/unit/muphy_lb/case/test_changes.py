"""What differs between two cases is said in the words of their files."""

from muphy_lb.case.case import MANY, changed_keys, listed
from tests.channel import open_channel

CASE = open_channel()


def test_a_case_does_not_differ_from_itself():
    assert changed_keys(CASE.to_toml(), CASE.to_toml()) == [] and listed([]) == ""


def test_entries_of_lists_go_by_their_names_and_keys_may_be_missing():
    other = open_channel(inlet={"pressure_pa": 1.0}, lattice={"collision": "trt"})
    found = changed_keys(CASE.to_toml(), other.to_toml())
    assert found == [
        "lattice.collision was 'bgk', is 'trt'",
        "openings.inlet.pressure_pa was not given, is 1.0",
        "openings.inlet.velocity_m_s was 0.002, is not given",
    ]
    assert changed_keys(CASE.to_toml(), other.to_toml(), ("lattice", "fluid")) == found[:1]


def test_a_long_list_is_cut():
    assert listed([f"k{number}" for number in range(MANY + 2)]).endswith("k7; and 2 more")

"""Keys that entries of a table declare: of a collision in [lattice], of an observer in [output]."""

import pickle
from typing import Annotated

import pytest
from pydantic import Field

from docs.generated import case_keys
from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.case.choice import Key
from muphy_lb.case.lattice import LatticeSection
from muphy_lb.case.section import Positive
from muphy_lb.lattice import D2Q9
from muphy_lb.measure.observer import Observer
from muphy_lb.model.isothermal import Fluid
from muphy_lb.operators import BGK, OMEGA, RELAXATIONS, TRT, Relaxation, named
from muphy_lb.run import observers
from tests.channel import PERIODIC, changed

ODD = Annotated[float, Field(gt=0.0, lt=2.0)]


def own(parameters, keys):
    """A relaxation with these parameters after omega."""
    return Relaxation("own", named(OMEGA, *parameters), BGK.reference, BGK.node, keys=keys)


def case(**lattice):
    """A case with these keys of [lattice]."""
    return case_from_dict(changed(PERIODIC, lattice=lattice))


@pytest.fixture
def odd_rate(monkeypatch):
    """A collision with a key of its own."""
    monkeypatch.setitem(RELAXATIONS, "own", own(["odd"], {"odd": Key(ODD, "rate of what is odd")}))


@pytest.mark.usefixtures("odd_rate")
def test_a_key_of_a_collision_is_one_of_the_case_file():
    found = case(collision="own", odd=1.5)
    assert RELAXATIONS["own"].valued(D2Q9, found.lattice.model_extra) == (RELAXATIONS["own"], (1.5,))
    assert "odd = 1.5" in found.to_toml() and pickle.loads(pickle.dumps(found)) == found
    assert "| `odd` | number, above 0, below 2 |  | rate of what is odd |" in case_keys("")
    assert "odd" in LatticeSection.all_fields()


@pytest.mark.usefixtures("odd_rate")
@pytest.mark.parametrize(
    ("lattice", "message"),
    [
        ({"collision": "own", "odd": 2.5}, "lattice.odd is 2.5: must be less than 2 (rate of what is odd)"),
        ({"collision": "bgk", "odd": 0.5}, "lattice has odd, which only collision = 'own' reads"),
        ({"collision": "own", "odds": 0.5}, "lattice.odds is an unknown key; did you mean 'odd'"),
        ({"magic": 0.25}, "lattice has magic, which only collision = 'trt' or 'mrt' reads"),
    ],
)
def test_its_values_are_checked_and_no_other_collision_reads_it(lattice, message):
    with pytest.raises(InputError) as refused:
        case(**lattice)
    assert message in str(refused.value)


def test_a_parameter_without_a_value_is_refused():
    with pytest.raises(InputError, match=r"'own' needs a value of 'odd'; give lattice\.odd"):
        own(["odd"], {"odd": Key(Positive, "rate")}).valued(D2Q9, {})
    with pytest.raises(InputError, match="needs a value of 'odd'; declare the key 'odd'"):
        own(["odd"], {}).valued(D2Q9, {})
    with pytest.raises(InputError, match="has 1 values; give one for each of omega, magic"):
        _ = Fluid((1.0,), TRT).parameters


def test_two_collisions_do_not_mean_different_things_by_one_key(monkeypatch):
    monkeypatch.setitem(RELAXATIONS, "own", own(["magic"], {"magic": Key(ODD, "something else")}))
    with pytest.raises(ValueError, match="the key 'magic' of 'own' is another one"):
        _ = LatticeSection.keys_of.keys


class Loud(Observer):
    """An observer with a key."""

    keys = {"volume": Key(Positive, "how loud", 1.0)}


def test_a_key_of_an_observer_is_one_of_output(monkeypatch):
    monkeypatch.setattr(observers, "OBSERVERS", (*observers.OBSERVERS, Loud))
    loud, plain = (case_from_dict(changed(PERIODIC, output=output)) for output in ({"volume": 3.0}, {}))
    assert Loud.asked(loud, "volume") == 3.0 and Loud.asked(plain, "volume") == 1.0
    with pytest.raises(InputError, match=r"output\.volume is 0\.0: must be greater than 0 \(how loud\)"):
        case_from_dict(changed(PERIODIC, output={"volume": 0.0}))

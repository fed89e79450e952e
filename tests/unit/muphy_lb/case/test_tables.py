"""What a key of the case file may name is what a table of the program holds; reading a case imports none of it."""

import subprocess
import sys
from itertools import combinations
from types import SimpleNamespace
from typing import get_args

import pytest

from muphy_lb.backends import BACKENDS
from muphy_lb.base.errors import InputError
from muphy_lb.base.precision import PRECISIONS
from muphy_lb.base.registry import PHYSICS, package, packages, sections
from muphy_lb.boundaries.profiles import PROFILES
from muphy_lb.case.boundaries import OpeningSection
from muphy_lb.case.choice import OneOf
from muphy_lb.case.lattice import LatticeSection
from muphy_lb.case.output import FLOW_FIELDS
from muphy_lb.case.run import FLOW_MONITORED, ComputeSection
from muphy_lb.domain.local import ORDERS
from muphy_lb.domain.streaming import STREAMINGS
from muphy_lb.lattice import LATTICES
from muphy_lb.measure.field_snapshots import UNITS
from muphy_lb.operators import EQUILIBRIA, RELAXATIONS
from muphy_lb.operators.wall_rules import WALL_RULES
from muphy_lb.parallel.choice import TRANSPORTS
from muphy_lb.physics.package import Physics
from muphy_lb.run.criteria import FLOW_QUANTITIES
from muphy_lb.setup.boundaries import WOMERSLEY


def allowed(section, key: str) -> set[str]:
    """The texts that a key of a section may have."""
    field = section.model_fields[key]
    named = {name for one in field.metadata if isinstance(one, OneOf) for name in one.names}
    return named or set(get_args(field.annotation))


@pytest.mark.parametrize(
    ("section", "key", "table"),
    [
        (LatticeSection, "name", LATTICES),
        (LatticeSection, "collision", RELAXATIONS),
        (LatticeSection, "equilibrium", EQUILIBRIA),
        (LatticeSection, "walls", WALL_RULES),
        (ComputeSection, "backend", ("auto", *BACKENDS)),
        (ComputeSection, "precision", PRECISIONS),
        (ComputeSection, "streaming", STREAMINGS),
        (ComputeSection, "order", ORDERS),
        (ComputeSection, "transport", TRANSPORTS),
        (OpeningSection, "profile", (*PROFILES, "measured", WOMERSLEY)),
    ],
)
def test_a_key_names_what_the_table_holds(section, key, table):
    assert allowed(section, key) == set(table)


def test_fields_and_monitored_quantities_of_the_flow_are_those_that_it_can_tell():
    assert set(FLOW_FIELDS) == set(UNITS) and set(FLOW_MONITORED) == set(FLOW_QUANTITIES)


@pytest.mark.parametrize("name", PHYSICS)
def test_a_physics_goes_by_the_name_of_its_folder_and_section(name):
    assert issubclass(package(name), Physics) and package(name).name == name and name in sections()


def test_a_case_has_two_physics_unless_one_excludes_the_other():
    allowed = []
    for pair in combinations(PHYSICS, 2):
        try:
            packages(SimpleNamespace(**{name: name in pair for name in PHYSICS}))
            allowed.append(pair)
        except InputError as error:
            assert "cannot be computed together" in str(error)
    carried = [("thermal", "species"), ("age", "species"), ("species", "dissipation")]
    carried += [("thermal", "dispersion"), ("dispersion", "dissipation")]
    porous = {(name, "porous_medium") for name in ("thermal", "age", "species", "dispersion")}
    known = {("fluctuating", "particles"), ("age", "dissipation"), *carried} | porous
    listed = {name for pair in known for name in pair} | {"free_surface", "two_fluid"}
    assert {pair for pair in allowed if listed.issuperset(pair)} == known


@pytest.mark.parametrize("library", ["numpy", "numba"])
def test_a_case_is_read_without_the_libraries_of_the_solver(library):
    line = f"import sys, muphy_lb.case.case; sys.exit({library!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", line]).returncode == 0

"""Beads of one table may differ in mass and friction: each moves as in a table of its own."""

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.base.units import BOLTZMANN_J_K
from muphy_lb.physics.particles.beads.motion import VELOCITY
from tests.channel import SPACING_M, periodic_channel, simulate

PLACES = [[SPACING_M * x, SPACING_M * y, 0.0] for x, y in ((1.3, 2.2), (3.0, 3.8), (4.6, 4.7), (6.1, 2.6))]
LIGHT, HEAVY = {"mass_kg": 3e-6, "friction_kg_s": 3e-5}, {"mass_kg": 9e-6, "friction_kg_s": 6e-5}
TABLE = {"name": "beads", "kind": "beads", "positions_m": PLACES, **LIGHT, "pull": {"force_n": [1e-9, 0.0, 0.0]}}
KINDS = [{"name": "heavy", "ids": [1, 3], **HEAVY}]


def moved(backend: str, coupling: str, precision: str = "fp64", **table) -> np.ndarray:
    """(3, n) velocity of the beads after some steps."""
    compute = {"backend": backend, "precision": precision}
    case = periodic_channel(particles=[TABLE | {"coupling": coupling} | table], compute=compute)
    columns = simulate(case, 30).particles()["beads"]
    return np.stack([columns[name] for name in VELOCITY])


@pytest.mark.parametrize("coupling", ["one-way", "at-rest", "both"])
def test_a_bead_moves_as_in_a_table_of_its_kind(coupling):
    """With coupling "both" beads act on each other through the fluid, so that all of them differ a little."""
    mixed = moved("cpu", coupling, kinds=KINDS)
    light, heavy = moved("cpu", coupling), moved("cpu", coupling, **HEAVY)
    expected = np.where(np.arange(4) % 2 == 1, heavy, light)
    assert np.abs(heavy - light).max() > 1e-2 * np.abs(light).max()
    if coupling == "both":
        np.testing.assert_allclose(mixed[0], expected[0], rtol=0.2)
    else:
        np.testing.assert_array_equal(mixed, expected)


@pytest.mark.parametrize("coupling", ["both", "at-rest"])
def test_compiled_code_moves_kinds_as_the_specification_says(coupling):
    found = [moved(backend, coupling, kinds=KINDS) for backend in ("numpy", "cpu")]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9, atol=1e-18)


def test_kinds_come_from_a_file_and_the_temperature_counts_each_mass(tmp_path):
    rows = [f"{name} {x * 1e3:.6f} {y * 1e3:.6f} {z:.6f}" for name, (x, y, z) in zip("ABAB", PLACES, strict=True)]
    (tmp_path / "beads.xyz").write_text("4\nProperties=species:S:1:pos:R:3\n" + "\n".join(rows) + "\n")
    table = {key: value for key, value in TABLE.items() if key != "positions_m"}
    table |= {"file": "beads.xyz", "length_unit_m": 1e-3, "coupling": "one-way"}
    kinds = [{"name": "B", **HEAVY}]
    simulation = simulate(periodic_channel(tmp_path, particles=[table | {"kinds": kinds}]), 30)
    columns = simulation.particles()["beads"]
    velocity = np.stack([columns[name] for name in VELOCITY])
    np.testing.assert_array_equal(velocity, moved("numpy", "one-way", kinds=KINDS))
    species = simulation.physics[0].species[0]
    np.testing.assert_allclose(species.mass_kg, [3e-6, 9e-6, 3e-6, 9e-6])
    assert not any("kinds" in text for text in species.warnings())


def test_each_kind_has_the_temperature_of_the_fluid():
    """Beads in a fluid at rest, by equipartition: m v^2 of both kinds is kT along each axis."""
    kelvin, n = 1e8, 400
    random = np.random.default_rng(5)
    places = np.column_stack((random.uniform(0.6, 7.0, n), random.uniform(1.6, 5.4, n), np.zeros(n))) * SPACING_M
    table = {"positions_m": places.tolist(), "pull": None, "coupling": "at-rest"}
    table = {key: value for key, value in (TABLE | table).items() if value is not None}
    table["kinds"] = [{"name": "heavy", "ids": list(range(1, n, 2)), **HEAVY}]
    case = periodic_channel(particles=[table], fluid={"temperature_k": kelvin}, compute={"backend": "cpu"})
    simulation, square = simulate(case, 100), np.zeros(n)
    for _ in range(60):
        simulation.advance(5)
        columns = simulation.particles()["beads"]
        square += sum(simulation.units.velocity_to_si(columns[name]) ** 2 for name in VELOCITY[:2]) / 60
    for mass_kg, kind in ((3e-6, square[::2]), (9e-6, square[1::2])):
        assert 0.5 * mass_kg * kind.mean() == pytest.approx(BOLTZMANN_J_K * kelvin, rel=0.05)


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ([{"name": "A", **HEAVY}], "kinds.A has no beads: allowed are the kinds of the file .none"),
        ([{"name": "A", "ids": [7]}], "kinds.A.ids has 7, and there is no bead of that id"),
        ([{"name": "A", "ids": [1]}, {"name": "B", "ids": [1, 2]}], "kinds.B has the bead 1, which another kind has"),
        ([{"name": "A", "ids": [1]}, {"name": "A", "ids": [2]}], "has two kinds named 'A'"),
        ([{"name": "A", "friction_kg_s": 1e-5, "radius_m": 1e-5}], "has friction_kg_s and radius_m"),
    ],
)
def test_kinds_that_are_none_are_refused(kinds, message):
    with pytest.raises(InputError, match=message):
        simulate(periodic_channel(particles=[TABLE | {"kinds": kinds}]))

"""Species: what walls take up is what the fluid loses, what a case asks of a rate law, and messages."""

import tomllib

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.output.series import read_series
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.physics.species.rates import read_law
from muphy_lb.run import changes
from muphy_lb.run.checkpoint import checkpoint_path, restore, write_checkpoint
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from tests.channel import BOTTOM, OPEN, TOP, changed, open_channel, periodic_channel, simulate

DIFFUSIVITY_M2_S = 2e-6
DRUG = {"name": "drug", "diffusivity_m2_s": DIFFUSIVITY_M2_S, "initial": 1.0}
UPTAKE = [BOTTOM | {"species_uptake_m_s": {"drug": 1e-3}}, TOP | {"species_flux": {"drug": 2e-4}}]


def total(simulation, name="drug"):
    """The sum of all populations of a species."""
    scalar = next(each for each in simulation.physics[0].scalars if each.name == name)
    return sum(simulation.model_field(row).sum() for row in scalar.rows)


def told(simulation):
    """Measures the first species."""
    return simulation.physics[0].told(simulation)[0]


@pytest.mark.parametrize("walls", ["half-way", "bouzidi"])
def test_what_enters_through_walls_is_what_the_fluid_gains(walls):
    simulation = simulate(periodic_channel(species=[DRUG], walls=UPTAKE, lattice={"walls": walls}), 20)
    before, entering_si = total(simulation), told(simulation).through_walls_si()
    simulation.advance(1)
    gained_si = simulation.units.flow_rate_to_si(total(simulation) - before)
    assert gained_si == pytest.approx(sum(entering_si), rel=1e-9)
    assert entering_si[0] < 0.0 < entering_si[1]


@pytest.mark.parametrize("walls", ["half-way", "bouzidi"])
def test_a_uniform_species_stays_uniform_beside_stairs_of_voxels(walls):
    """In a throat of 2.5 voxels, at a voxel's Peclet number of 50, while the flow begins; held at inlet and wall."""
    options = {"length": 24, "radius": 4.0, "severity": 0.4, "extent": 14.0}
    case = {
        "geometry": {"shape": "stenosis", "spacing_m": 1.0, "options": options},
        "openings": [
            {"name": "inlet", "velocity_m_s": 0.02, "species": {"drug": 1.0}},
            {"name": "outlet", "pressure_pa": 0.0},
        ],
        "walls": [{"name": "held", "box_m": [[-100.0, -100.0, -100.0], [100.0, 0.0, 100.0]], "species": {"drug": 1.0}}],
        "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": 0.1},
        "lattice": {"time_step_s": 1.0, "walls": walls},
        "compute": {"precision": "fp64", "backend": "cpu"},
        "species": [{"name": "drug", "diffusivity_m2_s": 1e-3, "initial": 1.0}],
        "run": {"steps": 400},
    }
    values = simulate(case_from_dict(case), 300).model_field("drug")
    assert np.abs(values - 1.0).max() < 1e-13


def test_a_species_in_a_frozen_flow_is_that_of_the_steady_flow(tmp_path):
    openings = [
        {"name": "inlet", "velocity_m_s": 2e-3, "species": {"drug": 2.0}},
        {"name": "outlet", "pressure_pa": 0.0},
    ]
    decaying = DRUG | {"decay_per_s": 0.2}
    frozen_after_s, steps = 10.0, {"steps": 5000, "ramp_steps": 100}
    flowing, frozen = (
        simulate(open_channel(species=[decaying], openings=openings, run=steps | more), 1300)
        for more in ({}, {"frozen_after_s": frozen_after_s})
    )
    assert np.ptp(frozen.field("drug")) > 0.1
    assert frozen.field("drug") == pytest.approx(flowing.field("drug"), rel=1e-9)
    write_checkpoint(checkpoint_path(tmp_path, 1300), frozen, {})
    assert case_from_dict(tomllib.loads(frozen.case.to_toml()), frozen.case.folder) == frozen.case
    resumed = Solver(frozen.case, SerialCommunicator())
    restore(tmp_path, resumed)
    with pytest.raises(InputError, match="the flow is frozen from step 1000 on"):
        frozen.set_velocity_m_s(np.zeros(3))
    for simulation in (frozen, resumed):
        simulation.advance(33)
    assert np.array_equal(frozen.field("drug"), resumed.field("drug"))
    assert np.array_equal(frozen.velocity_m_s(), resumed.velocity_m_s())
    faster = {"openings.inlet.velocity_m_s": 4e-3}
    with pytest.raises(InputError, match="change run.frozen_after_s as well"):
        changes.changed(frozen, faster)
    flowing = changes.changed(frozen, faster | {"run.frozen_after_s": None})
    flowing.advance(500)
    assert flowing.openings()["outlet"].flow_rate_m3_s > 1.5 * frozen.openings()["outlet"].flow_rate_m3_s


def test_a_wall_that_takes_up_has_the_steady_profile_of_its_rate():
    """Between a held value 1 and uptake k c beyond a height H: the flux is k / (1 + k H / D)."""
    rate_m_s = 1e-3
    walls = [BOTTOM | {"species": {"drug": 1.0}}, TOP | {"species_uptake_m_s": {"drug": rate_m_s}}]
    simulation = simulate(periodic_channel(species=[DRUG], walls=walls), 4000)
    nodes, spacing_m = simulation.nodes, simulation.units.spacing_m
    y = nodes.coordinates()[:, 1]
    height_m, columns = (np.ptp(y) + 1) * spacing_m, np.count_nonzero(y == y.min())
    expected = rate_m_s / (1.0 + rate_m_s * height_m / DIFFUSIVITY_M2_S) * columns * spacing_m**2
    assert told(simulation).through_walls_si() == pytest.approx([expected, -expected], rel=1e-6)


def test_a_reaction_keeps_what_it_moves_from_one_species_to_another():
    species = [DRUG | {"rate": "-k * drug**2", "rates": {"k": 2.0}}, {**DRUG, "name": "bound", "rate": "2 * drug**2"}]
    species[1]["initial"] = 0.0
    simulation = simulate(periodic_channel(species=species), 60)
    both = total(simulation) + total(simulation, "bound")
    assert both == pytest.approx(simulation.header.n_nodes, rel=1e-13)
    assert simulation.field("drug").mean() == pytest.approx(1.0 / (1.0 + 2.0 * simulation.time_s), rel=1e-4)


def test_a_species_is_overwritten_by_values_of_nodes():
    simulation = simulate(periodic_channel(species=[DRUG]), 0)
    values = np.linspace(0.0, 2.0, simulation.header.n_nodes)
    simulation.set_species("drug", values)
    assert np.array_equal(simulation.field("drug"), values)
    with pytest.raises(InputError, match="set_species got 'durg', which is no species; did you mean 'drug'"):
        simulation.set_species("durg", 1.0)


def test_a_run_records_series_and_amounts(tmp_path):
    openings = [
        {"name": "inlet", "velocity_m_s": 5e-3, "species": {"drug": 2.0}},
        {"name": "outlet", "pressure_pa": 0.0},
    ]
    case = open_channel(species=[DRUG], walls=UPTAKE[:1], openings=openings, run={"steps": 60}, output={"report": True})
    _, summary = Run(Solver(case, SerialCommunicator()), tmp_path).execute()
    record, series = summary["species"]["drug"], read_series(tmp_path / "species_drug.csv")
    assert record["unit"] == "mol/m3" and record["rate_unit"] == "mol/s" and 1.0 < record["highest"] <= 2.05
    assert series["outlet_mean_drug_mol_m3"][-1] == record["outlet_means"]["outlet"]
    assert series["bottom_drug_mol_s"][-1] == record["enters_through_walls"]["bottom"] < 0.0
    assert "Species" in (tmp_path / "report.html").read_text()


def test_the_amount_that_is_told_is_kept_where_nothing_leaves():
    simulation = simulate(periodic_channel(species=[DRUG], flow={"acceleration_m_s2": [0.01, 0.0, 0.0]}), 5)
    simulation.set_species("drug", np.linspace(0.5, 1.5, simulation.header.n_nodes))
    simulation.advance(1)
    before = told(simulation).record()["amount"]
    simulation.advance(60)
    assert told(simulation).record()["amount"] == pytest.approx(before, rel=1e-13)


def test_values_beyond_those_of_the_case_make_a_result_doubtful(tmp_path):
    simulation = simulate(periodic_channel(species=[DRUG], flow={"acceleration_m_s2": [0.01, 0.0, 0.0]}), 5)
    simulation.set_species("drug", np.linspace(0.5, 1.2, simulation.header.n_nodes))
    (record,) = (each for each in simulation.physics[0].observers(simulation, tmp_path, None) if each.name == "species")
    assert "drug goes from 0.5 to 1.2 mol/m3, and nothing leads out of 0 to 1" in record.objections()[0]
    assert "with species.drug.diffusivity_m2_s = " in record.objections()[0]
    simulation.set_species("drug", 1.0)
    assert not record.objections()


def test_the_remedy_for_ripples_names_the_key_that_the_case_has(tmp_path):
    drug = {"name": "drug", "schmidt": 5.0, "initial": 1.0}
    simulation = simulate(periodic_channel(species=[drug], flow={"acceleration_m_s2": [0.01, 0.0, 0.0]}), 5)
    simulation.set_species("drug", np.linspace(0.5, 1.2, simulation.header.n_nodes))
    (record,) = (each for each in simulation.physics[0].observers(simulation, tmp_path, None) if each.name == "species")
    assert "with species.drug.schmidt = " in record.objections()[0]


@pytest.mark.parametrize("constant", [2507.0, 2640.0, 2777.0, 9999.0])
def test_the_time_step_told_for_a_stiff_law_works(constant):
    law = DRUG | {"rate": f"-{constant} * drug"}
    with pytest.raises(InputError) as refusal:
        simulate(periodic_channel(species=[law]))
    told = float(str(refusal.value).partition("lattice.time_step_s = ")[2].split()[0])
    simulate(periodic_channel(species=[law], lattice={"time_step_s": told}))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("k * durg", "names 'durg', no species and no constant; did you mean 'drug'"),
        ("drug +", "is no expression"),
        ("__import__('os')", "which is not allowed"),
        ("drug ** 0.5", "has the exponent 0.5"),
        ("drug ** 9", "allowed: whole numbers from 1 to 8"),
        ("drug if k else 1", "which is not allowed"),
        ("drug.real", "which is not allowed"),
        ("max(drug)", "which is not allowed"),
        ("1e999 * drug", "which is not allowed"),
        ("1" * 400 + " * drug", "is no expression"),
        ("-" * 900 + "drug", "is no expression"),
        ("((((drug**8)**8)**8)**8)**8", "more than 2000 factors"),
        ("(" * 300 + "drug" + ")" * 300, "is no expression"),
    ],
)
def test_a_rate_law_is_arithmetic_and_nothing_else(text, told):
    with pytest.raises(InputError, match="species.drug.rate") as refusal:
        read_law("species.drug.rate", text, ["drug"], {"k": 1.0})
    assert told in str(refusal.value)


def test_a_rate_law_has_its_value():
    law = read_law("rate", "-k * a**2 / (1 + b) + min(a, exp(-b)) - sqrt(max(a, 4))", ["a", "b"], {"k": 3.0})
    assert law([2.0, 1.0]) == pytest.approx(-3.0 * 4.0 / 2.0 + np.exp(-1.0) - 2.0)


def test_a_law_that_saturates_is_integrated_in_the_parts_of_its_steep_end():
    """Michaelis and Menten: c + K ln c falls by V t; the value told is the mean of two half steps."""
    law = DRUG | {"rate": "-v * drug / (m + drug)", "rates": {"v": 5.0, "m": 1e-2}}
    simulation = simulate(periodic_channel(species=[law]), 19)
    c = float(simulation.field("drug").mean())
    assert c + 1e-2 * np.log(c) == pytest.approx(1.0 - 5.0 * simulation.time_s, rel=1e-2)
    simulation.advance(10)
    assert 0.0 <= simulation.field("drug").min() < 1e-6


def test_a_law_with_a_name_that_has_a_hyphen_says_so():
    with pytest.raises(InputError, match="a name with - cannot stand in a law"):
        read_law("species.drug.rate", "free-drug", ["free-drug"], {})


@pytest.mark.parametrize(
    ("sections", "told"),
    [
        ({"species": [DRUG | {"schmidt": 1.0}]}, "diffusivity_m2_s and schmidt"),
        ({"species": [DRUG | {"diffusivity_m2_s": -1.0}]}, "diffusivity_m2_s"),
        ({"species": [DRUG | {"rates": {"k": 1.0}}]}, "has rates but no rate"),
        ({"species": [DRUG | {"name": "velocity"}]}, "has the name of another field"),
        ({"species": [DRUG, DRUG | {"name": "drug_half_change"}]}, "has the name of another field"),
        (
            {"species": [DRUG], "run": {"frozen_after_s": 1.0, "ramp_steps": 200}},
            "set run.frozen_after_s = 2.03 or more",
        ),
        ({"species": [DRUG], "run": {"frozen_after_s": 1.0, "steady_tolerance": 1e-3}}, "and steady_tolerance, which"),
        (
            {"species": None, "run": {"frozen_after_s": 1.0}},
            "run.frozen_after_s is given in a case with nothing that it",
        ),
        ({"species": [DRUG, DRUG | {"name": "momentum_x"}]}, "has the name of another field"),
        ({"species": [DRUG, DRUG | {"name": "drug_populations_1"}]}, "has the name of another field"),
        ({"species": [DRUG], "compute": {"precision": "fp16"}}, "allowed: 'fp32', 'fp64'"),
        ({"species": [DRUG], "walls": [BOTTOM | {"species": {"durg": 1.0}}]}, "did you mean 'drug'"),
        ({"walls": [BOTTOM | {"species": {"drug": 1.0}}]}, "give [[species]] with that name"),
        (
            {"species": [DRUG], "walls": [BOTTOM | {"species": {"drug": 1.0}, "species_flux": {"drug": 1.0}}]},
            "drug in species and species_flux; give one of both",
        ),
        ({"species": [DRUG | {"rate": "-1e9 * drug"}]}, "give lattice.time_step_s ="),
        ({"species": [DRUG | {"rate": "-5e3 * drug / (1e-4 + drug)"}]}, "give lattice.time_step_s ="),
        ({"species": [DRUG | {"rate": "1 / (drug - 1)"}]}, "is not finite"),
    ],
)
def test_a_case_that_contradicts_itself_is_refused(sections, told):
    with pytest.raises(InputError) as refusal:
        simulate(case_from_dict(changed(OPEN, **sections)))
    assert told in str(refusal.value)

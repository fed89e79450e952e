"""Laws of the sections about boundaries, forces and collision: every rule has a message, what is written loads."""

import tomllib

import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict, load_case
from tests.channel import BOTTOM, OPEN, PERIODIC, TOP, changed

SERIES = {"period_s": 1.0, "mean": 0.5, "cosine": [1.0, 2], "sine": [0.5]}
MOVING = BOTTOM | {"velocity_m_s": [1, 0, 0]}
POWER = {"consistency_pa_sn": 0.02, "index": 0.7, "min_viscosity_m2_s": 1e-6, "max_viscosity_m2_s": 1e-4}
YIELD = {"yield_stress_pa": 0.005, "infinite_viscosity_m2_s": 3e-6, "max_viscosity_m2_s": 1e-4}
CY = {"zero_viscosity_m2_s": 1.6e-5, "infinite_viscosity_m2_s": 3e-6, "relaxation_time_s": 2.0, "index": 0.4}
BY_VELOCITY = {"time_step_s": None, "lattice_velocity": 0.1}


def channel(**sections):
    """Tables of the periodic channel with some changed."""
    return changed(PERIODIC, **sections)


def inlet(**keys):
    """Tables of the open channel with another inlet."""
    return changed(OPEN, openings=[{"name": "inlet", **keys}, OPEN["openings"][1]])


def message_of(table):
    with pytest.raises(InputError) as caught:
        case_from_dict(table)
    return str(caught.value)


MISTAKES = {
    "no condition": (
        inlet(),
        "openings.inlet needs exactly one of velocity_m_s, flow_rate_m3_s, mass_flow_kg_s, pressure",
    ),
    "two conditions": (
        inlet(mass_flow_kg_s=1.0, velocity_m_s=1.0),
        "openings.inlet needs exactly one of velocity_m_s, flow_rate_m3_s, mass_flow_kg_s, pressure_pa, windkessel,"
        " coronary, flow_split; it has velocity_m_s and mass_flow_kg_s",
    ),
    "profile of a pressure": (
        inlet(pressure_pa=0.0, profile="rectangular"),
        "openings.inlet has the rectangular profile with pressure_pa; a profile needs a velocity or a flow rate",
    ),
    "profile of a network": (
        inlet(windkessel={"resistance_pa_s_m3": 1.0}, profile="womersley"),
        "openings.inlet has the womersley profile with windkessel; a profile needs a velocity or a flow rate",
    ),
    "regions without shear": (
        channel(wall_regions=[{"name": "r", "box_m": [[0, 0, 0], [1, 1, 1]]}]),
        "has wall_regions but no output.wall_shear = true",
    ),
    "box upside down": (
        channel(walls=[BOTTOM | {"box_m": [[0, 2, 0], [1, 1, 1]]}]),
        "must have the lowest corner first, and its y is 2, above 1",
    ),
    "unknown profile": (
        inlet(velocity_m_s=1.0, profile="flat"),
        "openings.inlet.profile is 'flat': must be 'plug', 'parabolic', 'rectangular', 'measured' or 'womersley'",
    ),
    "measured without file": (
        inlet(velocity_m_s=1.0, profile="measured"),
        "openings.inlet needs both or none of profile = 'measured' and profile_file",
    ),
    "file without measured": (
        inlet(velocity_m_s=1.0, profile_file="u.csv"),
        "openings.inlet needs both or none of profile = 'measured' and profile_file",
    ),
    "waveform without period": (
        inlet(velocity_m_s=1.0, waveform={}),
        "openings.inlet.waveform needs exactly one of file, period_s; it has none",
    ),
    "waveform of both kinds": (
        inlet(velocity_m_s=1.0, waveform={"file": "t.csv", "period_s": 1.0}),
        "openings.inlet.waveform needs exactly one of file, period_s; it has file and period_s",
    ),
    "series beside a table": (
        inlet(velocity_m_s=1.0, waveform={"file": "t.csv", "cosine": [1.0]}),
        "openings.inlet.waveform has a file and a series; give one of the two",
    ),
    "mean beside a table": (
        inlet(velocity_m_s=1.0, waveform={"file": "t.csv", "mean": 0.5}),
        "openings.inlet.waveform has a file and a series; give one of the two",
    ),
    "period of nothing": (
        inlet(velocity_m_s=1.0, waveform={"period_s": 0.0}),
        "openings.inlet.waveform.period_s is 0.0: must be greater than 0",
    ),
    "unknown key of a waveform": (
        inlet(velocity_m_s=1.0, waveform={"period_s": 1.0, "cosin": []}),
        "openings.inlet.waveform.cosin is an unknown key; did you mean 'cosine'?",
    ),
    "amplitude in words": (
        inlet(velocity_m_s=1.0, waveform={"period_s": 1.0, "sine": ["a"]}),
        "openings.inlet.waveform.sine[0] is 'a': must be a valid number",
    ),
    "one amplitude": (
        inlet(velocity_m_s=1.0, waveform={"period_s": 1.0, "sine": 1.0}),
        "openings.inlet.waveform.sine is 1.0: must be a list",
    ),
    "slip and motion": (
        channel(walls=[MOVING | {"slip": True}]),
        "walls.bottom slips and moves; a wall along which the fluid slips has no velocity",
    ),
    "slip and rotation": (
        channel(walls=[BOTTOM | {"slip": True, "rotation_rad_s": [0, 0, 1]}]),
        "walls.bottom slips and moves",
    ),
    "area without velocity": (
        channel(walls=[BOTTOM | {"reference_area_m2": 1.0}]),
        "walls.bottom needs both or none of reference_velocity_m_s and reference_area_m2",
    ),
    "velocity without area": (
        channel(walls=[BOTTOM | {"reference_velocity_m_s": 1.0}]),
        "walls.bottom needs both or none of reference_velocity_m_s and reference_area_m2",
    ),
    "waveform of a wall at rest": (
        channel(walls=[BOTTOM | {"waveform": SERIES}]),
        "walls.bottom has a waveform but no velocity_m_s or rotation_rad_s",
    ),
    "drag along nothing": (
        channel(walls=[BOTTOM | {"drag_direction": [0, 0, 0]}]),
        "walls.bottom.drag_direction is [0, 0, 0]: must not be the zero vector",
    ),
    "two walls of one name": (
        channel(walls=[BOTTOM, BOTTOM]),
        "the case has 2 walls named 'bottom'; give each its own",
    ),
    "a wall without name": (channel(walls=[{"slip": True}]), "walls[0].name is missing"),
    "a flat box": (
        channel(walls=[BOTTOM | {"box_m": [0, 0, 0, 1, 1, 1]}]),
        "walls.bottom.box_m is [0, 0, 0, 1, 1, 1]: must be two points, each a list: [[x, y, z], [x, y, z]]",
    ),
    "half a box": (channel(walls=[BOTTOM | {"box_m": [[0, 0, 0]]}]), "walls.bottom.box_m is [[0, 0, 0]]"),
    "a flat corner": (
        channel(walls=[BOTTOM | {"box_m": [[0, 0], [1, 1, 1]]}]),
        "walls.bottom.box_m[0] is [0, 0]: must have 3 components (x, y, z)",
    ),
    "a field that changes": (
        channel(flow={"waveform": SERIES, "acceleration_file": "a.npy"}),
        "flow has a waveform and an acceleration_file; a field cannot change with time",
    ),
    "two laws of viscosity": (
        channel(fluid={"power_law": POWER, "casson": YIELD}),
        "fluid has casson and power_law; give one law",
    ),
    "half a law": (
        channel(fluid={"power_law": {"index": 1.0}}),
        "fluid.power_law.consistency_pa_sn is missing (consistency K [Pa s^n])",
    ),
    "unknown collision": (
        channel(lattice={"collision": "mrtt"}),
        "'mrtt': must be 'bgk', 'trt', 'mrt', 'regularised', 'recursive-regularised' or 'cumulant'",
    ),
    "unknown equilibrium": (
        channel(lattice={"equilibrium": "linear"}),
        "lattice.equilibrium is 'linear': must be 'compressible', 'incompressible' or 'stokes'",
    ),
    "unknown wall rule": (
        channel(lattice={"walls": "linear"}),
        "lattice.walls is 'linear': must be 'half-way', 'bouzidi' or 'central-linear'",
    ),
    "rates without mrt": (
        channel(lattice={"rates": {"bulk": 1.2}}),
        "lattice has rates, which only collision = 'mrt' reads",
    ),
    "too fast a rate": (channel(lattice={"collision": "mrt", "rates": {"bulk": 2.5}}), "above 0 and up to 2"),
    "a rate in words": (channel(lattice={"collision": "mrt", "rates": {"bulk": "x"}}), "'viscosity' or 'magic'"),
    "no magic": (channel(lattice={"magic": 0.0}), "lattice.magic is 0.0: must be greater than 0"),
    "a turning wall has no velocity to refer to": (
        channel(lattice=BY_VELOCITY, walls=[BOTTOM | {"rotation_rad_s": [0, 0, 1]}]),
        "no opening and no wall imposes a velocity; give lattice.reference_velocity_m_s",
    ),
    "unknown watched quantity": (
        channel(run={"steady_watch": ["speed"]}),
        "run.steady_watch[0] is 'speed': must be 'mean_speed', 'flow_rates', 'forces', 'permeability', 'heat' or"
        " 'dispersion'",
    ),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_mistake_is_named(what):
    table, expected = MISTAKES[what]
    assert expected in message_of(table)


def test_a_lattice_velocity_may_refer_to_a_moving_wall():
    assert case_from_dict(channel(lattice=BY_VELOCITY, walls=[MOVING])).lattice.lattice_velocity == 0.1


@pytest.mark.parametrize("number", [float, int])
@pytest.mark.parametrize(
    ("law", "words"),
    [
        ({"carreau_yasuda": CY | {"index": 2}}, "has an index below 1 only if"),
        ({"power_law": POWER | {"min_viscosity_m2_s": 2, "max_viscosity_m2_s": 1}}, "2 above max_viscosity_m2_s = 1"),
    ],
)
def test_whole_numbers_keep_to_the_rules_of_a_fluid(law, words, number):
    ((name, keys),) = law.items()
    keys = {key: number(value) if value in (1, 2) else value for key, value in keys.items()}
    assert words in message_of(channel(fluid={name: keys}))


@pytest.mark.parametrize("index", [2, 2.0])
def test_a_consistency_has_the_unit_of_its_index(index):
    fluid = {"power_law": POWER | {"index": index, "consistency_pa_sn": "3 mPa*s^2"}}
    assert case_from_dict(channel(fluid=fluid)).fluid.power_law.consistency_pa_sn == pytest.approx(0.003)


GOOD = {
    "plain": channel(),
    "mass flow": inlet(mass_flow_kg_s=-0.01, profile="rectangular"),
    "measured profile": inlet(velocity_m_s=1.0, profile="measured", profile_file="u.csv"),
    "series": inlet(velocity_m_s=1.0, waveform=SERIES),
    "table": inlet(velocity_m_s=1.0, waveform={"file": "t.csv"}),
    "pulsating pressure": inlet(pressure_pa=1.0, waveform=SERIES),
    "walls": channel(walls=[MOVING | {"waveform": SERIES, "centre_m": [0, 0, 1]}, TOP | {"slip": True}]),
    "drag": channel(
        walls=[BOTTOM | {"reference_area_m2": 1.0, "reference_velocity_m_s": 2.0, "drag_direction": [0, 1, 1]}]
    ),
    "rates": channel(lattice={"collision": "mrt", "rates": {"bulk": 1.2, "third": "magic"}, "walls": "bouzidi"}),
    "drop": channel(flow={"pressure_drop_pa": [1, 0, 0], "waveform": {"file": "t.csv"}}),
    "field": channel(flow={"acceleration_file": "a.npy"}),
    "turn": channel(flow={"acceleration_m_s2": [1, 0, 0], "turn": {"angle_rad": 0.4, "waveform": SERIES}}),
    **{
        law: channel(fluid={law: keys})
        for law, keys in (("power_law", POWER), ("casson", YIELD), ("carreau_yasuda", CY))
    },
}


@pytest.mark.parametrize("what", GOOD)
def test_a_written_case_loads_back_equal(what):
    case = case_from_dict(GOOD[what])
    assert case_from_dict(tomllib.loads(case.to_toml())) == case


FILES = {
    "profile": (inlet(velocity_m_s=1.0, profile="measured", profile_file="data/f"), ("openings", 0, "profile_file")),
    "waveform of an opening": (
        inlet(velocity_m_s=1.0, waveform={"file": "data/f"}),
        ("openings", 0, "waveform", "file"),
    ),
    "waveform of a wall": (
        channel(walls=[MOVING | {"waveform": {"file": "data/f"}}]),
        ("walls", 0, "waveform", "file"),
    ),
    "waveform of the flow": (
        channel(flow={"acceleration_m_s2": [1, 0, 0], "waveform": {"file": "data/f"}}),
        ("flow", "waveform", "file"),
    ),
    "field": (channel(flow={"acceleration_file": "data/f"}), ("flow", "acceleration_file")),
}


@pytest.mark.parametrize("what", FILES)
def test_a_case_written_for_another_folder_finds_the_same_files(tmp_path, what):
    table, path = FILES[what]
    written = tomllib.loads(case_from_dict(table, tmp_path).to_toml(tmp_path / "out" / "run"))
    for key in path:
        written = written[key]
    assert (tmp_path / "out" / "run" / written).resolve() == tmp_path / "data" / "f"


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("walls.bottom.velocity_m_s=[1, 0, 0]", lambda case: case.walls[0].velocity_m_s == (1, 0, 0)),
        ("walls.top.slip=true", lambda case: case.walls[1].slip),
        ("flow.waveform.period_s=2.0", lambda case: case.flow.waveform.period_s == 2.0),
        ("lattice.rates.bulk=1.5", lambda case: case.lattice.rates == {"bulk": 1.5}),
        ("fluid.power_law.index=0.5", lambda case: case.fluid.power_law.index == 0.5),
    ],
)
def test_an_override_reaches_the_new_keys(tmp_path, override, value):
    flow = {"acceleration_m_s2": [1.0, 0.0, 0.0]}
    table = channel(lattice={"collision": "mrt"}, fluid={"power_law": POWER}, flow=flow)
    (tmp_path / "case.toml").write_text(case_from_dict(table).to_toml())
    assert value(load_case(tmp_path / "case.toml", [override]))


@pytest.mark.parametrize("field", ["dissipation", "age"])
def test_a_physics_whose_table_has_no_keys_writes_its_field(field):
    output = {"fields": ["velocity", field]}
    assert case_from_dict(changed(OPEN, output=output, **{field: {}})).output.fields == ("velocity", field)
    assert f"{field} in output.fields but no [{field}]" in message_of(changed(OPEN, output=output))

"""Values whose size gives away another unit are told before a run, and what is usual is not."""

import copy
import re

import pytest

from muphy_lb.case.case import as_case, case_from_dict
from muphy_lb.run.description import describe_case

TANK = {
    "geometry": {"shape": "tank", "spacing_m": 4e-3, "options": {"length": 12, "height": 10, "width": 1}},
    "fluid": {"density_kg_m3": 950.0, "kinematic_viscosity_m2_s": 1e-3},
    "flow": {"acceleration_m_s2": [0.0, -9.81, 0.0]},
    "free_surface": {"liquid": [{"box_m": [[-1.0, -1.0, -1.0], [0.02, 0.02, 1.0]]}]},
    "lattice": {"name": "D2Q9", "time_step_s": 2e-4},
    "compute": {"backend": "numpy"},
    "run": {"steps": 20},
}
PIPE = {
    "geometry": {"shape": "pipe", "spacing_m": 1e-4, "options": {"length": 12, "radius": 5.0, "ends": "open"}},
    "openings": [{"name": "inlet", "velocity_m_s": 0.01}, {"name": "outlet", "pressure_pa": 0.0}],
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 4e-6},
    "lattice": {"lattice_velocity": 0.03},
    "compute": {"backend": "numpy"},
    "run": {"steps": 40, "ramp_steps": 20},
}
CARREAU = {
    "zero_viscosity_m2_s": 0.16,
    "infinite_viscosity_m2_s": 3.5e-3,
    "relaxation_time_s": 8.2,
    "transition": 0.64,
    "index": 0.2128,
}
INLET, NETWORK = PIPE["openings"][0], {"resistance_pa_s_m3": 5e7, "compliance_m3_pa": 1e-9}

CGS = {"resistance_pa_s_m3": 1600.0, "compliance_m3_pa": 1e-3}
OIL = {
    "two_fluid": {"kinematic_viscosity_m2_s": 4e-6, "interfacial_tension_n_m": 3.0},
    "lattice": {"collision": "trt", "time_step_s": 2e-6},
}
GRAIN = {
    "lattice.walls": "bouzidi",
    "species": [{"name": "acid", "schmidt": 1.0}],
    "walls": [{"name": "grain", "species_uptake_m_s": {"acid": 1e-4}}],
    "dissolution": {
        **{"wall": "grain", "species": "acid", "role": "reactant", "molar_volume_m3": 36.9, "end_s": 1.0},
        **{"centre_m": [6e-4, 5e-4, 6e-4], "radius_m": 2.5e-4},
    },
}
DYE = {
    "particles": [{"name": "dye", "kind": "tracers", "count": 5, "diffusivity_m2_s": 2.3e-5}],
    "lattice": {"time_step_s": 3e-5},
}
BIG = [[-5, -5, -5], [5, 5, 5]]


@pytest.fixture(autouse=True)
def no_clock(monkeypatch):
    """Nothing measures the speed of this machine."""
    monkeypatch.setattr("muphy_lb.run.description.duration", lambda *_: "")


def outlet(**network) -> list:
    return [INLET, {"name": "outlet", "windkessel": NETWORK | network}]


def told(tables, changes=()) -> list[str]:
    """The warnings of a case that ``info`` and a run print."""
    lines = describe_case(as_case(case_from_dict(copy.deepcopy(tables)), changes)).splitlines()
    return [line for line in lines if line.startswith("warning: ")]


SLIPS = [
    (PIPE, {"fluid.density_kg_m3": 1.06}, "fluid.density_kg_m3: 1.06 kg/m3 is a density of gases"),
    (PIPE, {"fluid.density_kg_m3": 1e6}, "fluid.density_kg_m3: no fluid has 1e+06 kg/m3"),
    (
        PIPE,
        {
            **{"fluid.kinematic_viscosity_m2_s": None, "fluid.dynamic_viscosity_pa_s": 4e-6},
            "lattice.collision": "recursive-regularised",
        },
        "fluid.dynamic_viscosity_pa_s: 4e-06 Pa s is less than those of all liquids",
    ),
    (
        PIPE,
        {"fluid.kinematic_viscosity_m2_s": 4e-3, "lattice.lattice_velocity": 3e-5},
        "fluid.kinematic_viscosity_m2_s: 0.004 m2/s is that of honey",
    ),
    (PIPE, {"fluid.carreau_yasuda": CARREAU}, "fluid.carreau_yasuda: its viscosities and the typical one"),
    (PIPE, {"openings": outlet(**CGS)}, "the resistance behind outlet drops 1.1"),
    (PIPE, {"openings": outlet(compliance_m3_pa=1e-3)}, "outlet outlet has the time constant 5e+04 s"),
    (PIPE, {"output.wall_shear": True, "wall_regions": [{"name": "a", "box_m": BIG}]}, "is the whole wall"),
    (PIPE, {"output.region_m": BIG}, "output.region_m: the box holds the whole geometry"),
    (
        PIPE,
        {"probes": [{"name": "p", "plane_m": [5e-4, 5e-4, 5e-4], "normal": [0, 0, 1], "radius_m": 5.0}]},
        "probes.p.radius_m = 5",
    ),
    (TANK, {"flow.acceleration_m_s2": [0, 981.0, 0], "lattice.time_step_s": 1e-6}, "flow.acceleration_m_s2: this is"),
    (TANK, {"flow.turn": {"angle_rad": 10.0}}, "flow.turn.angle_rad: 10 rad is more than a whole turn"),
    (TANK, {"flow.turn": {"angle_rad": 5.0}}, "flow.turn.angle_rad: 5 rad turns gravity out of the tank"),
    (TANK, {"free_surface.surface_tension_n_m": 7.2e-5}, "surface_tension_n_m: no surface has 7.2e-05 N/m"),
    (TANK, {"free_surface.liquid": [{"box_m": [[-1, -1, -1], [20, 20, 1]]}]}, "the liquid fills all voxels"),
    (TANK, {"free_surface.liquid": [{"level_m": 30.0}], "flow.acceleration_m_s2": [0, -9e-3, 0]}, "liquid fills all"),
    (PIPE, {"fluid.temperature_k": 27.0, "fluctuating": {}}, "fluid.temperature_k: no fluid that flows here has 27 K"),
    (PIPE, OIL, "two_fluid.interfacial_tension_n_m: no interface has 3 N/m"),
    (PIPE, GRAIN, "dissolution.molar_volume_m3: 36.9 m3 of solid for each mol"),
    (PIPE, DYE, "particles.dye.diffusivity_m2_s: with 2.3e-05 m2/s the"),
    (PIPE, {"age": {"diffusivity_m2_s": 1e-2}}, "age.diffusivity_m2_s: with 0.01 m2/s the Schmidt number"),
]


def tables_with(tables, changes):
    """Tables with values by dotted key; None removes one."""
    tables = copy.deepcopy(tables)
    for key, value in changes.items():
        *parents, last = key.split(".")
        table = tables
        for parent in parents:
            table = table.setdefault(parent, {})
        table[last] = value
        if value is None:
            del table[last]
    return tables


@pytest.mark.parametrize(("tables", "changes", "words"), SLIPS, ids=[words[:40] for *_, words in SLIPS])
def test_a_slip_of_a_unit_is_told(tables, changes, words):
    assert any(words in line for line in told(tables_with(tables, changes)))


@pytest.mark.parametrize("tables", [TANK, PIPE | {"openings": outlet()}])
def test_nothing_is_said_of_usual_values(tables):
    assert told(tables) == []


def test_units_of_its_own_are_not_judged():
    unit = {"fluid.density_kg_m3": 1.0, "fluid.kinematic_viscosity_m2_s": 0.1, "geometry.spacing_m": 1.0}
    assert told(tables_with(PIPE, unit | {"lattice": {"relaxation_time": 0.8}})) == []


@pytest.mark.parametrize(
    ("key", "given", "expected"),
    [
        ("flow.turn", {"angle_rad": "10 deg"}, 0.17453292519943),
        ("flow.turn", {"angle_rad": "-10 °"}, -0.17453292519943),
        ("free_surface.contact_angle_deg", "1 rad", 57.2957795130823),
        ("free_surface.surface_tension_n_m", "72 dyn/cm", 0.072),
        ("run.wall_time", "00:00:03", "00:00:03"),
        ("fluid.density_kg_m3", "1.06 g/cm^3", 1060.0),
    ],
)
def test_other_units_of_the_dimension_are_taken(key, given, expected):
    more = {"free_surface.surface_tension_n_m": 0.07} if key.startswith("free_surface.contact") else {}
    case = case_from_dict(tables_with(TANK, more | {key: given}))
    value = case
    for part in key.split("."):
        value = getattr(value, part)
    value = getattr(value, "angle_rad", value)
    assert value == (pytest.approx(expected, rel=1e-9) if isinstance(expected, float) else expected)


def pulsating(**run):
    wave = {"period_s": 0.132, "mean": 0.0, "cosine": [1.0]}
    inlet = INLET | {"waveform": wave}
    geometry = PIPE["geometry"] | {"options": PIPE["geometry"]["options"] | {"length": 82}}
    lattice = {"time_step_s": 1e-4, "collision": "trt"}
    fluid = PIPE["fluid"] | {"kinematic_viscosity_m2_s": 1e-6}
    openings = [inlet, PIPE["openings"][1]]
    return PIPE | {
        "geometry": geometry,
        "openings": openings,
        "lattice": lattice,
        "fluid": fluid,
        "run": {"steps": 3000} | run,
    }


def test_sound_that_takes_a_share_of_the_period_is_told_with_a_time_step_that_helps():
    (line,) = told(pulsating())
    assert "sound takes 142 steps from opening to opening, 82 voxels, which is 11 % of harmonic 1" in line
    assert "amplitudes are up to 28 % too large" in line
    remedy = dict(re.findall(r"([a-z]+\.[a-z_]+) = ([-+.e0-9]+)", line))
    assert remedy.keys() == {"lattice.time_step_s", "run.steps"}
    assert told(pulsating(), [f"{key}={value}" for key, value in remedy.items()]) == []


def test_what_the_fluid_stores_ahead_of_a_network_is_told_with_a_time_step_that_helps():
    """A pipe at 45 degrees with such a network let out 0.78 of the first harmonic, without a word."""
    network = {"resistance_pa_s_m3": 5e9, "compliance_m3_pa": 1e-11, "characteristic_resistance_pa_s_m3": 1e9}
    case = pulsating()
    inlet = case["openings"][0] | {"velocity_m_s": 1e-4, "waveform": {"period_s": 2.0, "mean": 0.0, "cosine": [1.0]}}
    outlet = {"name": case["openings"][1]["name"], "windkessel": network}
    (line,) = [text for text in told(case | {"openings": [inlet, outlet]}) if "compressible" in text]
    assert "% of harmonic 1 of the flow" in line
    remedy = dict(re.findall(r"([a-z]+\.[a-z_]+) = ([-+.e0-9]+)", line))
    sets = [f"{key}={value}" for key, value in remedy.items()]
    assert not any("compressible" in text for text in told(case | {"openings": [inlet, outlet]}, sets))


@pytest.mark.parametrize("shear", ["mrt", "trt"])
def test_a_collision_that_a_fast_stream_puts_off_is_told_with_one_that_is_not(shear):
    wall = {"name": "w", "box_m": [[-1, -1, -1], [1, 5e-4, 1]], "velocity_m_s": [0.08, 0.0, 0.0]}
    geometry = {"shape": "channel", "spacing_m": 1e-3, "options": {"length": 20, "height": 20}}
    lattice = {"name": "D2Q9", "collision": shear, "time_step_s": 1e-3}
    tables = PIPE | {"openings": [], "geometry": geometry, "walls": [wall], "lattice": lattice}
    tables["fluid"] = PIPE["fluid"] | {"kinematic_viscosity_m2_s": 1e-6}
    (line,) = [line for line in told(tables) if "viscosity of vortices of 16 voxels" in line]
    assert "lattice.collision = 'recursive-regularised'" in line
    better = told(tables, ["lattice.collision=recursive-regularised"])
    assert not any("vortices of 16 voxels" in line for line in better)

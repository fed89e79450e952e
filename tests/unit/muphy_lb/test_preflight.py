"""Laws of the numbers that a case implies, and of what is refused before a run."""

import math
import re
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.setup.advice.costs import duration
from muphy_lb.setup.advice.stability import cause_and_remedy
from muphy_lb.setup.numerics import describe, resolve

CS2 = 1.0 / 3.0
EXACT = 1e-12  # a few roundings of float64
SPACING_M, VISCOSITY_M2_S, SPEED_M_S, RADIUS_M = 1e-4, 1e-6, 0.01, 1e-3
LIMIT = 0.5 / math.sqrt(3.0)  # lattice velocity at the default run.max_mach


def make_case(lattice=None, inlet=None, outlet=None, **sections):
    """A pipe; ``None`` for an opening leaves the default one, False leaves it out."""
    place = {"kind": "inlet", "centre_m": [0, 0, 0], "normal": [0, 0, 1], "radius_m": RADIUS_M}
    openings = []
    if inlet is not False:
        openings.append({"name": "inlet"} | place | (inlet or {"velocity_m_s": SPEED_M_S}))
    if outlet is not False:
        openings.append({"name": "outlet"} | (outlet or {"pressure_pa": 0.0}))
    table = {
        "geometry": {"shape": "pipe", "spacing_m": SPACING_M},
        "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": VISCOSITY_M2_S},
        "lattice": lattice or {"relaxation_time": 0.8},
        "run": {"steps": 100},
        "openings": openings,
    }
    return case_from_dict(table | sections)


def refusal(case, **given_numbers):
    with pytest.raises(InputError) as caught:
        resolve(case, **given_numbers)
    return str(caught.value)


def with_remedy(case, message):
    """The case changed as the message says, by reading its ``section.key = number`` texts."""
    table = tomllib.loads(case.to_toml())
    suggestions = re.findall(r"(\w+)\.(\w+) = ([-+.e\d]+)", message.split(": ")[-1])
    assert suggestions
    for section, key, number in suggestions:
        table[section][key] = float(number)
    return case_from_dict(table)


def test_relaxation_time_fixes_the_time_step_and_the_lattice_viscosity():
    numerics = resolve(make_case({"relaxation_time": 0.8}))
    assert numerics.units.time_step_s == pytest.approx(0.1 * SPACING_M**2 / VISCOSITY_M2_S, rel=EXACT)
    assert numerics.viscosity_lattice == pytest.approx(0.3 * CS2, rel=EXACT)


@given(st.floats(0.52, 2.0))
def test_three_ways_to_fix_the_time_step_agree(tau):
    slow = {"velocity_m_s": 1e-4}
    first = resolve(make_case({"relaxation_time": tau}, slow))
    by_time = resolve(make_case({"time_step_s": first.units.time_step_s}, slow))
    by_velocity = resolve(make_case({"lattice_velocity": first.lattice_velocity}, slow))
    assert (by_time.relaxation_time, by_velocity.relaxation_time) == pytest.approx((tau, tau), rel=EXACT)


def test_mach_number_is_velocity_over_speed_of_sound():
    numerics = resolve(make_case({"lattice_velocity": 0.05}))
    assert numerics.mach == pytest.approx(0.05 * math.sqrt(3.0), rel=EXACT)


@pytest.mark.parametrize(
    ("lattice", "given", "length_m"),
    [
        (None, {}, 2 * RADIUS_M),
        ({"name": "D2Q9", "relaxation_time": 0.8}, {}, 2 * RADIUS_M),
        (None, {"opening_areas_m2": {"inlet": math.pi * (0.5 * RADIUS_M) ** 2}}, RADIUS_M),
    ],
    ids=["diameter", "width of the slit", "measured area"],
)
def test_reynolds_number_uses_the_diameter_of_the_opening(lattice, given, length_m):
    found = resolve(make_case(lattice), **given).reynolds
    assert found == pytest.approx(SPEED_M_S * length_m / VISCOSITY_M2_S, rel=EXACT)


@pytest.mark.parametrize(("key", "over_area"), [("flow_rate_m3_s", -SPEED_M_S), ("mass_flow_kg_s", 1000 * SPEED_M_S)])
def test_flow_rate_over_area_is_a_velocity(key, over_area):
    flow = {key: over_area * math.pi * RADIUS_M**2}
    assert resolve(make_case(inlet=flow)).reference_velocity_m_s == pytest.approx(SPEED_M_S, rel=EXACT)


def test_the_velocity_of_a_moving_wall_is_a_reference_velocity():
    case = make_case(
        inlet=False, outlet=False, walls=[{"name": "lid", "velocity_m_s": [0.3 * SPEED_M_S, 0, 0.4 * SPEED_M_S]}]
    )
    assert resolve(case).reference_velocity_m_s == pytest.approx(0.5 * SPEED_M_S, rel=EXACT)


@pytest.mark.parametrize(
    ("lattice", "profile", "peak"),
    [
        ("D3Q19", "parabolic", 2.0),
        ("D3Q19", "rectangular", 2.25),
        ("D2Q9", "parabolic", 1.5),
        ("D2Q9", "rectangular", 1.5),
    ],
)
def test_mach_number_is_that_of_the_peak_of_the_profile(lattice, profile, peak):
    chosen = {"name": lattice, "relaxation_time": 0.8}
    flat, shaped = (
        resolve(make_case(chosen, {"velocity_m_s": SPEED_M_S, "profile": name})).mach for name in ("plug", profile)
    )
    assert shaped == pytest.approx(peak * flat, rel=EXACT)


def test_mach_number_is_that_of_the_largest_value_of_a_waveform():
    series = {"period_s": 1.0, "mean": 0.5, "cosine": [-1.0], "sine": [0.25]}
    plain = resolve(make_case())
    pulsatile = resolve(make_case(inlet={"velocity_m_s": SPEED_M_S, "waveform": series}))
    assert pulsatile.mach == pytest.approx((0.5 + math.hypot(1.0, 0.25)) * plain.mach, rel=1e-3)
    assert pulsatile.reference_velocity_m_s == plain.reference_velocity_m_s


def test_mach_number_and_density_see_the_largest_factor_of_a_table(tmp_path):
    (tmp_path / "beat.csv").write_text("time,factor\n0,1\n1,-2.5\n2,0\n3,1\n")
    table = {"file": str(tmp_path / "beat.csv")}
    steady, beating = (
        resolve(make_case(inlet={"velocity_m_s": SPEED_M_S} | more)) for more in ({}, {"waveform": table})
    )
    assert beating.mach == pytest.approx(2.5 * steady.mach, rel=EXACT)
    pressure_pa = 0.3 * CS2 * 1000.0 * steady.units.speed_m_s**2
    assert "lattice density there would be" in refusal(
        make_case(outlet={"pressure_pa": pressure_pa, "waveform": table})
    )
    assert resolve(make_case(outlet={"pressure_pa": pressure_pa}))


def test_a_named_reference_velocity_is_used_and_the_mach_number_is_that_of_the_fastest():
    found = resolve(make_case({"relaxation_time": 0.8, "reference_velocity_m_s": 0.001}))
    assert found.reference_velocity_m_s == 0.001 and found.mach == resolve(make_case()).mach


def test_flow_without_a_velocity_has_no_mach_number():
    numerics = resolve(make_case(inlet=False, outlet=False))
    assert (numerics.mach, numerics.lattice_velocity, numerics.reynolds) == (None, None, None)


def test_spacing_of_the_geometry_comes_first():
    assert resolve(make_case(), spacing_m=5e-5).units.spacing_m == 5e-5


@pytest.mark.parametrize(("time_s", "n_steps"), [(0.5, 500), (1e-9, 1)])
def test_physical_time_becomes_steps_at_least_one(time_s, n_steps):
    assert resolve(make_case({"time_step_s": 1e-3}, run={"time_s": time_s})).steps == n_steps


def test_good_case_has_no_warnings():
    assert resolve(make_case({"relaxation_time": 0.8})).warnings == ()


def test_missing_spacing_is_refused():
    assert "geometry.spacing_m is missing" in refusal(make_case(geometry={"file": "a.npy"}))


def test_lattice_velocity_with_a_flow_rate_of_unknown_area_is_refused():
    case = make_case({"lattice_velocity": 0.1}, inlet=False, outlet={"flow_rate_m3_s": 1e-6})
    assert "give lattice.reference_velocity_m_s" in refusal(case)


@pytest.mark.parametrize("lattice", [{"relaxation_time": 0.5}, {"relaxation_time": 0.3}, {"time_step_s": 1e-30}])
def test_relaxation_time_of_one_half_or_less_is_refused(lattice):
    assert "must be above 0.5" in refusal(make_case(lattice))


def test_a_dynamic_viscosity_is_the_kinematic_one_times_the_density():
    fluid = {"density_kg_m3": 1050.0, "dynamic_viscosity_pa_s": 1050.0 * VISCOSITY_M2_S}
    case = make_case({"time_step_s": 1e-3}, fluid=fluid)
    assert resolve(case).relaxation_time == pytest.approx(0.8, rel=EXACT)
    assert "dynamic_viscosity_pa_s" in case.to_toml() and "kinematic" not in case.to_toml()


def test_a_dynamic_viscosity_given_as_a_kinematic_one_is_refused_by_its_relaxation_time():
    fluid = {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1000.0 * VISCOSITY_M2_S}
    text = refusal(make_case({"time_step_s": 1e-3}, fluid=fluid))
    assert "the relaxation time is 300.5; at most 5 is allowed" in text and "lattice.time_step_s = 1e-06" in text
    assert "voxel edge of 0.0001 m" in text
    assert "fluid.kinematic_viscosity_m2_s = 0.001 m2/s (a dynamic viscosity [Pa s] belongs in" in text
    fluid = {"density_kg_m3": 1000.0, "dynamic_viscosity_pa_s": 0.001}
    assert resolve(make_case({"time_step_s": 1e-3}, fluid=fluid)).warnings == ()
    fluid["dynamic_viscosity_pa_s"] = 1.0
    assert "check fluid.dynamic_viscosity_pa_s = 1.0 Pa s" in refusal(make_case({"time_step_s": 1e-3}, fluid=fluid))


@pytest.mark.parametrize("velocity", [1.01 * LIMIT, 0.4, 2.0])
def test_too_fast_a_flow_is_refused(velocity):
    assert "voxels per time step" in refusal(make_case({"lattice_velocity": velocity}))


def test_fast_flow_below_the_limit_is_accepted():
    assert resolve(make_case({"lattice_velocity": 0.99 * LIMIT})).lattice_velocity > 0.28


def test_velocity_limit_holds_whatever_the_largest_mach_number():
    case = make_case({"lattice_velocity": 0.31}, run={"steps": 1, "max_mach": 3.0})
    assert "at most 0.3 is allowed" in refusal(case)


REFUSED = [
    ({"relaxation_time": 0.5}, SPEED_M_S),
    ({"time_step_s": 1e-30}, SPEED_M_S),
    ({"relaxation_time": 0.4}, 1e-6),
    ({"relaxation_time": 1.8}, 0.05),
    ({"time_step_s": 1e-2}, 0.05),
    ({"lattice_velocity": 0.5}, 0.02),
    ({"lattice_velocity": 0.5}, 1.0),
    ({"relaxation_time": 0.8}, 1.0),
    ({"time_step_s": 1e-3}, 5.0),
]


@pytest.mark.parametrize(("lattice", "speed_m_s"), REFUSED)
@pytest.mark.parametrize("max_mach", [0.5, 0.1])
def test_remedy_of_a_refusal_works(lattice, speed_m_s, max_mach):
    case = make_case(lattice, {"velocity_m_s": speed_m_s}, run={"steps": 1, "max_mach": max_mach})
    assert resolve(with_remedy(case, refusal(case))).mach <= max_mach


def test_finer_voxels_are_suggested_where_no_time_step_can_do_alone():
    assert "geometry.spacing_m = " in refusal(make_case(inlet={"velocity_m_s": 5.0}))
    assert "geometry.spacing_m" not in refusal(make_case({"lattice_velocity": 0.5}))


WARNED = [
    ({"relaxation_time": 0.505}, {"velocity_m_s": 1e-4}, "close to 0.5"),
    ({"relaxation_time": 2.5}, {"velocity_m_s": 1e-4}, "is long"),
    ({"lattice_velocity": 0.15}, {"velocity_m_s": 0.01}, "the Mach number 0.26 is above 0.175"),
    ({"relaxation_time": 0.512}, {"velocity_m_s": 0.15}, "the cell Reynolds number is 15"),
]


@pytest.mark.parametrize(("lattice", "inlet", "expected"), WARNED)
def test_risky_number_is_warned_of(lattice, inlet, expected):
    assert expected in " ".join(resolve(make_case(lattice, inlet)).warnings)


CASSON = {"yield_stress_pa": 5e-3, "infinite_viscosity_m2_s": VISCOSITY_M2_S}


@pytest.mark.parametrize(
    ("collision", "times", "is_told"), [("bgk", 10.0, True), ("bgk", 3.0, False), ("trt", 10.0, False)]
)
def test_a_law_whose_viscosity_falsifies_bgk_is_warned_of(collision, times, is_told):
    """Plates 24 voxels apart, Casson's fluid with a plug: 1.10 and 1.39 times the exact flow rate with relaxation times
    up to 4.8 and 43.8, and within 0.2 % with trt."""
    law = {"casson": CASSON | {"max_viscosity_m2_s": times * VISCOSITY_M2_S}}
    fluid = {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": VISCOSITY_M2_S} | law
    case = make_case({"relaxation_time": 0.933, "collision": collision}, {"velocity_m_s": 1e-4}, fluid=fluid)
    assert ("bgk falsifies the flow" in " ".join(resolve(case).warnings)) == is_told


def test_missing_pressure_is_warned_of():
    (text,) = resolve(make_case(outlet=False)).warnings
    assert "no opening of the case has a pressure" in text
    assert "fluid enters by inlet and cannot leave anywhere, so that the pressure rises without end" in text


@pytest.mark.parametrize("fastest", [None, 0.3])
def test_a_flow_that_diverges_has_the_same_remedy_whichever_viscosity_is_given(fastest):
    dynamic = {"density_kg_m3": 1000.0, "dynamic_viscosity_pa_s": 1000.0 * VISCOSITY_M2_S}
    cases = [make_case(), make_case(fluid=dynamic)]
    found = [cause_and_remedy(case, resolve(case).units, fastest, SPEED_M_S, CS2) for case in cases]
    assert found[0] == found[1] and "lattice.relaxation_time = " in found[0]


def test_large_pressure_is_warned_of():
    pressure_pa = 0.2 * 1000.0 * (SPACING_M / 1e-3) ** 2 * CS2
    case = make_case({"time_step_s": 1e-3}, outlet={"pressure_pa": pressure_pa})
    assert "openings.outlet: its pressure changes the lattice density by 0.2" in resolve(case).warnings[0]


def test_absolute_pressure_is_refused():
    assert "set flow.reference_pressure_pa" in refusal(make_case(outlet={"pressure_pa": 101325.0}))


def test_description_tells_memory_per_rank():
    text = describe(resolve(make_case()), n_nodes=4 * 2**20, n_ranks=2, bytes_per_node=100.0)
    assert re.search(r"memory per rank +200\.0 MiB on 2 rank", text)


@pytest.mark.parametrize(("tolerance", "most"), [(None, ""), (1e-3, "at most ")])
def test_info_ends_with_how_long_the_run_takes_here(monkeypatch, tolerance, most):
    """A copy of 0.02 TB/s, of which 65 % are used, moves 100 bytes 130 million times a second."""
    monkeypatch.setattr("muphy_lb.setup.advice.costs.host_copy_tb_s", lambda n_threads, n_bytes: 0.02)
    case = make_case(run={"steps": 1000, "steady_tolerance": tolerance}, compute={"backend": "cpu"})
    text = duration(case, 130_000_000, 1000, 1, 100.0)
    assert f"take {most}about 16 min 40 s on this machine" in text and "1,000 steps at about 130 MFLUPS" in text
    assert "looks at the flow and pictures come on top" in text and "several times" not in text


def test_info_names_what_keeps_the_steps_from_being_as_fast_as_the_memory(monkeypatch):
    monkeypatch.setattr("muphy_lb.setup.advice.costs.host_copy_tb_s", lambda n_threads, n_bytes: 0.02)
    case = make_case({"relaxation_time": 0.8, "collision": "cumulant", "name": "D3Q27"}, compute={"backend": "cpu"})
    text = duration(case, 1000, 1000, 1, 100.0)
    assert "; collision = 'cumulant' may take several times as long; set-up" in text
    case = make_case(dissipation={}, compute={"backend": "numpy"})
    assert "; [dissipation] may take several times as long; set-up" in duration(case, 10, 10, 1, 100.0)


TWO_FLUIDS = {"two_fluid": {"interfacial_tension_n_m": 0.03, "kinematic_viscosity_m2_s": VISCOSITY_M2_S}}


@pytest.mark.parametrize(
    ("physics", "time", "mflups", "ns"),
    [(TWO_FLUIDS, "1 min 50 s", 9.09, 220), ({"free_surface": {"liquid": [{"level_m": 1.0}]}}, "46 s", 22.2, 90)],
)
def test_info_counts_what_a_processor_computes(monkeypatch, physics, time, mflups, ns):
    """It told a fifteenth of the time of two fluids, a third of that of a breaking dam, from the bytes alone."""
    monkeypatch.setattr("muphy_lb.setup.advice.costs.host_copy_tb_s", lambda n_threads, n_bytes: 0.02)
    monkeypatch.setattr("numba.config.NUMBA_NUM_THREADS", 2)
    text = duration(make_case(**physics, compute={"backend": "cpu"}), 10**6, 1000, 1, 280.0)
    assert f"about {time} on" in text and f"at about {mflups} MFLUPS, of some {ns} ns a node" in text
    assert "several times" not in text


def test_how_long_a_gpu_takes_is_not_told_without_one(monkeypatch):
    monkeypatch.setattr("muphy_lb.backends.count_gpus", lambda: 0)
    assert "the time cannot be estimated here: backend 'cuda'" in duration(
        make_case(compute={"backend": "cuda"}), 10, 10, 1, 100.0
    )


def test_description_ends_with_the_warnings():
    numerics = resolve(make_case(outlet=False))
    assert describe(numerics, 10, 1, 100.0).endswith("warning: " + numerics.warnings[-1])


def test_description_of_an_unknown_number_says_so():
    text = describe(resolve(make_case(inlet=False, outlet=False)), 10, 1, 100.0)
    assert re.search(r"Mach number +unknown", text)


@pytest.mark.parametrize(
    ("lattice", "message"),
    [
        (
            {"collision": "cumulant"},
            "it is for lattice.name 'D2Q9' or 'D3Q27' and lattice.equilibrium 'compressible': set these,",
        ),
        ({"collision": "cumulant"}, "or lattice.collision to 'bgk', .* or 'recursive-regularised'"),
        ({"collision": "recursive-regularised", "name": "D3Q15"}, "with lattice.name = 'D3Q15'.* or 'regularised'"),
        ({"collision": "cumulant", "name": "D3Q27", "equilibrium": "stokes"}, "lattice.equilibrium = 'stokes'"),
    ],
)
def test_a_collision_that_is_not_for_the_velocity_set_or_the_equilibrium_is_refused(lattice, message):
    assert re.search(message, refusal(make_case({"relaxation_time": 0.8} | lattice)))


SMALL_ODD_RATE = {"relaxation_time": 0.503, "collision": "trt", "smagorinsky": 0.16}


@pytest.mark.parametrize(
    ("changes", "better"),
    [
        ({}, "lattice.collision = 'recursive-regularised', or,.* lattice.name = 'D3Q27' and .* = 'cumulant'"),
        ({"name": "D3Q27"}, "lattice.collision = 'cumulant'"),
        ({"name": "D2Q9"}, "lattice.collision = 'recursive-regularised', or, [^=]* lattice.collision = 'cumulant'$"),
        ({"name": "D3Q15"}, "lattice.collision = 'regularised'"),
        ({"equilibrium": "incompressible"}, "lattice.collision = 'regularised'"),
    ],
)
def test_an_odd_rate_close_to_zero_is_warned_of_with_a_collision_that_has_none(changes, better):
    (warning,) = [text for text in resolve(make_case(SMALL_ODD_RATE | changes)).warnings if "odd moments" in text]
    assert "trt relaxes odd moments with 0.0159 at a relaxation time of 0.503, below 0.05" in warning
    assert re.search(f"set {better}", warning)


@pytest.mark.parametrize(
    "changes", [{"collision": "mrt"}, {"equilibrium": "stokes"}, {"magic": 1e-3}, {"relaxation_time": 0.52}]
)
def test_other_collisions_creeping_flows_and_larger_odd_rates_are_not_warned_of(changes):
    assert not [text for text in resolve(make_case(SMALL_ODD_RATE | changes)).warnings if "odd moments" in text]

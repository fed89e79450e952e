"""Mistakes at the edges: names, numbers and moments that nothing sensible has, on the command line, in cases, from
Python."""

import errno
import logging
import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from muphy_lb import Simulation, Study
from muphy_lb.__main__ import _parse, main
from muphy_lb.base.errors import DivergedError, InputError, OutputError
from muphy_lb.base.files.atomic import check_file
from muphy_lb.boundaries.waveform import read_table
from muphy_lb.case.case import as_case, case_from_dict
from muphy_lb.geometry.__main__ import main as geometry
from muphy_lb.geometry.quantities import column_in_si
from muphy_lb.output.terminal import _TerminalHandler
from muphy_lb.output.vtkhdf import find_snapshot
from muphy_lb.parallel.communicator import SerialCommunicator
from muphy_lb.partition.__main__ import main as partition
from muphy_lb.run.description import describe_case
from muphy_lb.setup.waveforms import refuse_other_units
from tests.laws.smallest import BODY, FLOW, LOW, SECTIONS, THROUGH, smallest
from tests.vessel import command


@pytest.fixture(scope="module")
def channel():
    return Simulation(smallest(), progress=False)


# --- the command line ------------------------------------------------------------------------------------------------


def test_a_negative_number_with_an_exponent_is_no_option():
    assert _parse(["plot", "out", "--at", "-1e-3"]).at == -1e-3
    with pytest.raises(InputError, match="plot does not take '-q'"):
        _parse(["plot", "out", "-q"])


def test_a_command_to_copy_quotes_names_with_spaces(tmp_path, capsys):
    path = tmp_path / "my case.toml"
    assert command("examples", "channel", "-o", path) == 0
    assert f"muphy-lb run '{path}'" in capsys.readouterr().out


def test_a_time_far_from_all_snapshots_is_refused(tmp_path):
    Simulation(smallest(output={"picture": False, "report": False})).run(folder=tmp_path)
    assert find_snapshot(tmp_path / "fields.vtkhdf", 25.0).time_s == 20.0
    with pytest.raises(InputError, match="has snapshots from 20 to 20 s, far from 1e.09 s"):
        find_snapshot(tmp_path / "fields.vtkhdf", 1e9)


def test_an_output_that_is_busy_stops_no_work(monkeypatch, capsys):
    def refuse(text):
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(sys.stdout, "write", refuse)
    handler = _TerminalHandler()
    handler.handle(logging.makeLogRecord({"msg": "step 1"}))
    assert "temporarily" in capsys.readouterr().err


def test_an_option_without_effect_is_refused(tmp_path, capsys):
    assert partition([str(tmp_path / "none.h5"), "2", "--json", "parts.json"]) == 2
    assert "--json parts.json takes the table of --compare" in capsys.readouterr().err


def test_a_folder_in_the_place_of_a_file_is_told_before_the_work(tmp_path):
    with pytest.raises(OutputError, match="it is a folder; give the name of a file"):
        check_file(tmp_path)
    check_file(tmp_path / "new" / "k.json")
    assert (tmp_path / "new").is_dir()


@pytest.mark.parametrize("name", ["permeability --json", "trace -o", "bench --json", "validate --json"])
def test_commands_look_at_their_files_first(name, tmp_path, capsys):
    first, option = name.split()
    case = tmp_path / "case.toml"
    case.write_text(smallest().to_toml())
    what = "free-slip" if first == "validate" else case
    with pytest.raises(OutputError, match="it is a folder"):
        command(first, what, option, tmp_path)
    assert "numbering" not in capsys.readouterr().out


@pytest.mark.parametrize("first", ["run", "permeability", "trace", "bench"])
def test_a_refused_run_leaves_no_folder(first, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(SerialCommunicator, "abort", lambda _self, code: sys.exit(code))
    case, out = tmp_path / "case.toml", tmp_path / "out"
    case.write_text(smallest().to_toml())
    option = {"trace": ["-o", out / "a" / "t.json"], "bench": ["--json", out / "a" / "t.json"]}.get(first, ["-o", out])
    with pytest.raises(SystemExit):
        main([*map(str, [first, case, *option]), "--set", "lattice.time_step_s=100"])
    assert "relaxation time is 30.5" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_an_output_on_a_full_disk_is_told_and_does_not_end_the_work(tmp_path):
    case, out = tmp_path / "case.toml", tmp_path / "out"
    case.write_text(smallest().to_toml())
    words = [sys.executable, "-m", "muphy_lb", "run", case, "-o", out, "--no-pictures"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == OutputError.exit_code and (out / "summary.json").exists()
    assert done.stderr.splitlines() == [
        "muphy-lb: error: the output cannot be written any more: No space left on device; files of the command are"
        " whole"
    ]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_findings_that_cannot_be_printed_are_told_in_one_line(monkeypatch, capsys):
    monkeypatch.setattr("muphy_lb.output.terminal._lost", [])
    monkeypatch.setattr("muphy_lb.doctor.command._examined", lambda _answer: ())
    with open("/dev/full", "w") as full, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", full)
        assert main(["doctor"]) == OutputError.exit_code
    assert "cannot be written any more" in capsys.readouterr().err


def test_an_output_that_the_shell_has_closed_stops_no_work():
    words = f"{sys.executable} -m muphy_lb examples"
    done = subprocess.run(f"{words} >&-", shell=True, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_permeability_beside_a_wall_that_moves_is_refused(tmp_path):
    case = tmp_path / "case.toml"
    case.write_text(smallest(walls=[LOW]).to_toml())
    with pytest.raises(InputError, match="driven, or changed, by a moving wall"):
        command("permeability", case, "-o", tmp_path / "k")


@pytest.mark.parametrize(("option", "is_prepared"), [("--axis=y", False), ("--tensor", False), ("--tensor", True)])
def test_a_direction_along_which_nothing_leads_is_refused_before_its_flow(option, is_prepared, tmp_path):
    image = np.ones((1, 10, 12), dtype=np.uint8)
    image[:, 5] = 0
    np.save(tmp_path / "image.npy", image)
    made = {"shape": None, "file": "image.npy", "options": {"fluid_value": 1}, "periodic": "xyz"}
    if is_prepared:
        words = ["--fluid-value", "1", "--spacing-m", "1", "--periodic", "xyz"]
        assert geometry([*map(str, [tmp_path / "image.npy", tmp_path / "image.h5"]), *words]) == 0
        made = {"file": "image.h5"}
    case, tables = tmp_path / "case.toml", FLOW | {"geometry": made if is_prepared else made | {"spacing_m": 1.0}}
    case.write_text(case_from_dict(tables).to_toml())
    with pytest.raises(InputError, match="no pore leads from end to end along y, where the force acts, so that k is 0"):
        command("permeability", case, "-o", tmp_path / "k", option)


# --- cases -----------------------------------------------------------------------------------------------------------


def test_an_empty_name_of_a_shape_is_refused():
    with pytest.raises(InputError, match="shape"):
        Simulation(smallest(geometry={"shape": ""}))


@pytest.mark.parametrize(
    ("physics", "more", "text"),
    [
        ("flow", {"run": {"steady_tolerance": 1e-4, "steady_interval_steps": 10}}, "the run ends before the third"),
        ("species", {"run": {"frozen_after_s": 20.0}}, "its flow is never frozen"),
        ("age", {"run": {"ramp_steps": 300}}, "rises over run.ramp_steps = 300, and the run ends at step 20"),
    ],
)
def test_what_comes_behind_the_end_of_the_run_is_told(physics, more, text):
    case = smallest(*(() if physics == "flow" else (physics,)), **more)
    assert text in describe_case(case)


EQUAL = [{"name": name, "pressure_pa": 0.0} for name in ("inlet", "outlet")]
LOWER = [[-9.0, -9.0, -9.0], [99.0, 0.5, 99.0]]


def test_a_bolus_behind_the_end_and_a_wave_of_few_steps_are_told():
    text = describe_case(smallest("species"))
    assert "species.drug.waveform.period_s: a period of 9 s is longer than the run, or has fewer than 20" in text
    assert "never enters" not in text


@pytest.mark.parametrize(
    ("physics", "key", "value"),
    [
        ("free_surface", "free_surface", {"liquid": [BODY | {"velocity_m_s": [0.0, 0.0, 0.1]}]}),
        ("two_fluid", "two_fluid", {"second_acceleration_m_s2": [0.0, 0.0, -1e-4]}),
        ("thermal", "thermal", {"gravity_m_s2": [0.0, -1.0, 1.0], "expansion_1_k": 0.0}),
        ("age", "initial", {"velocity_m_s": [0.0, 0.0, 0.1]}),
        ("age", "walls", [{"name": "low", "box_m": LOWER, "rotation_rad_s": [0.1, 0.0, 0.0]}]),
        ("age", "walls", [{"name": "low", "box_m": LOWER, "velocity_m_s": [0.1, 0.0, 0.1]}]),
    ],
)
def test_what_points_out_of_a_plane_lattice_is_refused(physics, key, value):
    with pytest.raises(InputError, match=f"{key}.*but lattice D2Q9 is two-dimensional"):
        describe_case(smallest(physics, **{key: value}))


@pytest.mark.parametrize("gravity", [{}, {"gravity_m_s2": [0, 0, -9.81]}, {"gravity_m_s2": [0, -9.81, 1]}])
def test_gravity_out_of_the_plane_is_refused_where_heat_shall_move_fluid(gravity):
    """The first one is the default."""
    heat = {"reference_k": 300.0, "diffusivity_m2_s": 0.05}
    with pytest.raises(InputError, match=r"gravity_m_s2 = .* heat would move no fluid: .*-9.81, 0.0"):
        case_from_dict(FLOW | {"thermal": heat | gravity | {"expansion_1_k": 1e-3}})
    case_from_dict(FLOW | {"thermal": heat | {"expansion_1_k": 0.0}})


@pytest.mark.parametrize(
    ("physics", "more", "text"),
    [
        ("age", {"output": {"region_m": [[50, 50, 50], [60, 60, 60]]}}, "output.region_m .* holds no fluid node"),
        (
            "free_surface",
            {"free_surface": {"bubbles": {"pressure_pa": 1.0, "spheres": [{"centre_m": [50, 5, 0], "radius_m": 2}]}}},
            "spheres.0.: the centre of no voxel of fluid lies in it",
        ),
        ("age", {"probes": [{"name": "a", "line_m": [[1, 1, 0], [1, 1, 0]]}]}, "must have 2 different points"),
    ],
)
def test_a_place_without_fluid_is_refused(physics, more, text, tmp_path):
    with pytest.raises(InputError, match=text):
        Simulation(smallest(physics, **more)).run(folder=tmp_path)


def test_a_flow_that_follows_a_slow_start_is_not_called_steady():
    """A force drives it, and a pressure that has hardly begun to rise within the run."""
    run = {"steps": 600, "steady_tolerance": 0.01, "steady_interval_steps": 50}
    flow = {key: SECTIONS["age"][key] for key in ("geometry", "openings")}
    slow, quick = (Simulation(smallest(**flow, run=run | {"ramp_steps": n}), progress=False) for n in (100_000, 0))
    ended = slow.run()
    assert not ended.is_steady and slow.step_number == 600
    assert "openings and walls rise until step 100,000" in ended.objections[0]
    assert quick.run().is_steady and quick.health.max_velocity_m_s > 5.0 * slow.health.max_velocity_m_s


@pytest.mark.parametrize("heading", ["time [ms]", "time (from 0) [ms]", "time (ms)", "time_ms", " t/ms "])
def test_the_heading_of_a_table_names_its_unit(heading, tmp_path):
    table = tmp_path / "beat.csv"
    table.write_text(f"{heading},factor\n0,1\n400,2\n800,1\n")
    first, second = read_table(table, "waveform.file")
    assert first.tolist() == pytest.approx([0.0, 0.4, 0.8]) and second.tolist() == [1.0, 2.0, 1.0]


@pytest.mark.parametrize("heading", ["time", "t_max", "time_s", "time [s]", "s", "t (by hand)"])
def test_a_table_is_in_seconds_otherwise(heading, tmp_path):
    table = tmp_path / "beat.csv"
    table.write_text(f"{heading},factor\n0,1\n4,2\n")
    assert read_table(table, "waveform.file")[0].tolist() == [0.0, 4.0]


def test_the_end_of_a_heading_is_a_unit_or_a_word():
    """The words are an inch and the speed of light, too."""
    assert [column_in_si(1.0, each, "m/s") for each in ("v_cm_s", "v cm/s", "v_km")] == [0.01, 0.01, 1.0]
    for heading, unit in (("diameter_in", "m"), ("v_c", "m/s")):
        with pytest.raises(ValueError, match="for the unit write"):
            column_in_si(1.0, heading, unit)
    assert column_in_si(1.0, "diameter [in]", "m") == 0.0254


@pytest.mark.parametrize(
    ("heading", "velocity", "problem"),
    [
        ("u [cm/s]", 0.01, ""),
        ("factor", 3.0, ""),
        ("u (t) [-]", 3.0, ""),
        ("flow (a.u.)", 3.0, ""),
        ("factor_A_B", 3.0, ""),
        ("u [cm/s]", 1.0, "factor of openings.inlet.velocity_m_s: where .* = '1 cm/s', else leave the unit out"),
        ("u_cm_s", 1.0, "the heading 'u_cm_s' names a unit"),
        ("flow (mL/s)", 1.0, "the heading 'flow .mL/s.' names a unit"),
        ("u [%]", 0.01, "the heading 'u .%.' names a unit"),
    ],
)
def test_a_factor_with_a_unit_multiplies_one_of_it(heading, velocity, problem, tmp_path):
    """Flow rates in mL/s, as factors of 1 m3/s, were a million times too large."""
    table = tmp_path / "beat.csv"
    table.write_text(f"time [ms],{heading}\n0,1\n200,2\n500,1.5\n800,1\n")
    inlet = {"name": "inlet", "velocity_m_s": velocity, "waveform": {"file": str(table)}}
    channel = {"geometry": {"options": {"ends": "open"}}, "lattice": {"time_step_s": 0.01}, "run": {"steps": 80}}
    case = smallest(openings=[inlet, {"name": "outlet", "pressure_pa": 0.0}], **channel)
    with pytest.raises(InputError, match=problem) if problem else nullcontext():
        refuse_other_units(case)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("time [mm],f\n0,1\n1,1\n", "the heading 'time .mm.' has the unit 'mm'"),
        ("t,f\n0,1\n9,1\n5,1\n", "has 5 behind 9 in row 3"),
        ("t,f\n0,1\n9,nan\n", "has nan in row 2"),
        ("\ufeff0,1\n9,1\n", "first line is '.*0,1', numbers and no headings.*one line of headings"),
        ("t\tf\n0\t1\n9\t1\n", "columns must be divided by commas"),
        ("t,f\n0,1\n9\n", r"the number of columns changed from 2 to 1 at row 2\);"),
    ],
)
def test_the_first_fault_of_a_table_is_named(text, problem, tmp_path):
    table = tmp_path / "beat.csv"
    table.write_text(text)
    with pytest.raises(InputError, match=problem):
        read_table(table, "waveform.file")


@pytest.mark.parametrize(
    ("physics", "more", "is_told"),
    [
        ([], {}, True),
        (["dissipation"], {"walls": []}, True),
        (["porous_medium"], {"walls": []}, True),
        ([], {"geometry": {"options": {"ends": "open"}}, "openings": EQUAL}, True),
        ([], {"geometry": {"options": {"ends": "open"}}, "openings": THROUGH}, False),
        ([], {"walls": [LOW]}, False),
        ([], {"initial": {"velocity_m_s": [0.01, 0.0, 0.0]}}, False),
        ([], {"flow": {"acceleration_m_s2": [1e-4, 0.0, 0.0]}}, False),
        (["thermal"], {"walls": []}, False),
        (["dispersion"], {"walls": []}, False),
    ],
)
def test_a_flow_that_nothing_drives_is_told(physics, more, is_told):
    still = {"flow": {"acceleration_m_s2": [0.0, 0.0, 0.0]}}
    assert ("nothing drives the flow" in describe_case(smallest(*physics, **still | more))) == is_told


def test_a_vessel_on_a_plane_lattice_is_refused_by_its_layers():
    """Before, by a link that crosses no opening."""
    pipe = {"shape": "pipe", "spacing_m": 1.0, "options": {"length": 8, "radius": 3.0, "ends": "open"}}
    with pytest.raises(InputError, match="lattice D2Q9 is two-dimensional but the geometry has .* layers along z"):
        describe_case(case_from_dict(FLOW | {"geometry": pipe, "openings": THROUGH}))


@pytest.mark.parametrize(
    "slip",
    [
        {"two_fluid.interfacial_tension_n_m": 1.37},
        {"fluid.kinematic_viscosity_m2_s": 5.0, "two_fluid.kinematic_viscosity_m2_s": 0.02},
        {"fluid.kinematic_viscosity_m2_s": 2e-4, "two_fluid.kinematic_viscosity_m2_s": 6e-4},
        {"fluid.kinematic_viscosity_m2_s": 1e-4, "two_fluid.kinematic_viscosity_m2_s": 3e-4},
    ],
)
def test_remedies_for_two_fluids_lead_on(slip):
    """Before, a rounded time step was refused with itself as the remedy, or two took turns."""
    case, told = as_case(smallest("two_fluid", walls=[], openings=EQUAL), slip), []
    while len(told) < 4:
        try:
            describe_case(case)
            break
        except InputError as error:
            told.append(re.search(r"set ([a-z_.]+) = ([-+.\de]*\d)", str(error)).groups())
            case = as_case(case, [f"{told[-1][0]}={told[-1][1]}"])
    assert 0 < len(told) < 4, told


@pytest.mark.parametrize(
    ("physics", "more"),
    [
        ([], {"flow": {"acceleration_m_s2": [0.05, 0.0, 0.0]}, "walls": [LOW]}),
        (["thermal"], {"thermal": {"expansion_1_k": 1.0, "gravity_m_s2": [0.0, -1.0, 0.0]}}),
        (["species"], {"flow": {"acceleration_m_s2": [0.01, 0.0, 0.0]}}),
        (["age"], {"openings": [THROUGH[0] | {"pressure_pa": 0.2}, THROUGH[1]], "walls": [LOW]}),
    ],
)
def test_the_remedy_for_a_flow_that_its_drive_makes_too_fast_is_a_shorter_step(physics, more):
    """Beside a wall that moves it was run.ramp_steps = 1000, and then ten times as many for ever."""
    case, told = smallest(*physics, **more, compute={"backend": "cpu"}), []
    while len(told) < 4:
        try:
            simulation = Simulation(case, progress=False)
            simulation.step(int(300 / simulation.core.units.time_step_s))
            break
        except (DivergedError, InputError) as error:
            told.append(re.search(r"(lattice.time_step_s) = ([-+.\de]*\d)", str(error)).groups())
            case = as_case(case, [f"{told[-1][0]}={told[-1][1]}"])
    assert 0 < len(told) < 4, told


# --- Python ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [["pressure"], {}, np.zeros(3), 3])
def test_what_is_no_name_of_a_field_is_refused(channel, name):
    with pytest.raises(InputError, match="there is no field"):
        channel.fields(name)


def test_keys_of_changes_are_texts(channel):
    with pytest.raises(InputError, match="change: 3 is no key of a case"):
        channel.change({3: 1})


def test_what_is_no_list_of_changes_is_refused():
    with pytest.raises(InputError, match="changes of a case are 3, of type int"):
        Simulation.from_case(smallest(), 3)


@pytest.mark.parametrize("given", [None, 3, "a\0b"])
def test_what_is_no_path_is_refused(given, channel, tmp_path):
    with pytest.raises(InputError, match="give its path"):
        Study(given, tmp_path)
    with pytest.raises(InputError, match="give its path"):
        Study(tmp_path / "study.toml", given)
    with pytest.raises(InputError, match="give its path"):
        channel.save(given)

"""``muphy-lb new`` writes cases that are explained, raise no warning and run."""

import argparse
import json
import math
import tomllib

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import load_case
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.shapes.catalogue import pipe, random_solid
from muphy_lb.new import sizing
from muphy_lb.new.command import add_options, new
from muphy_lb.new.text import case_text
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.description import describe_case
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from tests.unit.geometry.surfaces import tube
from tests.unit.geometry.test_surface import write_stl
from tests.vessel import command

KINDS = ("vessel", "rock", "channel")
SMALL = {"vessel": ["--across", "10"], "rock": ["--across", "20"], "channel": ["--across", "12"]}
SHORT = [
    "compute.backend=numpy",
    "run.steps=40",
    "run.ramp_steps=10",
    "output.series_every_steps=20",
    "output.picture=false",
]


def write(folder, words, ask=None):
    """The path of the case that the command writes, and what it says."""
    parser, said, path = argparse.ArgumentParser(), [], folder / "case.toml"
    add_options(parser)
    options = parser.parse_args([*map(str, words), "-o", str(path)])
    new(options, said.append, SerialCommunicator(), ask or (lambda question: ""))
    return path, "\n".join(said)


def run_shortly(path, folder):
    Run(Solver(load_case(path, SHORT), SerialCommunicator()), folder / "out").execute()
    summary = json.loads((folder / "out" / "summary.json").read_text())
    assert summary["steps"] == 40 and 0.0 < summary["max_velocity_m_s"] < math.inf


def test_a_rock_of_an_image_says_which_voxels_are_pores(tmp_path):
    path, text = write(tmp_path, ["rock", rock_file(tmp_path), "--spacing", "10 um", "--yes"])
    assert "pores are the voxels of value 1; of another: --option fluid_value=NUMBER" in text
    assert load_case(path).geometry.options["fluid_value"] == 1


def rock_file(folder, porosity=0.48):
    """An image of pores with 0 as fluid."""
    path = folder / "rock.npy"
    np.save(path, 1 - random_solid((12, 12, 12), porosity=porosity, seed=1).flags)
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_case_runs(kind, tmp_path):
    path, _ = write(tmp_path, [kind, *SMALL[kind]])
    run_shortly(path, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fluid", ["blood", "water", "air"])
def test_a_new_case_raises_no_warning(kind, fluid, tmp_path):
    resolved = ["--across", "16"] if kind == "vessel" else SMALL[kind]  # 8 voxels across the smallest outlet
    path, said = write(tmp_path, [kind, "--fluid", fluid, *resolved])
    assert "warning" not in said and "relaxation time" in said
    assert "Mach number" in describe_case(load_case(path))


@pytest.mark.parametrize("velocity", [1e-4, 0.01, 0.1])
def test_a_channel_is_as_fine_as_its_velocity_needs(velocity, tmp_path):
    assert "warning" not in write(tmp_path, ["channel", "--velocity", velocity])[1]


def test_the_voxel_edge_and_the_number_across_are_those_asked_for(tmp_path):
    for words in (["channel", "--spacing", 5e-5], ["rock", "--spacing", 4e-5], ["vessel", "--spacing", 3e-4]):
        assert load_case(write(tmp_path, [*words, "--yes"])[0]).geometry.spacing_m == words[-1]
    assert load_case(write(tmp_path, ["channel", "--across", 30, "--yes"])[0]).geometry.options["height"] == 30


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_that_is_set_is_explained_once(kind, tmp_path):
    path, _ = write(tmp_path, [kind, *SMALL[kind]])
    explained, header = set(), ""
    for line in path.read_text().splitlines():
        header = line.split("#")[0].strip() if line.startswith("[") else header
        if " = " in line and not line.startswith("#") and "." not in header:
            name = header, line.split(" = ")[0]
            assert "#" in line or name in explained, line
            explained.add(name)
    assert ("[fluid]", "density_kg_m3") in explained


def test_the_keys_that_are_not_set_are_listed_with_their_defaults_and_read_when_uncommented(tmp_path):
    path = write(tmp_path, ["channel", "--across", 12])[0]
    text = path.read_text()
    for line in ('# precision = "fp32"', "# [openings.waveform]", "# [[walls]]", "# time_s "):
        assert line in text
    path.write_text(text.replace('# precision = "fp32"', 'precision = "fp64"'))
    assert load_case(path).compute.precision == "fp64"


def test_the_text_of_a_case_reads_as_its_table():
    table = {
        "title": 'two "words"',
        "geometry": {"shape": "pipe", "spacing_m": 1e-5, "options": {"axis": "x", "radius": 4.5}},
        "openings": [{"name": "in", "velocity_m_s": 0.1}, {"name": "out", "pressure_pa": 0.0}],
        "fluid": {"density_kg_m3": 1e3, "kinematic_viscosity_m2_s": 1e-6},
        "lattice": {"relaxation_time": 0.8},
        "run": {"steps": 10, "steady_watch": ["permeability"]},
    }
    read = tomllib.loads(case_text(table, "head\nsecond line"))
    assert {key: value for key, value in read.items() if value} == table


def test_a_surface_gets_openings_with_places_and_runs(tmp_path):
    file = write_stl(tmp_path / "tube.stl", tube(radius=2.0, length=12.0))
    path, said = write(tmp_path, ["vessel", file, "--unit", "mm", "--across", 10])
    case = load_case(path)
    assert case.geometry.file == "tube.stl"
    assert [opening.kind for opening in case.openings] == ["inlet", "outlet"]
    assert case.geometry.spacing_m == pytest.approx(4e-3 / 10, rel=0.02)
    assert case.lattice.walls == "bouzidi"
    assert "warning" not in said
    run_shortly(path, tmp_path)


def test_an_image_of_a_vessel_gets_the_openings_on_its_faces_and_runs(tmp_path):
    np.save(tmp_path / "pipe.npy", pipe(length=24, radius=5.0).flags)
    path, said = write(tmp_path, ["vessel", tmp_path / "pipe.npy", "--spacing", 1e-4])
    assert [opening.normal for opening in load_case(path).openings] == [(0.0, 0.0, 1.0), (0.0, 0.0, -1.0)]
    assert load_case(path).lattice.walls == "half-way"  # an image does not know the place of its walls
    assert "warning" not in said
    run_shortly(path, tmp_path)


def test_an_image_of_a_rock_is_prepared_and_runs(tmp_path):
    words = ["rock", rock_file(tmp_path), "--spacing", 1e-5, "--option", "fluid_value=0", "--option", "median=0"]
    path, said = write(tmp_path, words)
    options = load_case(path).geometry.options
    assert options["drop_unconnected"] == options["mirror"] == "x" and options["fluid_value"] == 0
    assert "permeability" in said and "warning" not in said
    run_shortly(path, tmp_path)


def test_the_pores_of_a_rock_move_slowly_and_about_as_fast_as_expected(tmp_path):
    path, _ = write(tmp_path, ["rock", "--across", 20])
    case = load_case(path, ["compute.backend=numpy", "run.steps=300", "output.picture=false"])
    simulation = Solver(case, SerialCommunicator())
    Run(simulation, tmp_path / "out").execute()
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert 0.2 < summary["mean_velocity_m_s"] / case.lattice.reference_velocity_m_s < 5.0


def test_what_is_not_given_is_asked_for(tmp_path):
    questions, answers = [], iter(["channel", "20", "air", "0.5"])

    def ask(question):
        questions.append(question)
        return next(answers)

    case = load_case(write(tmp_path, [], ask)[0])
    assert len(questions) == 4 and "vessel, rock, channel" in questions[0]
    assert case.geometry.options["height"] == 20
    assert case.fluid.density_kg_m3 == 1.2 and case.openings[0].velocity_m_s == 0.5


def test_the_voxel_edge_of_an_image_is_asked_for(tmp_path):
    answers = iter(["2e-5", ""])
    path, _ = write(tmp_path, ["rock", rock_file(tmp_path), "--option", "fluid_value=0"], lambda _: next(answers))
    assert load_case(path).geometry.spacing_m == 2e-5


def test_with_yes_nothing_is_asked(tmp_path):
    def ask(question):
        raise AssertionError(question)

    assert write(tmp_path, ["channel", "--yes"], ask)[0].exists()


def test_a_wrong_answer_may_be_given_twice_and_three_end_the_command(tmp_path):
    with pytest.raises(InputError, match="no usable answer to 'kind of flow'"):
        write(tmp_path, [], lambda _: "tunnel")
    answers = iter(["tunnel", "well", "channel", "many", "12", "", ""])
    assert load_case(write(tmp_path, [], lambda _: next(answers))[0]).geometry.options["height"] == 12


def test_an_old_case_is_kept_unless_told(tmp_path):
    path, _ = write(tmp_path, ["channel", "--across", 12])
    with pytest.raises(InputError, match="exists; give --yes"):
        write(tmp_path, ["channel", "--across", 14])
    assert load_case(path).geometry.options["height"] == 12
    write(tmp_path, ["channel", "--across", 14, "--yes"])
    assert load_case(path).geometry.options["height"] == 14


def test_a_case_that_could_not_run_is_not_written(tmp_path):
    flags = np.zeros((8, 8, 8), dtype=np.uint8)
    flags[:, 4, 4] = 1
    np.save(tmp_path / "along_z.npy", flags)
    with pytest.raises(GeometryError, match="leads from end to end along x"):
        write(tmp_path, ["rock", tmp_path / "along_z.npy", "--spacing", 1e-5])
    assert not (tmp_path / "case.toml").exists()


def test_voxels_too_wide_for_the_velocity_raise_a_warning(tmp_path):
    words = ["channel", "--velocity", 1.0, "--spacing", 1e-4]
    assert "the cell Reynolds number is" in write(tmp_path, words)[1]


def test_a_velocity_that_needs_finer_voxels_gets_them(tmp_path):
    path, said = write(tmp_path, ["vessel", "--velocity", 0.15, "--yes"])
    case = load_case(path)
    assert case.geometry.spacing_m < 1e-4 and case.lattice.smagorinsky is None
    assert "cell Reynolds number 9" in said


def test_a_velocity_beyond_the_budget_of_nodes_gets_a_model_and_is_told_why(tmp_path):
    """Reynolds number 1500 in a vessel of blood: 750 voxels across would resolve it."""
    words = ["vessel", "--velocity", "1.65 m/s", "--across", 12, "--yes"]
    path, said = write(tmp_path, words)
    lattice = load_case(path).lattice
    assert (lattice.smagorinsky, lattice.collision) == (0.16, "recursive-regularised")
    for text in ("cell Reynolds number", "smagorinsky", "--across", "2,000,000"):
        assert text in said
    run_shortly(path, tmp_path)


def test_voxels_are_refined_as_far_as_the_budget_of_nodes_allows():
    found = [sizing.edge_for(1.0, 24, needed, 1.0 / 100) for needed in (24, 60, 500)]
    assert found == [pytest.approx(1.0 / across, rel=1e-3) for across in (24, 60, 100)]


@pytest.mark.parametrize(("diameter_m", "lowest", "highest"), [(8e-6, 3e-4, 1e-3), (3e-3, 0.1, 0.3), (25e-3, 0.2, 0.4)])
def test_velocities_of_blood_are_physiological(diameter_m, lowest, highest):
    """Capillary 0.3 to 1 mm/s, carotid artery 0.1 to 0.3 m/s, aorta 0.2 to 0.4 m/s: textbook values."""
    assert lowest <= sizing.physiological_velocity(diameter_m, 1060.0, 3.3e-6) <= highest


def test_a_capillary_is_not_driven_at_metres_a_second(tmp_path):
    write_stl(tmp_path / "capillary.stl", tube(radius=8.0, length=60.0))
    path, said = write(tmp_path, ["vessel", tmp_path / "capillary.stl", "--unit", "um", "--across", 10, "--yes"])
    assert load_case(path).openings[0].velocity_m_s < 2e-3
    assert load_case(path).run.steps < 200_000  # not some flow-through times, which are millions of steps
    assert "that of blood at rest in a vessel of 1.6e-05 m" in said


def test_a_velocity_chosen_for_a_reynolds_number_says_so(tmp_path):
    said = write(tmp_path, ["vessel", "--yes"])[1]
    assert "chosen for a Reynolds number of" in said and "--velocity: blood at rest in a vessel of 0.00" in said


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["vesel"], "kind is 'vesel'; did you mean 'vessel'"),
        (["vessel", "--fluid", "blud"], "did you mean 'blood'"),
        (["vessel", "none.stl"], "none.stl does not exist"),
        (["channel", "--across", "-3"], "--across is -3"),
        (["channel", "--across", "9", "--spacing", "1"], "--spacing and --across are both given"),
        (["vessel", "--option", "fluid_value=0"], "--option fluid_value goes with a file"),
        (["rock", "--option", "dtype=uint8"], "--option 'dtype=uint8' is not NAME=VALUE"),
    ],
    ids=" ".join,
)
def test_a_wrong_option_is_told(words, text, tmp_path):
    with pytest.raises(InputError, match=text):
        write(tmp_path, [*words, "--yes"])


def test_a_file_that_does_not_suit_the_kind_is_told(tmp_path):
    surface = write_stl(tmp_path / "tube.stl", tube())
    with pytest.raises(InputError, match="takes no file"):
        write(tmp_path, ["channel", surface])
    with pytest.raises(InputError, match="is not a voxel image"):
        write(tmp_path, ["rock", surface])
    with pytest.raises(InputError, match="an image has its own voxels"):
        write(tmp_path, ["rock", rock_file(tmp_path), "--across", 20])


def test_a_vessel_without_two_openings_is_told(tmp_path):
    flags = np.zeros((8, 8, 8), dtype=np.uint8)
    flags[:4, 3:5, 3:5] = 1
    np.save(tmp_path / "sack.npy", flags)
    with pytest.raises(GeometryError, match="1 inlets and 0 outlets found"):
        write(tmp_path, ["vessel", tmp_path / "sack.npy", "--spacing", 1e-4])


def test_the_voxel_edge_of_an_image_is_checked_before_it_is_read(tmp_path, monkeypatch):
    np.save(tmp_path / "rock.npy", np.ones((4, 4, 4), np.uint8))
    monkeypatch.setattr("muphy_lb.new.kinds.load_voxels", lambda *_, **__: pytest.fail("the image was read"))
    start = ["new", "rock", tmp_path / "rock.npy", "--yes", "-o", tmp_path / "rock.toml"]
    for options, words in (
        ([], "does not contain its voxel edge; give it in metres, such as --spacing 5e-6"),
        (["--spacing", "5.345"], r"the voxel edge of .* is 5.345 m, .* Give --spacing 5.345e-06"),
        (["--spacing", "5e-6", "--unit", "um"], "5e-12 m, less than an atom"),
        (["--spacing", "5 um", "--unit", "um"], "--spacing names its unit, and --unit um .* count twice"),
        (["--spacing", "5e-6", "--option", "spacing_m=6e-6"], "--spacing 5e-06 and --option spacing_m are both given"),
        (["--unit", "um", "--option", "unit='mm'"], "--unit um and --option unit are both given"),
    ):
        with pytest.raises(InputError, match=words):
            command(*start, *options)


def test_the_voxel_edge_of_an_image_takes_a_unit(tmp_path):
    pores = np.zeros((8, 8, 8), np.uint8)
    pores[:, 2:6, 2:6] = pores[2:6, 2:6, :] = 1
    np.save(tmp_path / "rock.npy", pores)
    case = tmp_path / "rock.toml"
    command("new", "rock", tmp_path / "rock.npy", "--yes", "-o", case, "--spacing", "5.345", "--unit", "um")
    assert load_case(case).geometry.spacing_m == pytest.approx(5.345e-6)


def test_a_velocity_of_a_rock_is_refused_as_a_force_drives_it(tmp_path):
    with pytest.raises(InputError, match="--velocity 1 .* flow.acceleration_m_s2"):
        write(tmp_path, ["rock", "--velocity", 1.0, "--yes"])


def test_grains_that_are_taken_for_pores_raise_a_warning(tmp_path):
    voxels = np.zeros((12, 12, 12), dtype=np.uint8)
    voxels[3:6, 3:6, 3:6] = 1
    np.save(tmp_path / "grains.npy", voxels)
    words = ["rock", tmp_path / "grains.npy", "--spacing", "10 um", "--yes", "--option"]
    assert "warning: a porosity of 0.98" in write(tmp_path, [*words, "fluid_value=0"])[1]
    most = ["rock", rock_file(tmp_path, 0.7), "--spacing", "10 um", "--yes", "--option", "fluid_value=0"]
    assert "warning: a porosity of 0.70" in write(tmp_path, most)[1]
    assert "warning: a porosity" not in write(tmp_path, ["rock", *SMALL["rock"], "--yes"])[1]

"""Bad studies: one message that names the key, its value and the remedy; nothing has run then."""

import pytest

from muphy_lb import InputError, Study
from muphy_lb.apps.study import members as folders
from muphy_lb.apps.study.blocks import counts_of, crops_of
from muphy_lb.apps.study.section import CROP, ParameterSection
from muphy_lb.base.errors import OutputError
from muphy_lb.case.case import as_case, case_from_dict, load_case
from muphy_lb.case.toml import toml_lines
from tests.channel import OPEN
from tests.vessel import changed

INFLOW = {"name": "inflow", "key": "openings.inlet.velocity_m_s", "uniform": [1e-3, 2e-3]}
VISCOSITY = {"name": "viscosity", "key": "fluid.kinematic_viscosity_m2_s", "normal": [1e-5, 1e-6]}


def parameter(**keys) -> dict:
    """A study of one parameter, which is the inflow with other keys; None removes one."""
    kept = {key: value for key, value in (INFLOW | keys).items() if value is not None}
    return {"parameters": [kept], "samples": 4}


def both(**keys) -> dict:
    """A study of two parameters."""
    return {"parameters": [INFLOW, VISCOSITY], "samples": 4} | keys


@pytest.mark.parametrize(
    ("study", "told"),
    [
        (parameter(uniform=[2e-3, 1e-3]), "whose lowest value is not below the highest; exchange them"),
        (parameter(uniform=[1e-3]), "give two numbers, the lowest and the highest value"),
        (parameter(uniform=None), "needs exactly one of uniform, normal, lognormal, values, measured, blocks"),
        (parameter(normal=[1.0, 0.1]), "it has uniform and normal"),
        (parameter(uniform=None, normal=[1e-3, -1e-4]), "standard deviation of -0.0001; it must be above 0"),
        (parameter(uniform=None, lognormal=[-1e-3, 1e-4]), "a mean of -0.001; it must be above 0"),
        (parameter(within=[0.0, 1.0]), "within, which cuts off normal and lognormal alone"),
        (parameter(uniform=None, normal=[1e-3, 1e-5], within=[1.0, 2.0]), "holds nothing of the distribution"),
        (parameter(uniform=None, normal=[1.5, 0.05], within=[1.35e-3, 1.65e-3]), r"holds .*e-\d+ of the distribution"),
        (parameter(uniform=None, values=[]), "empty list of values"),
        (parameter(uniform=None, measured="none.csv"), "cannot be read as a table"),
        (parameter(unifrm=[0.0, 1.0]), "did you mean 'uniform'"),
        (parameter(key="openings.inlt.velocity_m_s"), "no entry named 'inlt'; there are: inlet, outlet"),
        (parameter(key="fluid.viscosity"), "fluid.viscosity is an unknown key"),
        (both(parameters=[VISCOSITY | {"normal": [1e-5, 5e-5]}]), "give distributions that stay within"),
        (parameter(key="fluid.dynamic_viscosity_pa_s", relative=True), "relative parameter multiplies a number"),
        (parameter(uniform=["1 mm/s", "2 parsec"]), "not of the dimension of m/s"),
        (parameter(uniform=None, blocks=[2]), "blocks, which are values of geometry.options.crop alone"),
        (both(samples=None), "give their number, such as 64"),
        (both(sampler="sobol", samples=12), "needs a power of 2, such as 16"),
        (both(sampler="factorial"), "has its own number; leave it out"),
        (both(sampler="list", samples=None), "there are: inflow none, viscosity none"),
        (both(parameters=[INFLOW, INFLOW]), "several parameters named 'inflow'"),
        (both(parameters=[INFLOW, INFLOW | {"name": "other"}]), "study has two parameters that set openings.inlet"),
        (both(correlations=[{"between": ["inflow", "age"], "coefficient": 0.5}]), "'age', not a parameter"),
        (both(correlations=[{"between": ["inflow", "viscosity"], "coefficient": 1.5}]), "less than 1"),
        (both(start="out", parameters=[INFLOW | {"key": "geometry.spacing_m"}]), "changes them, geometry.spacing_m"),
        (both(start="out", pack=2), "has start and pack"),
        ({"samples": 4}, "study.parameters is missing"),
        ({"samples": 4, "parameters": []}, "empty list of parameters"),
        ({"samples": 4, "parameters": ["inflow"]}, "must be a table"),
    ],
)  # fmt: skip
def test_a_bad_study_is_refused_in_one_message(tmp_path, study, told):
    given = {key: value for key, value in study.items() if value is not None}
    with pytest.raises(InputError, match=told.replace("[", r"\[")):
        Study({"case": OPEN, "study": given}, tmp_path)
    assert not any(tmp_path.iterdir())


def test_all_problems_are_told_at_once(tmp_path):
    with pytest.raises(InputError, match="has 3 problems") as caught:
        Study({"case": OPEN, "study": parameter(uniform=[2.0, 1.0]) | {"seed": -1, "sampler": "sobl"}}, tmp_path)
    assert "study.parameters.inflow" in str(caught.value) and "study.seed" in str(caught.value)


def test_correlations_that_contradict_each_other_are_refused(tmp_path):
    third = {"name": "density", "key": "fluid.density_kg_m3", "normal": [1000.0, 1.0]}
    pairs = [
        {"between": [one, other], "coefficient": c}
        for one, other, c in (("inflow", "viscosity", 0.9), ("viscosity", "density", 0.9), ("inflow", "density", -0.9))
    ]
    with pytest.raises(InputError, match="contradict each other"):
        Study({"case": OPEN, "study": both(parameters=[INFLOW, VISCOSITY, third], correlations=pairs)}, tmp_path)


def test_a_folder_of_another_study_is_kept(tmp_path):
    Study({"case": OPEN, "study": both()}, tmp_path)
    with pytest.raises(InputError, match="holds members of another study"):
        Study({"case": OPEN, "study": both(seed=1)}, tmp_path)
    Study({"case": OPEN, "study": both(seed=1)}, tmp_path, overwrite=True)
    with pytest.raises(InputError, match="holds members of another study"):
        Study({"case": OPEN, "study": both(seed=1, pack=2)}, tmp_path)


def test_a_study_of_a_changed_file_is_another_study(tmp_path):
    table = tmp_path / "inflow.csv"
    waveform = {"name": "waveform", "key": "openings.inlet.waveform.file", "values": ["inflow.csv", "inflow.csv"]}
    study = {"parameters": [waveform], "samples": 2}
    table.write_text("time_s,factor\n0.0,1.0\n1.0,2.0\n2.0,1.0\n")
    case = as_case(case_from_dict(OPEN, tmp_path), ["openings.inlet.waveform.file=inflow.csv"])
    Study({"case": case, "study": study}, tmp_path / "out")
    Study({"case": case, "study": study}, tmp_path / "out")
    table.write_text("time_s,factor\n0.0,1.0\n1.0,3.0\n2.0,1.0\n")
    with pytest.raises(InputError, match="contents of a file"):
        Study({"case": case, "study": study}, tmp_path / "out")


def test_answers_of_another_function_are_not_taken(tmp_path):
    def one(values):
        return {"y": values["inflow"]}

    def other(values):
        return {"y": 2.0 * values["inflow"]}

    Study({"study": both()}, tmp_path, model=one).run()
    with pytest.raises(InputError, match="holds members of another study"):
        Study({"study": both()}, tmp_path, model=other)


def test_to_begin_anew_leaves_no_state_to_go_on_from(tmp_path):
    case = {"case": changed(output={"checkpoint_every_steps": 20})}
    studies = [{**case, "study": both(seed=seed, keep_files=True) | {"samples": 1}} for seed in (0, 1)]
    Study(studies[0], tmp_path).run()
    member = tmp_path / "members" / "00000"
    assert list(member.glob("checkpoints/step_*.h5")) and (member / "summary.json").exists()
    Study(studies[1], tmp_path, overwrite=True)
    assert not [*member.glob("checkpoints/step_*.h5"), *member.glob("*.json")]


def test_an_answer_that_no_member_has_is_told_after_the_first(tmp_path):
    calls = []

    def model(values):
        calls.append(values)
        return {"y": 1.0, "column_m2.0": 0.0, "column_m2.1": 0.0}

    study = Study({"study": both(answers=["z*"])}, tmp_path, model=model)
    with pytest.raises(InputError, match=r"'z\*', which no member answers; there are: y, column_m2\.\*$"):
        study.run()
    assert len(calls) == 1


def test_a_full_disk_in_the_middle_loses_nothing(tmp_path, monkeypatch):
    whole, written = folders.write_text, []

    def full(path, text):
        if len(written) == 2:
            raise OutputError(f"cannot write {path}: No space left on device")
        written.append(path)
        whole(path, text)

    study = Study({"study": both()}, tmp_path, model=lambda values: {"y": values["inflow"]})
    monkeypatch.setattr(folders, "write_text", full)
    with pytest.raises(OutputError, match="No space left"):
        study.run()
    assert study.table.has_ended.sum() == 2
    monkeypatch.setattr(folders, "write_text", whole)
    study.run()
    assert study.table.has_ended.all()


def test_values_may_have_units_and_be_factors(tmp_path):
    inflow = INFLOW | {"uniform": ["1 mm/s", "2 mm/s"]}
    viscosity = VISCOSITY | {"normal": [1.0, 0.1], "relative": True, "within": [0.8, 1.2]}
    study = Study({"case": OPEN, "study": both(parameters=[inflow, viscosity], samples=40)}, tmp_path)
    cases = [study.members.case(number) for number in range(40)]
    assert all(1e-3 <= case.openings[0].velocity_m_s <= 2e-3 for case in cases)
    assert study.members.asked.title == "small channel"
    assert all(0.8e-5 <= case.fluid.kinematic_viscosity_m2_s <= 1.2e-5 for case in cases)


def test_a_deviation_in_degrees_is_a_difference(tmp_path):
    warm = {"name": "warm", "key": "thermal.reference_temperature_k", "normal": ["20 degC", "2 degC"]}
    section = Study({"study": both(parameters=[warm])}, tmp_path, model=lambda values: {"y": 1.0}).members.asked.section
    assert section.parameters[0].normal == (293.15, 2.0)


def test_a_study_beside_its_case_has_its_own_title(tmp_path):
    assert Study({"title": "mine", "case": OPEN, "study": both()}, tmp_path).members.asked.title == "mine"


def test_more_combinations_than_any_integer_holds_are_refused(tmp_path):
    many = [INFLOW | {"name": f"x{k}", "key": f"run.x{k}"} for k in range(32)]
    study = {"parameters": many, "sampler": "factorial", "levels": 4}
    with pytest.raises(InputError, match="are 18446744073709551616 members; at most 100000"):
        Study({"study": study}, tmp_path, model=lambda values: {"y": 1.0})


@pytest.mark.parametrize(("heading", "numbers"), [("speed", "0.001 0.003 0.002"), ("speed [mm/s]", "1 3 2")])
def test_measured_values_are_taken_from_their_file(tmp_path, heading, numbers):
    rows = "".join(f"patient,{number}\n" for number in numbers.split())
    (tmp_path / "seen.csv").write_text(f"patient,{heading}\n{rows}")
    measured = parameter(uniform=None, measured="seen.csv", column=heading)
    for sampler, wanted in (("list", [0.001, 0.003, 0.002]), ("latin-hypercube", None)):
        given = {**measured, "sampler": sampler} | ({"samples": 64} if wanted is None else {})
        given = given if wanted is None else {key: value for key, value in given.items() if key != "samples"}
        given["parameters"] = [measured["parameters"][0] | {"measured": str(tmp_path / "seen.csv")}]
        values = Study({"case": OPEN, "study": given}, tmp_path / sampler).members.design.values[:, 0].tolist()
        assert values == wanted or (wanted is None and min(values) == 0.001 and max(values) == 0.003)


def test_blocks_cover_the_image_once():
    crops = crops_of((9, 8, 10), 3)
    voxels = [
        (x, y, z)
        for (x0, y0, z0), (x1, y1, z1) in crops
        for x in range(x0, x1)
        for y in range(y0, y1)
        for z in range(z0, z1)
    ]
    assert len(crops) == 27 and len(set(voxels)) == len(voxels) == 9 * 8 * 10


def test_the_spread_is_told_of_each_number_of_blocks(tmp_path):
    """Of 4 and 5 blocks along each axis of 41 voxels, whose edges are 10 or 11, and 8 or 9 voxels."""
    crops = {count: crops_of((41, 41, 1), count) for count in (1, 4, 5)}
    parameter = ParameterSection(name="crop", key=CROP, blocks=(1, 4, 5))
    parameter = parameter.model_copy(update={"values": tuple(sum(crops.values(), []))})
    counts = counts_of(parameter, parameter.values)
    assert counts == [1] + [4] * 16 + [5] * 25


def test_a_single_run_leaves_the_study_beside_its_case_alone(tmp_path):
    path = tmp_path / "vessel.toml"
    path.write_text("\n".join(toml_lines({**changed(), "study": both()})) + "\n")
    assert load_case(path) == load_case(path, ["run.steps=60"])
    assert Study(path, tmp_path / "out").members.design.n_members == 4

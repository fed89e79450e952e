"""The command ``muphy-lb geometry --find-openings``."""

import tomllib

import numpy as np
import pytest

from muphy_lb.case.case import case_from_dict
from muphy_lb.geometry.__main__ import main
from muphy_lb.geometry.store import read_geometry
from muphy_lb.setup.geometry import load_nodes
from tests.unit.geometry.surfaces import tube
from tests.unit.geometry.test_surface import write_stl
from tests.vessel import changed


@pytest.fixture
def vessel(tmp_path):
    return str(write_stl(tmp_path / "tube.stl", tube(ends=("open", "flat"))))


def test_the_command_says_what_was_mended_and_found(vessel, capsys):
    assert main([vessel, "--unit", "mm", "--find-openings"]) == 0
    text = capsys.readouterr().out
    for part in ("NOT closed: 24 boundary edges", "1 open end closed with caps", "outlet_1", "[[openings]]"):
        assert part in text


def test_the_command_writes_toml_and_preview(vessel, tmp_path, capsys):
    words = ["--toml", str(tmp_path / "o.toml"), "--preview", str(tmp_path / "o.png")]
    assert main([vessel, "--unit", "mm", "--find-openings", *words]) == 0
    assert len(tomllib.loads((tmp_path / "o.toml").read_text())["openings"]) == 2
    assert (tmp_path / "o.png").stat().st_size > 10_000
    assert "[[openings]]" not in capsys.readouterr().out


def test_found_openings_are_taken_for_the_nodes(tmp_path):
    path = write_stl(tmp_path / "tube.stl", tube())
    words = ["--unit", "mm", "--spacing-m", "2e-4", "--find-openings"]
    assert main([str(path), str(tmp_path / "out.h5"), *words]) == 0
    assert [o.name for o in read_geometry(tmp_path / "out.h5").openings] == ["inlet", "outlet_1"]


def test_openings_of_an_image_are_found(tmp_path, capsys):
    flags = np.zeros((6, 7, 8), np.uint8)
    flags[2:4, 2:5] = 1
    np.save(tmp_path / "duct.npy", flags)
    assert main([str(tmp_path / "duct.npy"), "--spacing-m", "1e-3", "--find-openings"]) == 0
    assert "face of the box at low x" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "OUT.h5 is missing"),
        (["out.h5", "--preview", "a.png"], "--toml and --preview need --find-openings"),
        (["--find-openings"], "needs the option unit"),
        (["--find-openings", "--unit", "ell"], "unit is 'ell'"),
        (["--find-openings", "--unit", "mm", "--dtype", "uint8"], "unknown name 'dtype'"),
    ],
)
def test_bad_words_are_one_line_and_exit_code_two(vessel, capsys, words, text):
    try:
        code = main([vessel, *words])
    except SystemExit as stop:
        code = stop.code
    error = capsys.readouterr().err
    assert (code, error.count("\n")) == (2, 1)
    assert text in error


@pytest.mark.parametrize("option", ["--toml", "--preview"])
def test_a_file_that_cannot_be_written_is_one_line_and_exit_code_four(vessel, capsys, option):
    assert main([vessel, "--find-openings", "--unit", "mm", option, "no/such/folder.png"]) == 4
    error = capsys.readouterr().err
    assert "cannot write no/such/folder.png" in error and error.count("\n") == 1


def test_an_end_without_an_opening_is_warned_of_by_the_command_and_by_a_run(vessel, tmp_path, capsys, caplog):
    main([vessel, "--unit", "mm", "--find-openings", "--toml", str(tmp_path / "o.toml")])
    one, _ = tomllib.loads((tmp_path / "o.toml").read_text())["openings"]
    words = " ".join(f"{key}={_word(one[key])}" for key in ("name", "kind", "centre_m", "normal", "radius_m"))
    assert main([vessel, str(tmp_path / "out.h5"), "--unit", "mm", "--spacing-m", "2e-4", "--opening", words]) == 0
    assert "has no opening: it is a wall now" in capsys.readouterr().out
    table = changed(geometry={"file": vessel, "unit": "mm", "spacing_m": 2e-4, "shape": None, "options": None})
    with caplog.at_level("INFO", "muphy_lb"):
        load_nodes(case_from_dict(table | {"openings": [one]}))
    assert "2 ends of the input: opened by inlet; 1 without an opening" in caplog.text
    assert "has no opening: it is a wall now" in caplog.text


def _word(value):
    return ",".join(map(str, value)) if isinstance(value, list) else value

"""Text of users stays text: no formula in pictures, no escape sequence on terminals, no formula in a spreadsheet."""

import warnings

import numpy as np
import pytest

from muphy_lb.base.errors import InputError, OutputError, printable
from muphy_lb.bench.plots import Plane, draw_speed, draw_split
from muphy_lb.case.case import case_from_dict
from muphy_lb.geometry.openings.find import openings_of_voxels
from muphy_lb.geometry.openings.preview import draw_voxel_openings
from muphy_lb.geometry.voxels import FLUID, Opening, Voxels
from muphy_lb.output.charts import line_chart
from muphy_lb.output.drawing import drawing
from muphy_lb.output.pictures.vessel import draw_vessel
from muphy_lb.output.terminal import _make_warnings_printable, _PrintableFormatter, show_held_warnings
from tests.unit.output.conftest import node_list
from tests.vessel import TABLE, changed

BAD_FORMULA, PNG = r"$\undefined{$", b"\x89PNG"


def test_a_formula_in_a_title_or_a_name_is_drawn_as_it_is(tmp_path):
    opening = Opening(BAD_FORMULA, "inlet", (0.1, 0.205, 0.3), (1, 0, 0))
    nodes = node_list(np.ones((1, 10, 20), dtype=bool), openings=(opening,))
    draw_vessel(tmp_path / "a.png", nodes, np.ones(nodes.n_nodes), BAD_FORMULA)
    assert (tmp_path / "a.png").read_bytes()[:4] == PNG


def test_a_formula_in_a_chart_is_drawn_as_it_is():
    line = np.arange(3.0), np.arange(3.0)
    assert line_chart(BAD_FORMULA, "time [s]", "x", {BAD_FORMULA: line, "b": line})[:4] == PNG


def test_a_formula_in_the_title_of_a_study_is_drawn_as_it_is(tmp_path):
    draw_speed(tmp_path / "a.png", Plane(np.ones((2, 2, 3)), np.arange(2.0), np.arange(2.0), 1.0), BAD_FORMULA)
    draw_split(tmp_path / "b.png", {}, BAD_FORMULA)
    assert all((tmp_path / name).read_bytes()[:4] == PNG for name in ("a.png", "b.png"))


def test_a_formula_in_the_name_of_a_file_is_drawn_as_it_is(tmp_path):
    voxels = Voxels(np.full((1, 7, 8), FLUID, np.uint8), 1e-3)
    draw_voxel_openings(tmp_path / "a.png", voxels, openings_of_voxels(voxels), BAD_FORMULA)
    assert (tmp_path / "a.png").read_bytes()[:4] == PNG


def test_a_picture_that_cannot_be_drawn_is_a_warning(caplog):
    with drawing("picture.png"):
        raise ValueError("no such colour")
    assert caplog.messages == ["warning: picture.png cannot be drawn: ValueError: no such colour"]


def test_a_picture_that_cannot_be_written_is_an_error():
    with pytest.raises(OutputError, match="full"), drawing("picture.png"):
        raise OutputError("the disk is full")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Größe 5 µm · $x^2$ 'a' \\ b\n\tc", "Größe 5 µm · $x^2$ 'a' \\ b\n\tc"),
        ("\x1b[31mred\x1b]0;title\x07", r"\x1b[31mred\x1b]0;title\x07"),
        ("gone\rhere\x08\x7f\x9b2J", r"gone\rhere\x08\x7f\x9b2J"),
        ("a\u202eb\udcff", r"a\u202eb\udcff"),
    ],
    ids=["plain", "escape sequence", "control", "direction and surrogate"],
)
def test_what_cannot_be_printed_is_spelt(text, shown):
    assert printable(text) == shown


def test_what_is_logged_can_be_printed(caplog):
    caplog.handler.setFormatter(_PrintableFormatter())
    with drawing("\x1b[2J"):
        raise ValueError
    assert caplog.text.startswith(r"warning: \x1b[2J cannot be drawn")


def test_warnings_of_libraries_can_be_printed(monkeypatch):
    for name in ("formatwarning", "showwarning"):
        monkeypatch.setattr(warnings, name, getattr(warnings, name))
    _make_warnings_printable()
    assert warnings.formatwarning("no glyph \x1b", UserWarning, "file.py", 7) == (
        "file.py:7: UserWarning: no glyph \\x1b\n"
    )


def test_numbers_that_overflow_are_told_last(monkeypatch):
    shown = []
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
    monkeypatch.setattr(warnings, "showwarning", lambda *warning: shown.append(warning[1]))
    _make_warnings_printable()
    warnings.warn("overflow encountered in square", RuntimeWarning, stacklevel=1)
    warnings.warn("deprecated", UserWarning, stacklevel=1)
    assert shown == [UserWarning]
    show_held_warnings()
    assert shown == [UserWarning, RuntimeWarning]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "a\n", "../"])
@pytest.mark.parametrize("section", ["openings", "walls", "probes"])
def test_no_name_of_a_case_begins_a_formula_leaves_its_line_or_its_folder(section, start):
    entry = {"openings": TABLE["openings"][0], "walls": {}, "probes": {"point_m": [0.0, 0.0, 0.0]}}[section]
    with pytest.raises(InputError, match=rf"(?s){section}.*name is .*must be letters, digits, _ and -"):
        case_from_dict(changed(**{section: [entry | {"name": f"{start}SUM(1)"}]}))

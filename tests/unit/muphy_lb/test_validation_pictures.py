"""Plots and pictures of a validation case reach the page; only what is data reaches the JSON."""

import json

from muphy_lb.validation.case import Validation
from muphy_lb.validation.plot import Picture, Plot, Series, draw
from muphy_lb.validation.report import as_json, write_report

PNG = b"\x89PNG"
BARS = Plot("Split", "", "share", tuple(Series(n, (0, 1), (0.5, 0.6), "bars") for n in "ab"), ticks=("flow", "area"))
OUTCOME = Validation("vessel", "c", plots=(Picture("Walls", PNG + b"walls"), BARS))


def test_a_picture_is_drawn_as_it_is():
    assert draw(OUTCOME.plots[0]) == PNG + b"walls"


def test_bars_are_drawn_and_look_unlike_points():
    points = Plot("Split", "", "share", tuple(Series(s.name, s.x, s.y, "points") for s in BARS.series))
    assert draw(BARS).startswith(PNG) and draw(BARS) != draw(points)


def test_the_page_holds_pictures_and_plots(tmp_path):
    page = write_report(tmp_path, [OUTCOME]).read_text()
    assert 'alt="Walls"' in page and 'alt="Split"' in page
    assert (tmp_path / "vessel-1.png").read_bytes() == PNG + b"walls"


def test_json_holds_plots_but_no_pictures():
    (record,) = json.loads(as_json([OUTCOME]))
    assert [plot["title"] for plot in record["plots"]] == ["Split"]

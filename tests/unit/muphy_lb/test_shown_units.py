"""The units in which charts and colour bars tell values."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from muphy_lb.output.drawing import shown_unit
from muphy_lb.output.pictures.panels import draw_scale_in_unit, fill_curves
from muphy_lb.output.pictures.theme import DARK, ThemedFigure


@pytest.mark.parametrize(
    ("unit", "top", "shown"),
    [
        ("m/s", 0.2, ("m/s", 1.0)),
        ("m/s", 3e-6, ("µm/s", 1e-6)),
        ("Pa", 13332.0, ("kPa", 1e3)),
        ("m^3/s", 9e-7, ("mL/s", 1e-6)),
        ("K", 1e-9, ("K", 1.0)),
        ("Pa", 0.0, ("µPa", 1e-6)),
    ],
)
def test_values_are_told_in_a_unit_that_suits_the_largest(unit, top, shown):
    assert shown_unit(unit, top) == shown


@pytest.mark.parametrize(
    ("low", "high", "unit", "label"),
    [(0.0, 5e-6, "m/s", "flow [µm/s]"), (1059.8, 1060.2, "kg/m3", "flow [kg/m3]"), (-0.5, 0.5, "1", "flow")],
)
def test_numbers_of_a_colour_bar_tell_values_apart(low, high, unit, label):
    figure = ThemedFigure(DARK)
    FigureCanvasAgg(figure)
    figure.subplots()
    bar = draw_scale_in_unit(figure, ScalarMappable(Normalize(low, high)), "flow", unit)
    figure.canvas.draw()
    numbers = [text.get_text() for text in bar.ax.get_yticklabels()]
    size = shown_unit(unit, max(abs(low), abs(high)))[1]
    assert bar.ax.get_ylabel() == label
    assert len(set(numbers)) == len(numbers) >= 4
    assert np.allclose([float(number) * size for number in numbers], bar.get_ticks(), rtol=1e-9)


def test_curves_are_named_by_what_tells_them_apart():
    figure, time_s = Figure(), np.linspace(0.0, 1.0, 5)
    series = {
        "step": time_s,
        "time_s": time_s,
        "in_flow_rate_m3_s": 2e-6 * time_s,
        "out_1_flow_rate_m3_s": 1e-6 * time_s,
    }
    fill_curves(figure, series, "title")
    (axes,) = figure.axes
    assert axes.get_ylabel() == "flow rate [mL/s]"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["in", "out_1"]
    assert axes.lines[0].get_ydata()[-1] == pytest.approx(2.0)

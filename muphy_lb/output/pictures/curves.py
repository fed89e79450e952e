"""A series as a figure: a panel for each unit, a line for each column."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from muphy_lb.base.key_units import name_without_unit, unit_of
from muphy_lb.output.drawing import MOST_NAMES, shown_unit
from muphy_lb.output.pictures.marks import style_axes
from muphy_lb.output.pictures.panels import HEADER_IN, WIDTH_IN, draw_heading
from muphy_lb.output.pictures.theme import theme_of

PANEL_IN, FOOT_IN = 2.8, 0.7
CURVE_SIDES = {"left": 0.08, "right": 0.8, "hspace": 0.25}


def fill_curves(
    figure: Figure, series: Mapping[str, np.ndarray], title: str, facts: tuple[str, ...] = (), over: str = "time_s"
) -> None:
    """Draw the columns of a series over one of them on an empty figure.

    Args:
        figure: empty.
        series: columns by name, which ends in the unit; ``step`` and those without a finite value are left out.
        title, facts: heading, and the line below it.
        over: the column, a time in seconds, over which the others are drawn.
    """
    told = {name: y for name, y in series.items() if name not in ("step", over) and np.isfinite(y).any()}
    groups: dict[str, list[str]] = {}
    for name in told:
        groups.setdefault(unit_of(name, {}) or "1", []).append(name)
    height_in = PANEL_IN * len(groups) + HEADER_IN + FOOT_IN
    figure.set_size_inches(WIDTH_IN, height_in)
    panels = figure.subplots(len(groups), 1, sharex=True, squeeze=False)[:, 0]
    figure.subplots_adjust(bottom=FOOT_IN / height_in, top=1.0 - HEADER_IN / height_in, **CURVE_SIDES)
    across = f"{name_without_unit(over).replace('_', ' ')} [s]"
    for axes, (unit, names) in zip(panels, groups.items(), strict=True):
        shown, size = shown_unit(unit, max(float(np.nanmax(np.abs(told[name]))) for name in names))
        quantity, labels = _worded(names)
        for name, label in zip(names, labels, strict=True):
            axes.plot(series[over], told[name] / size, label=label, linewidth=1.5)
        of_unit = "" if unit == "1" else f" [{shown}]"
        style_axes(axes, [across if axes is panels[-1] else "", f"{quantity}{of_unit}".strip()])
        axes.grid(color=theme_of(axes).shadow, linewidth=0.8)
        if len(names) <= MOST_NAMES:
            words = {"labelcolor": theme_of(axes).foreground, "frameon": False, "fontsize": 9}
            legend = axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), **words)
            for text in legend.get_texts():
                text.set_parse_math(False)
    draw_heading(figure, title, facts)


def _worded(names: Sequence[str]) -> tuple[str, list[str]]:
    """What columns of one unit have in common, in words, and what tells them apart: ``inlet_flow_rate_m3_s`` and
    ``outlet_flow_rate_m3_s`` are flow rates of inlet and outlet."""
    words = [name_without_unit(name).split("_") for name in names]
    n_common = 0
    while all(len(each) > n_common + 1 for each in words) and len({each[-1 - n_common] for each in words}) == 1:
        n_common += 1
    split = [len(each) - n_common for each in words]
    labels = ["_".join(each[:n]) for each, n in zip(words, split, strict=True)]
    return " ".join(words[0][split[0] :]), labels

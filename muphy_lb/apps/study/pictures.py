"""Pictures of a study as PNG: a tornado of the indices, the answer over each parameter, the band over the number of
members."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from muphy_lb.apps.study.answers import Answer, band_of
from muphy_lb.apps.study.maps import PICTURE, Maps
from muphy_lb.apps.study.spread import Spread, spreads
from muphy_lb.apps.study.table import Table
from muphy_lb.base.key_units import is_number
from muphy_lb.output.charts import png_of
from muphy_lb.output.drawing import drawing

TOTAL, FIRST, VALUES = "#9db8d9", "#2f5d8c", "#2f5d8c"
MOST_COLUMNS = 3
MOST_KINDS = 8
CONVERGENCE_POINTS = 12
FEWEST = 4  # members from which on a band is drawn


def pictures(answer: Answer, table: Table) -> list[tuple[str, bytes]]:
    """Titles and pictures of an answer: without indices no tornado; over blocks of several sizes their spread alone."""
    values = table.answers[answer.name]
    if len(found := spreads(table, answer.name)) > 1:
        return [(f"{answer.name} and the size of blocks", _over_blocks(answer.name, found))]
    drawn = [(f"{answer.name} over each parameter", _scatter(answer.name, values, table))]
    if answer.indices:
        drawn.insert(0, (f"{answer.name}: shares of the variance", _tornado(answer)))
    if np.isfinite(values[table.members.design.independent]).sum() > FEWEST:
        drawn.append((f"{answer.name}: band and number of members", _convergence(answer.name, values, table)))
    return drawn


def map_pictures(maps: Maps, folder: Path) -> Iterator[tuple[str, bytes]]:
    """Titles and pictures of the wall, coloured by the mean of each of its fields and by the width of its band over
    it; they are written to the folder, too."""
    from muphy_lb.output.pictures.wall import Marks, draw_walls  # slow to import

    for each in maps.found:
        mean, _, low, high = each.statistics
        with np.errstate(divide="ignore", invalid="ignore"):
            width = np.where(mean > 0.0, (high - low) / mean, np.nan)
        name = each.name.replace("_", " ")
        for kind, values, text in (
            ("mean", mean, f"{name}, mean of all members [{each.unit}]"),
            ("width", width, f"{name}, width of the 95 % band over the mean"),
        ):
            path = folder / PICTURE.format(each.name, kind)
            with drawing(path.name):
                draw_walls(path, maps.nodes, values, text, Marks(counted=np.isfinite(values) & (each.weight > 0.0)))
                yield text, path.read_bytes()


def _tornado(answer: Answer) -> bytes:
    ordered = sorted(answer.indices, key=lambda index: index.total)

    def draw(axes) -> None:
        for row, index in enumerate(ordered):
            for offset, value, bar, colour, label in (
                (0.2, index.total, index.total_bar, TOTAL, "total"),
                (-0.2, index.first, index.first_bar, FIRST, "first order"),
            ):
                spread = np.abs(np.array(bar) - value)[:, None]
                axes.barh(row + offset, value, 0.38, color=colour, label=None if row else label, xerr=spread, capsize=3)
        axes.set_yticks(range(len(ordered)), [index.factor for index in ordered])
        axes.set_xlim(0.0, max(1.0, *(index.total_bar[1] for index in ordered)))
        axes.set_xlabel("share of the variance, with 95 % bars")
        axes.set_title(answer.name, parse_math=False, fontsize=10)
        axes.legend(loc="lower right", fontsize=8)

    return png_of((6.4, 1.4 + 0.5 * len(ordered)), draw)


def _scatter(name: str, values: np.ndarray, table: Table) -> bytes:
    design = table.members.design
    sample = design.independent[np.isfinite(values[design.independent])]
    n_columns = min(MOST_COLUMNS, len(design.names))
    n_rows = -(-len(design.names) // n_columns)

    def draw(all_axes) -> None:
        for k, (axes, parameter) in enumerate(zip(np.ravel(all_axes), design.names, strict=False)):
            column = [design.values[member, k] for member in sample]
            if all(map(is_number, column)):
                axes.plot(column, values[sample], ".", color=VALUES, alpha=0.6)
                axes.ticklabel_format(axis="x", style="sci", scilimits=(-2, 4))
                axes.locator_params(axis="x", nbins=5)
            else:
                kinds = {text: place for place, text in enumerate(dict.fromkeys(map(str, column)))}
                axes.plot([kinds[str(value)] for value in column], values[sample], ".", color=VALUES, alpha=0.6)
                shown = list(kinds) if len(kinds) <= MOST_KINDS else []
                axes.set_xticks(range(len(shown)), [text[-16:] for text in shown], rotation=20, fontsize=7)
            axes.set_xlabel(parameter)
            axes.grid(alpha=0.3)
        for axes in np.ravel(all_axes)[len(design.names) :]:
            axes.set_axis_off()
        np.ravel(all_axes)[0].set_ylabel(name, fontsize=8, parse_math=False)

    return png_of((3.1 * n_columns + 0.6, 2.7 * n_rows), draw, n_rows, n_columns)


def _convergence(name: str, values: np.ndarray, table: Table) -> bytes:
    drawn = values[table.members.design.independent]
    drawn = drawn[np.isfinite(drawn)]
    counts = np.unique(np.geomspace(FEWEST, drawn.size, CONVERGENCE_POINTS).astype(np.int64))
    bands = [band for n in counts if (band := band_of(drawn[:n])) is not None]
    n = [band.n for band in bands]

    def draw(axes) -> None:
        for end, error in (("low", "low_error"), ("mean", "mean_error"), ("high", "high_error")):
            middle, spread = (np.array([getattr(band, key) for band in bands]) for key in (end, error))
            axes.plot(n, middle, color=VALUES, marker=".", linestyle="-" if end == "mean" else "--")
            axes.fill_between(n, middle - spread, middle + spread, color=TOTAL, alpha=0.5, linewidth=0)
        axes.set_xscale("log")
        axes.set_xticks([n[0], n[len(n) // 2], n[-1]], [str(n[k]) for k in (0, len(n) // 2, -1)])
        axes.minorticks_off()
        axes.set_xlabel("number of members")
        axes.set_ylabel(name, fontsize=8, parse_math=False)
        axes.set_title("mean and ends of the 95 % band, with their standard errors", fontsize=9)
        axes.grid(alpha=0.3)

    return png_of((6.4, 3.4), draw)


def _over_blocks(name: str, found: list[Spread]) -> bytes:
    """Mean and spread over blocks of each size: the curve by which a representative volume is judged."""
    edge, mean, deviation = (np.array([getattr(each, key) for each in found]) for key in ("edge", "mean", "deviation"))

    def draw(axes) -> None:
        axes.errorbar(edge, mean, yerr=deviation, color=VALUES, marker="o", capsize=4)
        for each in found:
            axes.annotate(f"  {each.n} blocks" if each.n > 1 else "  1 block", (each.edge, each.mean), fontsize=8)
        axes.set_xlabel("edge of a block [voxels]")
        axes.set_ylabel(name, fontsize=8, parse_math=False)
        axes.set_title("mean and standard deviation over blocks of one size", fontsize=9)
        axes.grid(alpha=0.3)

    return png_of((6.4, 3.4), draw)

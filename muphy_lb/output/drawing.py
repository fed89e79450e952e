"""Drawing: pictures only show what other files hold; their units, small charts, and films.

- Pictures only show what other files hold: one that cannot be drawn is a warning.
- The units in which pictures, charts and pages tell what is computed in SI.
- Small line charts as PNG bytes.
- A film of pictures: an animated GIF, written picture by picture, so that only two of them are ever in memory.
"""

import io
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

import numpy as np
from PIL import GifImagePlugin, Image, ImageChops

from muphy_lb.base.errors import OutputError
from muphy_lb.base.files.atomic import atomic_write

VECTOR_FORMATS = ("svg", "pdf")
"""In which a picture may be written beside its PNG."""

PICTURE_FORMATS = ("png", *VECTOR_FORMATS)
"""In which a picture may be drawn anew."""

FRAMES_FOLDER = "frames"
LOG = logging.getLogger(__name__)


@contextmanager
def drawing(what: str) -> Iterator[None]:
    """Context in which a picture is drawn; what goes wrong there is told, and the run goes on.

    Args:
        what: the picture, for the warning.

    Raises:
        OutputError: as the block raises it, such as where the disk is full.
    """
    try:
        yield
    except OutputError:
        raise
    except Exception as error:  # matplotlib has no type of its own for what it cannot draw
        LOG.warning("warning: %s cannot be drawn: %s: %s", what, type(error).__name__, error)


def frame_files(name: str) -> str:
    """Pattern of the pictures ``NAME_STEP.png`` that a run draws on its way."""
    return f"{FRAMES_FOLDER}/{name}_*.png"


def picture_files(file: str) -> tuple[str, ...]:
    """The files that a picture may have: ``NAME.png``, and the same in other formats."""
    return file, *(file.removesuffix("png") + ending for ending in VECTOR_FORMATS)


Units = tuple[tuple[str, float], ...]
"""Names of units of one quantity and their sizes [SI], the largest first."""

LENGTH_UNITS: Units = (("m", 1.0), ("mm", 1e-3), ("µm", 1e-6), ("nm", 1e-9))
SMALLEST_LENGTH = 1.0
"""The smallest value that is told in a unit."""
SPEED_UNITS: Units = (("m/s", 1.0), ("mm/s", 1e-3), ("µm/s", 1e-6))
SMALLEST_SPEED = 0.01
PRESSURE_UNITS: Units = (("kPa", 1e3), ("Pa", 1.0), ("mPa", 1e-3), ("µPa", 1e-6))
FLOW_RATE_UNITS: Units = (("m³/s", 1.0), ("L/s", 1e-3), ("mL/s", 1e-6), ("µL/s", 1e-9), ("nL/s", 1e-12))
UNITS: Mapping[str, tuple[Units, float]] = MappingProxyType(
    {
        "m/s": (SPEED_UNITS, SMALLEST_SPEED),
        "Pa": (PRESSURE_UNITS, 1.0),
        "m3/s": (FLOW_RATE_UNITS, 0.1),
    }
)
"""Units and the smallest value that is told in one, by SI unit."""


def suitable_unit(units: Units, value: float, smallest: float) -> tuple[str, float]:
    """(name, size) of the largest unit in which ``value`` is at least ``smallest``, else the smallest unit."""
    return next((row for row in units if value >= smallest * row[1]), units[-1])


def shown_unit(unit: str, top: float) -> tuple[str, float]:
    """(name, size [SI]) of the unit in which values up to ``top`` are told; their own where it has no others.

    Args:
        unit: their SI unit, such as ``"m/s"``.
        top: the largest magnitude of the values [SI].
    """
    units, smallest = UNITS.get(unit.replace("^", ""), (((unit, 1.0),), 0.0))
    return suitable_unit(units, top, smallest)


SIZE_IN, DPI = (6.4, 3.8), 110
MOST_NAMES = 12
MOST_POINTS = 4000


def line_chart(title: str, x_label: str, y_label: str, lines: Mapping[str, tuple], log: bool = False) -> bytes:
    """One chart.

    Args:
        title, x_label, y_label: words around it.
        lines: (x, y) arrays by name; values that are not finite leave gaps.
        log: logarithmic scale upwards, of what is positive.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # slow to import, and needed only at the end of a run
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE_IN, dpi=DPI, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.subplots()
    for name, (x, y) in lines.items():
        stride = -(-len(x) // MOST_POINTS) or 1
        y = np.asarray(y, dtype=np.float64)
        shown = np.where(np.isfinite(y) & ((y > 0.0) | (not log)), y, np.nan)
        axes.plot(x[::stride], shown[::stride], label=name, marker="." if len(x) < 30 else None, linewidth=1.4)
    if log and any(np.nanmax(line.get_ydata(), initial=0.0) > 0.0 for line in axes.lines):
        axes.set_yscale("log")
    axes.set(xlabel=x_label, ylabel=y_label)
    axes.set_title(title, parse_math=False)
    axes.grid(alpha=0.3)
    if 1 < len(lines) <= MOST_NAMES:
        for name in axes.legend(fontsize=8).get_texts():
            name.set_parse_math(False)
    buffer = io.BytesIO()
    canvas.print_png(buffer)
    return buffer.getvalue()


WIDTH, FRAME_MS, LAST_MS = 960, 100, 1000
"""Width [pixels], and how long a picture and the last one stay [ms]."""

SAMPLES, N_COLOURS = 3, 256
"""Pictures from which the colours of all are chosen: the same in all, so that what rests does not flicker."""


def write_film(path: str | os.PathLike, pictures: Sequence[Path]) -> None:
    """Write pictures of one size as an animated GIF that repeats for ever.

    Args:
        path: the GIF.
        pictures: image files in order, at least one.

    Raises:
        OutputError: the file cannot be written.
    """
    first = _picture(pictures[0])
    palette = _palette([pictures[i * (len(pictures) - 1) // (SAMPLES - 1)] for i in range(SAMPLES)], first.size)
    shown = _in_colours(first, palette)
    with atomic_write(path) as temporary, open(temporary, "wb") as file:
        file.writelines(GifImagePlugin.getheader(shown.copy(), info={"loop": 0, "optimize": False})[0])
        _append(file, shown, (0, 0), pictures, 0)
        for number, (_, name) in enumerate(pairwise(pictures), 1):
            before, shown = shown, _in_colours(_picture(name, first.size), palette)
            changed = ImageChops.difference(before.convert("RGB"), shown.convert("RGB")).getbbox() or (0, 0, 1, 1)
            _append(file, shown.crop(changed), changed[:2], pictures, number)
        file.write(b";")


def _append(file, image: Image.Image, corner: tuple[int, int], pictures: Sequence[Path], number: int) -> None:
    """Write the part of a picture that differs from the one before."""
    stays_ms = LAST_MS if number == len(pictures) - 1 else FRAME_MS
    file.writelines(GifImagePlugin.getdata(image, corner, duration=stays_ms, disposal=1))


def _picture(path: Path, size: tuple[int, int] | None = None) -> Image.Image:
    """A picture in RGB, as wide as the film."""
    with Image.open(path) as image:
        wanted = size or (WIDTH, max(round(image.height * WIDTH / image.width), 1))
        return image.convert("RGB").resize(wanted, Image.Resampling.LANCZOS)


def _palette(pictures: Sequence[Path], size: tuple[int, int]) -> Image.Image:
    """An image that holds the colours of some pictures."""
    together = Image.new("RGB", (size[0], size[1] * len(pictures)))
    for number, path in enumerate(pictures):
        together.paste(_picture(path, size), (0, number * size[1]))
    return together.quantize(N_COLOURS, Image.Quantize.FASTOCTREE)


def _in_colours(image: Image.Image, palette: Image.Image) -> Image.Image:
    return image.quantize(palette=palette, dither=Image.Dither.NONE)

"""A film of pictures: an animated GIF, written picture by picture, so that only two of them are ever in memory."""

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from PIL import GifImagePlugin, Image, ImageChops

from muphy_lb.base.files.atomic import atomic_write

WIDTH, FRAME_MS, LAST_MS = 960, 100, 1000  # width [pixels], and how long a picture and the last one stay [ms]

SAMPLES, N_COLOURS = 3, 256
"""Pictures from which the colours of all are chosen: the same in all, so that what rests does not flicker."""


def write_film(path: str | os.PathLike, pictures: Sequence[Path]) -> None:
    """Write pictures of one size as an animated GIF that repeats for ever. ``pictures``: image files in order, at least
    one. Raises OutputError: the file cannot be written."""
    first = _picture(pictures[0])
    together = Image.new("RGB", (first.width, first.height * SAMPLES))
    for i in range(SAMPLES):
        sample = _picture(pictures[i * (len(pictures) - 1) // (SAMPLES - 1)], first.size)
        together.paste(sample, (0, i * first.height))
    palette = together.quantize(N_COLOURS, Image.Quantize.FASTOCTREE)
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
    with Image.open(path) as image:
        wanted = size or (WIDTH, max(round(image.height * WIDTH / image.width), 1))
        return image.convert("RGB").resize(wanted, Image.Resampling.LANCZOS)


def _in_colours(image: Image.Image, palette: Image.Image) -> Image.Image:
    return image.quantize(palette=palette, dither=Image.Dither.NONE)

"""Lists of spheres, shapes and options of readers with hostile numbers."""

import inspect
import random
from functools import partial

from muphy_lb.geometry.images.rule import ImageRule
from muphy_lb.geometry.load import LOADERS, option_names
from muphy_lb.geometry.porous.preparation import PREPARATION_NAMES
from muphy_lb.geometry.shapes.catalogue import SHAPES
from tests.fuzz import hostile
from tests.fuzz.damages import Damage
from tests.fuzz.samples import BY_NAME, EDGE, Sample
from tests.fuzz.tables import ANY

LIST = BY_NAME["pack.xyz"]
RULE = tuple(ImageRule.__dataclass_fields__)
READERS = {"image.mha": RULE, "image.npy": RULE, "pack.xyz": (), "box.stl": (), "duct.gmy": (), "vessel.tags": ()}


def sphere_list(draw: random.Random) -> Damage:
    """A list of spheres with hostile numbers, too many or too large spheres, or mangled bytes."""
    if draw.random() < 0.3:
        return Damage(LIST, "mangled", partial(hostile.mangle, seed=draw.random()), ANY)
    n, reach = draw.choice((1, 4, 4, 30, 3000, 20000)), draw.choice((0.1, 0.4, 0.4, 3.0, 1e3, 1e9))
    rows = [[f"{draw.uniform(0, 2):.4g}" for _ in range(3)] + [f"{reach * draw.random():.4g}"] for _ in range(n)]
    for _ in range(draw.choice((0, 1, 1, 3))):
        row = draw.choice(rows)
        row[draw.randrange(len(row))] = draw.choice((*[hostile.number(draw)] * 6, draw.choice(hostile.NUMBERS), "²"))
    text = draw.choice(("\n", "\n", "\r", "\r\n")).join(map(draw.choice((" ", " ", ",", "\t", ";")).join, rows))
    spacing = draw.choice(("0.1", "0.1", "0.02", "1e-9", "1e9", hostile.number(draw)))
    return Damage(
        LIST,
        f"{n} spheres up to {reach}",
        lambda path: path.write_text(text, newline=""),
        ANY,
        ("--spacing-m", spacing),
    )


def shape(draw: random.Random) -> Damage:
    """A shape with one to three hostile options."""
    name = draw.choice(tuple(SHAPES))
    sample = Sample(f"shape:{name}", lambda folder: None, target=f"shape:{name}")
    names = tuple(inspect.signature(SHAPES[name]).parameters)
    chosen = draw.sample(names, min(len(names), draw.choice((1, 1, 2, 3))))
    words = [f"{one}={hostile.value(draw)}" for one in chosen]
    options = [part for word in words for part in ("--shape-option", word)]
    return Damage(sample, " ".join(words)[:60], lambda path: None, ANY, (*EDGE, *options))


def reader_option(draw: random.Random) -> Damage:
    """A whole input with a hostile option of its reader or of the preparation."""
    name = draw.choice(tuple(READERS))
    sample = BY_NAME[name]
    own = tuple(option_names(LOADERS["." + name.split(".")[-1]]))
    key = draw.choice((*own, *READERS[name], *PREPARATION_NAMES))
    word = f"{key}={hostile.value(draw)}"
    return Damage(sample, word[:60], lambda path: None, ANY, (*sample.options, "--shape-option", word))


def opening_words(draw: random.Random) -> Damage:
    """An opening or a label in words of the command line."""
    sample = BY_NAME["image.mha"]
    number = partial(hostile.number, draw)
    text = draw.choice(("name", "in²", "a b", "'open", "x" * 300, "=A1", "inlet"))
    option, words = draw.choice(
        (
            ("--opening", f"name={text} kind=inlet centre_m={number()},1,1 normal=0,0,{number()} radius_m={number()}"),
            ("--opening", f"name={text} kind=inlet centre_m=nan,1,1 normal=0,{draw.choice(hostile.NUMBERS[:30])},1"),
            ("--opening-value", f"inlet:{text}={draw.choice(('²', '1', '2', '--1', '9' * 5000, '', number()))}"),
            ("--wall-value", f"{text}={draw.choice(('²', '1', '2', '--1', '9' * 5000, '', number()))}"),
        )
    )
    return Damage(sample, f"{option} {words[:60]}", lambda path: None, ANY, (option, words))

"""The way to launch stream-and-collide that is fastest on this card: timed once, then remembered.

All ways give the same bits; which is fastest depends on the card, the collision and the number formats. The result is
kept in ``tuning.json`` in the user's cache folder (``MUPHY_CACHE``, else ``XDG_CACHE_HOME/muphy_lb``, else
``~/.cache/muphy_lb``); removing the file makes the next run time them again.
"""

import json
import logging
import os
import time
from pathlib import Path

from muphy_lb import __version__
from muphy_lb.engine.engine import Engine
from muphy_lb.files.atomic import write_text

log = logging.getLogger(__name__)

# Below this the differences are smaller than their scatter.
FEWEST_NODES = 1 << 20
STEPS = 6
REPETITIONS = 3


def tune(engine: Engine) -> None:
    """Let an engine launch in the fastest way; small domains and devices without a choice keep the usual one."""
    shapes = engine.backend.launch_shapes(engine.addresses.patterns[0])
    if len(shapes) < 2 or engine.domain.n_nodes - engine.domain.n_edge < FEWEST_NODES:
        return
    path, key = cache_folder() / "tuning.json", _key(engine)
    known = _read(path)
    by_name = {_name(shape): shape for shape in shapes}
    if known.get(key) not in by_name:
        rates = {name: _rate(engine, shape) for name, shape in by_name.items()}
        known = _read(path) | {key: max(rates, key=rates.get)}
        log.info("timed on this card, MFLUPS: %s", ", ".join(f"{name} {rate:.0f}" for name, rate in rates.items()))
        _write(path, known)
    engine.use_shape(by_name[known[key]])


def cache_folder() -> Path:
    """Where results are kept."""
    given, xdg = os.environ.get("MUPHY_CACHE"), os.environ.get("XDG_CACHE_HOME")
    return Path(given) if given else (Path(xdg) if xdg else Path.home() / ".cache") / "muphy_lb"


def _key(engine: Engine) -> str:
    model = engine.model
    what = (model.lattice.name, model.collision.name, model.streaming.name, engine.precision.name)
    return " | ".join((__version__, engine.backend.device, *what))


def _name(shape) -> str:
    return f"{shape.threads} {shape.block}"


def _rate(engine: Engine, shape) -> float:
    """Million node updates per second of the interior."""
    launches = engine.interior_launches(shape)
    synchronise = engine.backend.synchronise
    seconds = []
    for _ in range(1 + REPETITIONS):  # the first one compiles
        synchronise()
        before = time.perf_counter()
        for k in range(STEPS):
            launches[k % 2]()
        synchronise()
        seconds.append(time.perf_counter() - before)
    return STEPS * (engine.domain.n_nodes - engine.domain.n_edge) / min(seconds[1:]) / 1e6


def _read(path: Path) -> dict:
    """What is known; nothing where the file is missing or spoilt."""
    try:
        known = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _write(path: Path, known: dict) -> None:
    """Keep it, where the folder can be written to; a run does not depend on it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(known, indent=2) + "\n")
    except Exception as error:  # whatever the disk says, the shape is known by now
        log.debug("cannot keep %s: %s", path, error)

"""Autotuning: the fastest launch configuration of stream-and-collide on this GPU is measured once and stored.

All configurations give the same bits; which is fastest depends on the GPU, the collision, the field that nodes advance
behind it and the number formats. The result is kept in ``tuning.json`` in the user's cache folder (``MUPHY_CACHE``,
else ``XDG_CACHE_HOME/muphy_lb``, else ``~/.cache/muphy_lb``); if the file is removed, the next run measures again.
"""

import json
import logging
import os
import time
from pathlib import Path

from muphy_lb.base.errors import InputError
from muphy_lb.base.files.atomic import write_text
from muphy_lb.base.phases import TUNING, phase
from muphy_lb.base.version import __version__
from muphy_lb.domain import WARP
from muphy_lb.engine.engine import Engine

log = logging.getLogger(__name__)

# With fewer nodes the differences are smaller than the scatter of the measurement.
FEWEST_NODES = 1 << 20
STEPS = 6
REPETITIONS = 3


def tune(engine: Engine) -> None:
    """Set an engine's launch configuration to the fastest; small domains, devices without a choice and steps that
    leave out nodes keep the default."""
    by_name = _choice(engine, engine.domain.n_nodes - engine.domain.n_edge)
    if not by_name:
        return
    model = engine.model
    what = (model.lattice.name, model.collision.name, model.streaming.name, engine.precision.name)
    behind = (engine.behind.name,) if engine.behind else ()
    path, key = cache_folder() / "tuning.json", " | ".join((__version__, engine.backend.device, *what, *behind))
    known = _read(path)
    if known.get(key) not in by_name:
        with phase("timing the kernels on this GPU (once)", TUNING):
            launches = {name: engine.interior_launches(shape) for name, shape in by_name.items()}  # compiled ahead
            rates = {name: _rate(engine, launches[name]) for name in by_name}
        known = _read(path) | {key: max(rates, key=rates.__getitem__)}
        log.info("timed on this GPU, MFLUPS: %s", ", ".join(f"{name} {rate:.0f}" for name, rate in rates.items()))
        _write(path, known)
    engine.use_shape(by_name[known[key]])


def bind_all(engine: Engine, n_nodes: int) -> None:
    """Bind what :func:`tune` would time if the engine had so many nodes, so that helpers compile the kernels."""
    for shape in _choice(engine, n_nodes).values():
        engine.interior_launches(shape)


def _choice(engine: Engine, n_nodes: int) -> dict:
    """The launch configurations to choose from, by name."""
    shapes = engine.backend.launch_shapes(engine.addresses.patterns[0])
    if len(shapes) < 2 or n_nodes < FEWEST_NODES or engine.model.occupied:
        return {}
    return {f"{shape.threads} {shape.block}": shape for shape in shapes}


def use_threads(engine: Engine, threads: int) -> None:
    """Launch stream-and-collide in blocks of so many threads, each with the default number of nodes; two steps that do
    not count compile the kernel. Raises InputError: the device has no blocks, or blocks of that size are not whole
    warps, or larger than those that are tuned."""
    shapes = engine.backend.launch_shapes(engine.addresses.patterns[0])
    if len(shapes) < 2:
        raise InputError(f"threads is {threads}, and {engine.backend.device} has no blocks of threads; leave it out")
    most = max(shape.block for shape in shapes)
    if threads % WARP or not WARP <= threads <= most:
        raise InputError(f"threads is {threads}; allowed: multiples of {WARP} from {WARP} to {most}")
    engine.use_shape(shapes[0]._replace(block=threads))
    engine.warm_up()


def cache_folder() -> Path:
    """Folder of the stored results."""
    given, xdg = os.environ.get("MUPHY_CACHE"), os.environ.get("XDG_CACHE_HOME")
    if given:
        return Path(given)
    users = xdg or os.path.expanduser("~/.cache")
    return Path(users if os.path.isabs(users) else os.devnull, "muphy_lb")  # without a home nothing is kept


def _rate(engine: Engine, launches) -> float:
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
    """The stored entries; none where the file is missing or spoilt, and no value that is not a text."""
    try:
        known = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    return {key: name for key, name in known.items() if isinstance(name, str)} if isinstance(known, dict) else {}


def _write(path: Path, known: dict) -> None:
    """Store the results if the folder is writable; a run does not depend on it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(known, indent=2) + "\n")
    except Exception as error:  # the run continues with the result, whatever the disk error
        log.debug("cannot keep %s: %s", path, error)

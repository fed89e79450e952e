"""What of a resumed run can be refused before its geometry is read and its kernels are compiled."""

import json
import logging
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

from muphy_lb.base.errors import InputError
from muphy_lb.base.files import PREPARED
from muphy_lb.case.case import Case
from muphy_lb.geometry.limits import shown
from muphy_lb.run.checkpoint_file import PATTERN, Checkpoint, newest
from muphy_lb.run.summary import SUMMARY_FILE

LOG = logging.getLogger(__name__)
CASE_FILE = "case.toml"
CHECKPOINTS = "checkpoints"
KEPT_S = 600.0
"""Wall time from which on the results of a run are not replaced unasked."""

READING = ("unit", "spacing_m", "keep", "options")
"""How the file of a geometry is read; another file may need other values for the same voxels."""

BELONGING = {
    **{("geometry", key): "geometry" for key in ("shape", "periodic", *READING)},
    ("lattice", "name"): "lattice",
    ("compute", "precision"): "precision",
    ("compute", "streaming"): "streaming",
}
"""What a state belongs to, by section and key: with other values, its numbers are those of another flow."""


def results_of_hours(folder: Path) -> str | None:
    """In words, the results in a folder of a run that took so long that nobody replaces them by mistake; None if there
    are none."""
    try:
        took_s = float(json.loads((folder / SUMMARY_FILE).read_text(encoding="utf-8"))["wall_time_s"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return f"the results of a run that took {took_s / 60.0:,.0f} min" if took_s >= KEPT_S else None


def refuse_to_resume_nothing(folder: Path) -> None:
    """Refuse a folder without checkpoints.

    Raises:
        InputError: it is none of a run, or the run left no checkpoint.
    """
    if not folder.is_dir():
        raise InputError(f"{shown(str(folder))} is no folder; give the output folder of the run that is to go on")
    if not (folder / CASE_FILE).is_file():
        raise InputError(f"{folder} is no output folder of a run: it has no {CASE_FILE}; give that of the run")
    if not any((folder / CHECKPOINTS).glob(PATTERN)):
        raise InputError(
            f"{folder} holds no checkpoint to go on from; start anew with muphy-lb run, and set"
            " output.checkpoint_every_steps, or stop the run with Ctrl-C, SIGUSR1, a wall_time or a STOP file, which"
            " all write one"
        )


def refuse_missing_files(case: Case, remedy: Callable[[Sequence[str]], str]) -> None:
    """Refuse to go on with a case that names files which are not there, as after a move of its folder.

    Args:
        case: the case.
        remedy: the command or call that takes changes of keys.

    Raises:
        InputError: the message names the keys.
    """
    missing = {key: path for key, path in case.files.items() if not path.exists()}
    if not missing:
        return
    there = ", ".join(f"{key} = {shown(str(path))}" for key, path in missing.items())
    unnamed = [key for key in missing if "[" in key]
    changes = [_found_again(key, path) for key, path in missing.items() if key not in unnamed]
    remedies = [remedy(list(dict.fromkeys(changes)))] if changes else []
    remedies += [f"change {key} in {case.folder / CASE_FILE}" for key in unnamed]
    raise InputError(
        f"files of the case are not there: {there}; if the folder or the files were moved, say where they are:"
        f" {', and '.join(remedies)}"
    )


def _found_again(key: str, path: Path) -> str:
    """The change of a key by which a file is found; what the flow started from is needed no more."""
    return "initial=" if key.startswith("initial.") else f"{key}=/path/to/{path.name}"


def refuse_to_resume_other(folder: Path, case: Case) -> Checkpoint:
    """The newest whole checkpoint of a folder, which a case may continue as far as its keys tell.

    Raises:
        InputError: a key has another value, or there is no whole checkpoint.
    """
    found = newest(folder / CHECKPOINTS, tell=LOG.debug)  # who reads its state tells of those that are passed over
    old, new = (tomllib.loads(text) for text in (found.case, case.to_toml(folder / CHECKPOINTS)))
    left_to_voxels = _left_to_voxels(old, new)
    for (section, key), what in BELONGING.items():
        then, now = (_text(table.get(section, {}).get(key)) for table in (old, new))
        if then != now and key not in left_to_voxels:
            values = "" if what == "geometry" else f" ({then}; this run: {now})"
            raise InputError(
                f"checkpoint {found.path} belongs to another {what}{values}: {section}.{key} was {then}, is {now};"
                " resume without that change, or start anew with muphy-lb run"
            )
    return found


def _left_to_voxels(old: dict, new: dict) -> tuple[str, ...]:
    """The keys of the geometry that say nothing of two cases with files of different names."""
    names = [Path(table["geometry"].get("file", "")) for table in (old, new)]
    if names[0].name == names[1].name:
        return ()
    return (*READING, "periodic") if any(name.suffix == PREPARED for name in names) else READING


def _text(value) -> str:
    return "not set" if value is None else shown(value)

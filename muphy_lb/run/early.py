"""What of a resumed run can be refused before its geometry is read and its kernels are compiled."""

import tomllib
from pathlib import Path

import h5py

from muphy_lb.case.case import Case
from muphy_lb.errors import InputError
from muphy_lb.geometry.limits import shown

CASE_FILE = "case.toml"
CHECKPOINTS = "checkpoints"
PATTERN = "step_*.h5"
"""Names of checkpoints in that folder."""
GEOMETRY = ("file", "shape", "unit", "spacing_m", "keep", "periodic", "options")
BELONGING = {
    **{("geometry", key): "geometry" for key in GEOMETRY},
    ("lattice", "name"): "lattice",
    ("compute", "precision"): "precision",
    ("compute", "streaming"): "streaming",
}
"""What a state belongs to, by section and key: with other values, its numbers are those of another flow."""


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


def refuse_to_resume_other(folder: Path, case: Case) -> None:
    """Refuse a case whose geometry or numbers are not those of the newest checkpoint.

    A checkpoint that cannot be read is left to those who look for the newest whole one.

    Raises:
        InputError: a key has another value.
    """
    newest = max((folder / CHECKPOINTS).glob(PATTERN))
    try:
        with h5py.File(newest, "r") as file:
            old = tomllib.loads(file["case"].asstr()[()])
    except Exception:  # whatever a damaged file holds
        return
    new = tomllib.loads(case.to_toml(folder / CHECKPOINTS))
    for (section, key), what in BELONGING.items():
        then, now = (_text(table.get(section, {}).get(key)) for table in (old, new))
        if then != now:
            values = "" if what == "geometry" else f" ({then}; this run: {now})"
            raise InputError(
                f"checkpoint {newest} belongs to another {what}{values}: {section}.{key} was {then}, is {now}; resume"
                " without that change, or start anew with muphy-lb run"
            )


def _text(value) -> str:
    return "not set" if value is None else shown(value)

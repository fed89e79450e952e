"""muphy_lb: sparse lattice Boltzmann flow in real vessels and rocks on many GPUs.

    from muphy_lb import Simulation
    with Simulation("vessel.toml") as sim:
        sim.run()
        print(sim.openings)

:class:`Simulation` is one flow, :class:`Study` many of a case with uncertain values; :class:`Case` what is asked for,
checked; :mod:`geometry <muphy_lb.geometry>` reads and draws images and surfaces, :mod:`partition <muphy_lb.partition>`
shares their fluid among ranks; all that is wrong with an input is an :class:`InputError`, a flow that becomes unstable
a :class:`DivergedError`.
"""

import os
import stat
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from muphy_lb.base.version import __version__ as __version__

__all__ = ["Case", "DivergedError", "InputError", "Simulation", "Study", "geometry", "partition"]

if TYPE_CHECKING:
    from muphy_lb import geometry, partition
    from muphy_lb.apps.study.study import Study
    from muphy_lb.base.errors import DivergedError, InputError
    from muphy_lb.case.case import Case
    from muphy_lb.run.simulation import Simulation

_PLACES = {
    "Case": "muphy_lb.case.case",
    "DivergedError": "muphy_lb.base.errors",
    "InputError": "muphy_lb.base.errors",
    "Simulation": "muphy_lb.run.simulation",
    "Study": "muphy_lb.apps.study.study",
}


def __getattr__(name):
    """Import the solver only when it is asked for: commands that refuse bad input must not wait for it."""
    if name in ("geometry", "partition"):
        return import_module(f"muphy_lb.{name}")
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted((*__all__, "__version__"))


def _choose_cache() -> None:
    """Compiled code is kept in the user's cache folder (:mod:`muphy_lb.base.kept`); without one it gets a folder among
    the temporary files. Where ``NUMBA_CACHE_DIR`` is set, that is used."""
    users = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "muphy_lb-kernels")
    if "NUMBA_CACHE_DIR" not in os.environ and not _can_be_made(users):
        os.environ["NUMBA_CACHE_DIR"] = _private_folder()


def _can_be_made(folder: Path) -> bool:
    """Whether files can be written to a folder, which may have to be made for that."""
    if not folder.is_absolute():  # below the "~" of a user without a home
        return False
    nearest = next(path for path in (folder, *folder.parents) if os.path.exists(path))
    return os.path.isdir(nearest) and os.access(nearest, os.W_OK | os.X_OK)


def _private_folder() -> str:
    """A folder that only this user can read and write: one for all runs, unless its name is taken by another user."""
    import tempfile

    folder = Path(tempfile.gettempdir(), f"muphy_lb-{os.getuid()}")
    with suppress(FileExistsError):
        folder.mkdir(mode=stat.S_IRWXU)
    found = folder.lstat()
    is_private = stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == stat.S_IRWXU
    return str(folder) if is_private and found.st_uid == os.getuid() else tempfile.mkdtemp(prefix="muphy_lb-")


_choose_cache()

"""Python and the packages that the solver uses: which are there, and whether their versions are those it asks for.

Both come from the metadata that ``pip`` keeps, so nothing of it needs to be importable; for a folder that is used
without an installation, from its ``setup.cfg``.
"""

import platform
import re
import shutil
import sys
from collections.abc import Iterator
from configparser import RawConfigParser
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from muphy_lb.base.version import __version__
from muphy_lb.doctor.finding import BROKEN, MISSING, NOTE, OK, Finding
from muphy_lb.doctor.ranks import find_launcher

OLDEST_PYTHON, NEWEST_PYTHON = (3, 11), (3, 13)
PACKAGE = "muphy_lb"
PURPOSES = {
    "mpi": "an MPI from PyPI, for several ranks on one machine",
    "nccl": "messages between GPUs, also of several machines",
    "dicom": "geometries from DICOM folders",
    "view": "watching a run in a browser",
    "notebook": "fields as xarray and PyVista, Jupyter",
}
"""What the extras are for; that of GPUs is judged beside the GPUs."""


def python() -> Iterator[Finding]:
    """The interpreter, and the installation of this package."""
    found = f"{platform.python_version()} ({sys.executable})"
    if OLDEST_PYTHON <= sys.version_info[:2] <= NEWEST_PYTHON:
        yield Finding("Python", OK, found, is_needed=True)
    else:
        allowed = " to ".join(f"{major}.{minor}" for major, minor in (OLDEST_PYTHON, NEWEST_PYTHON))
        yield Finding("Python", BROKEN, f"{found} is not {allowed}", f"use Python {allowed}", is_needed=True)
    installed = _version(PACKAGE)
    if installed is None:
        text = f"{__version__}, used from a folder: pip has not installed it"
        yield Finding(PACKAGE, NOTE, text, "pip install that folder")
    elif installed != __version__:
        text = f"{__version__} is used, but pip has installed {installed}"
        yield Finding(PACKAGE, NOTE, text, "pip install the folder that is used, or leave it out of PYTHONPATH")
    else:
        yield Finding(PACKAGE, OK, installed)


def packages() -> Iterator[Finding]:
    """Every package that the solver needs, and for each extra those that it brings."""
    try:
        needs = _requirements()
    except ModuleNotFoundError:  # where not even what reads requirements is installed
        yield from _absent()
        return
    for requirement in needs.get("", ()):
        yield _judged(requirement)
    for extra, purpose in PURPOSES.items():
        if extra in needs:
            yield _extra(extra, purpose, needs[extra])


def _requirements() -> dict[str, list]:
    """The requirements of this package on this Python, by extra; those that are always needed under ``""``.

    Raises:
        ModuleNotFoundError: the package that reads requirements is missing.
    """
    from packaging.requirements import Requirement

    found: dict[str, list] = {}
    for requirement in map(Requirement, _lines()):
        for extra in ("", *PURPOSES):
            marker = requirement.marker
            is_always = marker is None or marker.evaluate({"extra": ""})
            if is_always if extra == "" else not is_always and marker.evaluate({"extra": extra}):
                found.setdefault(extra, []).append(requirement)
    return found


def _lines() -> list[str]:
    """The requirements as text, each with the extra that it belongs to."""
    try:
        return requires(PACKAGE) or []
    except PackageNotFoundError:
        return _lines_of_source()


def _lines_of_source() -> list[str]:
    """The same of a folder that is used without an installation; none where that has no ``setup.cfg``."""
    source = RawConfigParser()
    source.read(Path(__file__).parents[2] / "setup.cfg", encoding="utf-8")
    lines = source.get("options", "install_requires", fallback="").splitlines()
    extras = source["options.extras_require"].items() if source.has_section("options.extras_require") else ()
    lines += [f'{line}; extra == "{extra}"' for extra, text in extras for line in text.splitlines() if line]
    return [line for line in lines if line]


def _absent() -> Iterator[Finding]:
    """The packages that are always needed and not there, whatever their versions."""
    names = dict.fromkeys(re.split(r"[^\w-]", line)[0] for line in _lines() if "extra ==" not in line)
    for name in names:
        if _version(name) is None:
            yield Finding(name, MISSING, "not installed", f'pip install "{name}"', is_needed=True)


def _judged(requirement) -> Finding:
    """What there is of a package that is always needed."""
    name, there = requirement.name, _version(requirement.name)
    command = f'pip install "{name}{requirement.specifier}"'
    if there is None:
        return Finding(name, MISSING, "not installed", command, is_needed=True)
    if requirement.specifier.contains(there, prereleases=True):
        return Finding(name, OK, there, is_needed=True)
    text = f"{there} is not {requirement.specifier}, with which it was tested"
    return Finding(name, NOTE, text, command)


def _extra(extra: str, purpose: str, requirements: list) -> Finding:
    """What there is of an extra."""
    there = {requirement.name: _version(requirement.name) for requirement in requirements}
    missing = [name for name, found in there.items() if found is None]
    topic, command = f"extra {extra}", f'pip install "{PACKAGE}[{extra}]"'
    if missing and extra == "mpi" and (launcher := find_launcher()):
        return Finding(topic, NOTE, f"{', '.join(missing)} not installed, nor needed beside {launcher}")
    if missing and extra == "nccl" and not shutil.which("nvidia-smi"):
        return Finding(topic, NOTE, f"{', '.join(missing)} not installed, nor needed without GPUs")
    if missing:
        return Finding(topic, MISSING, f"{', '.join(missing)} not installed: {purpose}", command)
    return Finding(topic, OK, ", ".join(f"{name} {found}" for name, found in there.items()))


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None

"""What is published: the solver alone is installed, under its own name; the source archive holds all that is kept."""

import configparser
import fnmatch
import subprocess

import pytest

from tests.structure.source import ROOT

# setuptools adds these by itself.
AUTOMATIC = ("MANIFEST.in", "pyproject.toml", "setup.cfg", "LICENSE", "muphy_lb")


def test_only_one_name_is_installed():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    assert config["options.packages.find"]["include"].split() == ["muphy_lb*"]


def test_the_source_archive_holds_every_file_that_is_kept():
    try:
        done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        pytest.skip("no git")
    if done.returncode:
        pytest.skip("not a checkout")
    kept = {line.split("/")[0] for line in done.stdout.splitlines() if not line.startswith(".")}
    orders = [line.split() for line in (ROOT / "MANIFEST.in").read_text().splitlines()]
    patterns = [word for order, *words in orders if order in ("include", "graft") for word in words]
    left_out = {name for name in kept if not any(fnmatch.fnmatch(name, pattern) for pattern in patterns)}
    assert left_out <= set(AUTOMATIC)

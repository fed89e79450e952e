"""The solver starts where it can write neither beside its modules nor into a home."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import muphy_lb
from tests.conftest import ROOT

START = """
import os
from muphy_lb.base.kept.functions import njit

@njit(cache=True)
def one():
    return 1

one()
print(os.environ.get("NUMBA_CACHE_DIR", ""))
"""
# Root may write everywhere, unless it gives that up.
AS_OTHERS = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"]


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    """A folder with the packages that nobody may write to."""
    folder = tmp_path_factory.mktemp("installation")
    shutil.copytree(ROOT / "muphy_lb", folder / "muphy_lb", ignore=shutil.ignore_patterns("__pycache__"))
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield folder
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def start(installation, home, temporary, **more) -> str:
    """Compile a function; returns where it was told to be kept."""
    if os.getuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("root can write everywhere, and there is no setpriv")
    steered = ("NUMBA_", "XDG_", "PYTHON")
    environment = {name: text for name, text in os.environ.items() if not name.startswith(steered)}
    environment |= {"HOME": str(home), "TMPDIR": str(temporary), "PYTHONPATH": str(installation)} | more
    line = [*(AS_OTHERS if os.getuid() == 0 else []), sys.executable, "-c", START]
    done = subprocess.run(line, capture_output=True, text=True, cwd=home, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_without_a_home_compiled_functions_go_to_a_private_temporary_folder(installation, tmp_path):
    found = {start(installation, installation, tmp_path) for _ in range(2)}
    (folder,) = map(Path, found)
    assert folder.parent == tmp_path and stat.S_IMODE(folder.stat().st_mode) == 0o700 and any(folder.iterdir())


def test_with_a_home_they_go_to_the_cache_of_the_user(installation, tmp_path):
    (tmp_path / "home").mkdir()
    assert start(installation, tmp_path / "home", tmp_path) == ""
    assert (tmp_path / "home" / ".cache" / "muphy_lb-kernels").is_dir()


def test_a_folder_that_the_user_gives_is_taken(installation, tmp_path):
    assert start(installation, installation, tmp_path, NUMBA_CACHE_DIR=str(tmp_path)) == str(tmp_path)


@pytest.mark.parametrize("taken", ["by a link", "by a folder that others can read", "by a file"])
def test_a_folder_that_is_not_private_is_not_used(taken, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    expected = tmp_path / f"muphy_lb-{os.getuid()}"
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    if taken == "by a link":
        expected.symlink_to(tmp_path / "elsewhere")
    elif taken == "by a file":
        expected.touch(mode=0o700)
    else:
        expected.mkdir(mode=0o755)
    found = Path(muphy_lb._private_folder())
    assert found != expected and stat.S_IMODE(found.stat().st_mode) == 0o700 and not any(found.iterdir())

"""HDF5 files to write: a disk that refuses is one error, and nothing else is heard of it, not even at the end."""

import errno
import resource
import subprocess
import sys
from contextlib import contextmanager

import h5py
import numpy as np
import pytest

from muphy_lb.base.files.hdf5 import CHECKSUMMED, opened, write_array, write_attributes

LIMIT = 30_000


@contextmanager
def small_disk():
    """No file may grow beyond a limit; what the system does then, it does on a full disk, too."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def write_much(path, libver=None):
    with opened(path, "w", libver) as file:
        for k in range(40):
            write_attributes(file.create_group(f"groups/{k}"), {"text": "x" * 100})
            write_array(file, f"array{k}", np.zeros(300))


@pytest.mark.parametrize("libver", [None, CHECKSUMMED], ids=["default", "checksummed"])
def test_a_full_disk_is_one_error_and_no_traceback(tmp_path, capfd, libver):
    with small_disk(), pytest.raises(OSError) as caught:
        write_much(tmp_path / "a.h5", libver)
    assert caught.value.errno == errno.EFBIG and capfd.readouterr().err == ""


def test_the_process_ends_well_after_a_full_disk(tmp_path):
    script = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({LIMIT}, {LIMIT})); "
    script += "from tests.unit.files.test_hdf5 import write_much; write_much('a.h5')"
    line = [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path}; {script}"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.strip().splitlines()[-1].startswith("OSError: [Errno 27]")
    assert done.stderr.count("Traceback") == 1


def test_an_existing_file_is_changed(tmp_path):
    write_much(tmp_path / "a.h5")
    with opened(tmp_path / "a.h5") as file:
        file["array3"][7] = 1.0
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["array3"][...].sum() == 1.0 and len(file["groups"]) == 40


def test_an_error_of_the_block_is_told_as_it_is(tmp_path):
    with pytest.raises(ZeroDivisionError), opened(tmp_path / "a.h5", "w"):
        raise ZeroDivisionError


@pytest.mark.parametrize("size", [0, 1, 7, 2**17 + 1])
def test_an_array_comes_back(tmp_path, size):
    with opened(tmp_path / "a.h5", "w", CHECKSUMMED) as file:
        write_array(file, "a", np.arange(size))
    with h5py.File(tmp_path / "a.h5") as file:
        assert np.array_equal(file["a"][...], np.arange(size))


def test_a_flipped_bit_of_an_array_is_found(tmp_path):
    with opened(tmp_path / "a.h5", "w", CHECKSUMMED) as file:
        write_array(file, "a", np.arange(1000))
    content = bytearray((tmp_path / "a.h5").read_bytes())
    content[content.index(np.arange(500, 510).tobytes())] ^= 4
    (tmp_path / "a.h5").write_bytes(content)
    with h5py.File(tmp_path / "a.h5") as file, pytest.raises(OSError, match="filter returned failure"):
        file["a"][...]

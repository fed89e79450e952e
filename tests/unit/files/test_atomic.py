"""Files are complete or absent, and errors of the disk are reported in plain words."""

import errno
import os
import stat
from contextlib import nullcontext

import pytest

from muphy_lb.base.errors import OutputError
from muphy_lb.base.files.atomic import atomic_write, check_writable, reserve_space, write_text


def test_success_replaces_the_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with atomic_write(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


def test_temporary_lies_in_the_same_folder(tmp_path):
    with atomic_write(tmp_path / "a.txt") as temporary:
        temporary.write_text("")
        assert temporary.parent == tmp_path


def test_failure_keeps_the_old_file_and_removes_the_temporary(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), atomic_write(path) as temporary:
        temporary.write_text("half")
        raise ZeroDivisionError
    assert [item.name for item in tmp_path.iterdir()] == ["a.txt"] and path.read_text() == "old"


def test_full_disk_becomes_an_output_error_with_path_and_reason(tmp_path):
    with (
        pytest.raises(OutputError, match=r"a\.txt.*No space left.*another output folder"),
        atomic_write(tmp_path / "a.txt"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_missing_folder_becomes_an_output_error(tmp_path):
    with pytest.raises(OutputError, match="No such file"), atomic_write(tmp_path / "none" / "a.txt") as temporary:
        temporary.write_text("")


def test_check_writable_makes_the_folder_and_leaves_nothing(tmp_path):
    check_writable(tmp_path / "a" / "b")
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_check_writable_refuses_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "a").write_text("")
    with pytest.raises(OutputError, match="cannot write"):
        check_writable(tmp_path / "a")


def test_space_that_does_not_exist_is_refused_and_the_file_unchanged(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"abc")
    with pytest.raises(OutputError, match=r"a\.bin"):
        reserve_space(path, 2**62)
    assert path.read_bytes() == b"abc"


def test_a_link_under_the_temporary_name_is_not_followed(tmp_path, monkeypatch):
    monkeypatch.setattr("secrets.token_hex", lambda _: "known")
    (tmp_path / ".a.txt.known.tmp").symlink_to(tmp_path / "victim")
    with pytest.raises(OutputError, match="File exists"), atomic_write(tmp_path / "a.txt") as temporary:
        temporary.write_text("new")
    assert not (tmp_path / "victim").exists()


def test_permissions_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "a.txt", "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640


@pytest.mark.parametrize(("code", "is_written"), [(errno.EINVAL, True), (errno.ENOTSUP, True), (errno.EIO, False)])
def test_a_file_system_that_cannot_sync_folders_is_no_error(tmp_path, monkeypatch, code, is_written):
    sync = os.fsync

    def refuse_folders(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(code, os.strerror(code))
        sync(handle)

    monkeypatch.setattr(os, "fsync", refuse_folders)
    with nullcontext() if is_written else pytest.raises(OutputError):
        write_text(tmp_path / "a.txt", "new")
    assert (tmp_path / "a.txt").read_text() == "new"

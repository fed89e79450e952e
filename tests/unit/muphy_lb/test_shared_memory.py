"""Memory of other GPUs that a backend has opened: a trial of a further halo leaves that of the earlier ones open. And
its own, while others have it open."""

import weakref
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("numba_cuda")
from muphy_lb.backends.cuda import backend as module
from muphy_lb.parallel.transports import Peer


@pytest.fixture
def mapped(monkeypatch):
    """Handles of what is mapped into this process."""
    found = {}
    monkeypatch.setattr(module, "open_memory", lambda handle: found.setdefault(handle, 1000 * (1 + len(found))))
    monkeypatch.setattr(module, "close_memory", found.pop)
    return found


def backend_without_device():
    backend = module.CudaBackend.__new__(module.CudaBackend)
    backend._opened = {}
    return backend


def test_a_trial_closes_what_it_has_opened_and_nothing_else(mapped):
    backend = backend_without_device()
    first = backend.open_shared((b"populations", 8))
    backend.has_peers = True
    transport = Peer(None, backend)
    backend.open_shared((b"trial", 0))
    assert backend.open_shared((b"populations", 16)) == first + 8
    transport.confirm()
    assert set(mapped) == {b"populations"}
    assert backend.opened_shared() == {b"populations"}


def test_a_backend_closes_all_that_is_left_when_it_ends(mapped):
    backend = backend_without_device()
    backend.open_shared((b"one", 0))
    backend.open_shared((b"two", 0))
    del backend
    assert not mapped


def test_what_others_have_opened_does_not_become_free(monkeypatch):
    monkeypatch.setattr(module, "share_memory", lambda address: (b"allocation", address))
    backend, array = backend_without_device(), SharedArray()
    backend._shared, is_there = [], weakref.ref(array)
    assert backend.share(array, 2) == (b"allocation", 64 + 2 * 8)
    del array
    assert is_there() is not None


class SharedArray:
    """An array of a device, at address 64."""

    dtype = np.dtype(np.float64)
    device_ctypes_pointer = SimpleNamespace(value=64)

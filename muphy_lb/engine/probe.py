"""Probe: populations, or values of a field, at selected addresses, copied to the host."""

from collections.abc import Callable

import numpy as np

from muphy_lb.backends.interface import Launch


class Probe:
    """Copies numbers at fixed addresses out of either of two buffers.

    Args:
        backend: the device.
        buffers: both population buffers, or both arrays of a field.
        addresses: (k,) flat addresses in each of them.
        of_field: whether the buffers hold a field instead of populations in stored units.

    Attributes:
        unit: what a number of 1 in lattice units is stored as.
    """

    def __init__(self, backend, buffers, addresses: tuple[np.ndarray, np.ndarray], of_field: bool = False):
        self.size = addresses[0].size
        self._backend, self._buffers, self._addresses = backend, buffers, addresses
        precision = backend.precision
        self._kind = precision.real if of_field else precision.storage
        self.unit: float = 1.0 if of_field else precision.unit
        self._on_device: list = []
        self._gathers: list[Launch] = []
        self._keeps: list[Launch] = []

    def read(self, parity: int) -> np.ndarray:
        """(k,) float64 numbers of a buffer in lattice units; the caller ensures that nothing writes to it."""
        return self._gathered(parity).astype(np.float64) / self.unit

    def keep(self, parity: int) -> Callable[[], np.ndarray]:
        """Keep the numbers of a buffer on the device, until the next call; returns a function that copies them to the
        host as :meth:`stored` does."""
        if not self._keeps:
            self._kept, self._keeps = self._bound()
        self._keeps[parity]()
        return lambda: self._wide(self._backend.to_host(self._kept))

    def stored(self, parity: int) -> np.ndarray:
        """(k,) numbers as they are stored, in their ``unit``, in single precision where that is half."""
        return self._wide(self._gathered(parity))

    def _wide(self, numbers: np.ndarray) -> np.ndarray:
        wide = np.promote_types(self._kind, np.float32)
        return numbers.astype(wide, copy=False) if self.size else np.zeros(0, wide)

    def _gathered(self, parity: int) -> np.ndarray:
        if not self._gathers:
            self._packed, self._gathers = self._bound()
        self._gathers[parity]()
        return self._backend.to_host(self._packed)

    def _bound(self) -> tuple:
        """An array and the launches that fill it, bound on first use, as most runs do not measure walls; all share the
        addresses on the device."""
        backend = self._backend
        packed = backend.zeros(self.size, self._kind)
        self._on_device = self._on_device or [backend.array(own) for own in self._addresses]
        pairs = zip(self._buffers, self._on_device, strict=True)
        return packed, [backend.bind("gather", buffer, own, packed) for buffer, own in pairs]

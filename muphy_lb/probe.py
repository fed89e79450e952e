"""Probe: populations at chosen addresses, brought to the host."""

import numpy as np


class Probe:
    """Copies populations at fixed addresses out of either buffer.

    Args:
        backend: the device.
        buffers: both population buffers.
        addresses: (k,) flat addresses in each of them.
    """

    def __init__(self, backend, buffers, addresses: tuple[np.ndarray, np.ndarray]):
        self.size = addresses[0].size
        self._backend, self._buffers, self._addresses = backend, buffers, addresses
        self._gathers = None

    def read(self, parity: int) -> np.ndarray:
        """(k,) float64 populations of a buffer in lattice units; the caller makes sure that nothing writes to it."""
        if self._gathers is None:
            self._bind()
        self._gathers[parity]()
        return self._backend.to_host(self._packed).astype(np.float64) / self._backend.precision.unit

    def _bind(self) -> None:
        """On first use: most runs measure no wall."""
        backend = self._backend
        self._packed = backend.zeros(self.size, backend.precision.storage)
        pairs = zip(self._buffers, self._addresses, strict=True)
        self._gathers = [backend.bind_gather(buffer, backend.array(place), self._packed) for buffer, place in pairs]

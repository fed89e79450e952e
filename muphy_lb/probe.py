"""Probe: populations at chosen addresses, brought to the host."""

import numpy as np


class Probe:
    """Copies populations at fixed addresses out of either buffer.

    Args:
        backend: the device.
        buffers: both population buffers.
        addresses: (k,) flat addresses.
    """

    def __init__(self, backend, buffers, addresses: np.ndarray):
        self.size = addresses.size
        self._backend, self._buffers, self._addresses = backend, buffers, addresses
        self._packs = None

    def read(self, parity: int) -> np.ndarray:
        """(k,) float64 populations of a buffer; the caller makes sure that nothing writes to it."""
        if self._packs is None:
            self._bind()
        self._packs[parity]()
        self._backend.finish_pack()
        return self._host.astype(np.float64)

    def _bind(self) -> None:
        """On first use: most runs measure no wall."""
        backend, real = self._backend, self._backend.real
        device = backend.array(self._addresses)
        packed = backend.zeros(self.size, real)
        self._host = backend.host_buffer(self.size, real)
        self._packs = [backend.bind_pack(buffer, device, packed, self._host) for buffer in self._buffers]

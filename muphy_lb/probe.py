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
        self._packs = None

    def read(self, parity: int) -> np.ndarray:
        """(k,) float64 populations of a buffer in lattice units; the caller makes sure that nothing writes to it."""
        if self._packs is None:
            self._bind()
        self._packs[parity]()
        self._backend.finish_pack()
        return self._host.astype(np.float64) / self._backend.precision.unit

    def _bind(self) -> None:
        """On first use: most runs measure no wall."""
        backend, storage = self._backend, self._backend.precision.storage
        packed = backend.zeros(self.size, storage)
        self._host = backend.host_buffer(self.size, storage)
        pairs = zip(self._buffers, self._addresses, strict=True)
        self._packs = [backend.bind_pack(buffer, backend.array(place), packed, self._host) for buffer, place in pairs]

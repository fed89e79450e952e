"""Bytes that the arrays of a backend hold."""

import weakref


class AllocatedBytes:
    """Counts arrays for as long as they live.

    It does not know the backend: what is to be called when an array is gone stays alive until then, and with it an
    array that the backend keeps would keep the backend.
    """

    def __init__(self):
        self.total = 0

    def count(self, array, n_bytes: int) -> None:
        """Count the bytes of an array until it is gone."""
        self.total += n_bytes
        weakref.finalize(array, self._forget, n_bytes)

    def _forget(self, n_bytes: int) -> None:
        self.total -= n_bytes

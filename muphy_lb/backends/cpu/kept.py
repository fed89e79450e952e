"""Whether compiled kernels are kept on disk: with every version of Numba whose inner workings are known."""

import logging
from functools import cache

import numba

LOG = logging.getLogger(__name__)
NEWEST_TRIED = (0, 68)
"""Version of Numba up to which :mod:`muphy_lb.backends.cpu.kernel_store` was tried."""


def stored(jit):
    """A decorator for kernels: ``jit``, whose compiled code is kept on disk if this Numba is known."""
    if not _is_known():
        return jit
    from muphy_lb.backends.cpu.kernel_store import stored as kept_on_disk

    return kept_on_disk(jit)


@cache
def _is_known() -> bool:
    is_known = numba.version_info.short <= NEWEST_TRIED
    if not is_known:
        newest = ".".join(map(str, NEWEST_TRIED))
        LOG.info("Numba %s is newer than %s: kernels are compiled anew at every start", numba.__version__, newest)
    return is_known

"""Whether compiled kernels are kept on disk: with every compiler whose inner workings are known."""

import logging
from functools import cache

LOG = logging.getLogger(__name__)


@cache
def is_known(compiler: str, version: tuple[int, int], newest_tried: tuple[int, int]) -> bool:
    """Whether a compiler's version is not newer than those that were tried; says so once if it is."""
    if version > newest_tried:
        now, newest = (".".join(map(str, each)) for each in (version, newest_tried))
        LOG.info("%s %s is newer than %s: kernels are compiled again at every start", compiler, now, newest)
    return version <= newest_tried

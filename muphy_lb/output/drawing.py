"""Pictures only show what other files hold: one that cannot be drawn is a warning."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from muphy_lb.errors import MuphyError

LOG = logging.getLogger(__name__)


@contextmanager
def drawing(what: str) -> Iterator[None]:
    """Context in which a picture is drawn; what goes wrong there is told, and the run goes on.

    Args:
        what: the picture, for the warning.

    Raises:
        MuphyError: as the block raises it, such as OutputError where the disk is full.
    """
    try:
        yield
    except MuphyError:
        raise
    except Exception as error:  # matplotlib has no type of its own for what it cannot draw
        LOG.warning("warning: %s cannot be drawn: %s: %s", what, type(error).__name__, error)

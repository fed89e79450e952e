"""Pictures only show what other files hold: one that cannot be drawn is a warning."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from muphy_lb.base.errors import OutputError

VECTOR_FORMATS = ("svg", "pdf")
"""In which a picture may be written beside its PNG."""

PICTURE_FORMATS = ("png", *VECTOR_FORMATS)
"""In which a picture may be drawn anew."""

FRAMES_FOLDER = "frames"
LOG = logging.getLogger(__name__)


@contextmanager
def drawing(what: str) -> Iterator[None]:
    """Context in which a picture is drawn; what goes wrong there is told, and the run goes on.

    Args:
        what: the picture, for the warning.

    Raises:
        OutputError: as the block raises it, such as where the disk is full.
    """
    try:
        yield
    except OutputError:
        raise
    except Exception as error:  # matplotlib has no type of its own for what it cannot draw
        LOG.warning("warning: %s cannot be drawn: %s: %s", what, type(error).__name__, error)


def frame_files(name: str) -> str:
    """Pattern of the pictures ``NAME_STEP.png`` that a run draws on its way."""
    return f"{FRAMES_FOLDER}/{name}_*.png"


def picture_files(file: str) -> tuple[str, ...]:
    """The files that a picture may have: ``NAME.png``, and the same in other formats."""
    return file, *(file.removesuffix("png") + ending for ending in VECTOR_FORMATS)

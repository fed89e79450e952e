"""Colours of pictures: on a dark ground for screens, on a white one for papers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from muphy_lb.case.output import OutputSection
from muphy_lb.output.drawing import VECTOR_FORMATS


@dataclass(frozen=True)
class Theme:
    """The colours of a picture: ground, text, faint text and frames, fluid before or behind a cut, and openings; and
    the formats in which it is written beside its PNG."""

    background: str
    foreground: str
    faint: str
    shadow: str
    kinds: Mapping[str, str] = field(default_factory=dict)
    formats: tuple[str, ...] = ()


DARK = Theme("#0d1320", "#e8ecf4", "#7d8aa5", "#232c40", {"inlet": "#7ee0a1", "outlet": "#ffb36b"})
LIGHT = Theme("#ffffff", "#101418", "#4a5568", "#d5dae3", {"inlet": "#157a3c", "outlet": "#b3530b"})
THEMES: Mapping[str, Theme] = MappingProxyType({"dark": DARK, "light": LIGHT})


def chosen_theme(output: OutputSection) -> Theme:
    """The theme, and the formats, that a case asks for."""
    formats = tuple(name for name in VECTOR_FORMATS if name == output.picture_format)
    return replace(THEMES[output.picture_style], formats=formats)


class ThemedFigure(Figure):
    """A figure that knows its theme."""

    def __init__(self, theme: Theme, **options):
        super().__init__(facecolor=theme.background, **options)
        self.theme = theme


def theme_of(drawn: Axes | Figure) -> Theme:
    """The theme of a figure, or of the figure of a panel; dark if it has none."""
    figure = drawn.figure if isinstance(drawn, Axes) else drawn
    return getattr(figure, "theme", DARK)

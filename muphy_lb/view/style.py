"""How a page looks: the colours of the dark pictures."""

from bokeh.models import GlobalInlineStyleSheet, InlineStyleSheet

from muphy_lb.output.pictures.theme import DARK

FRAME = (640, 620)
"""Columns and rows of the picture."""
SIDE, CURVES = 230, (380, 205)
PAGE_SHEET = f"html, body {{ background: {DARK.background}; margin: 6px; }}"
SHEET = f"""
:host {{ color: {DARK.foreground}; font-family: sans-serif; font-size: 14px; }}
label, .bk-slider-title {{ color: {DARK.foreground}; }}
.bk-input, .bk-btn, .bk-btn:hover {{
  background: {DARK.shadow}; color: {DARK.foreground}; border: 1px solid {DARK.faint}; }}
.bk-input:disabled {{ background: {DARK.shadow}; color: {DARK.faint}; }}
.bk-input option {{ background: {DARK.shadow}; }}
.bk-btn[disabled], .bk-btn[disabled]:hover {{
  background: {DARK.shadow}; color: {DARK.faint}; opacity: 0.6; }}
.bk-btn.bk-active, .bk-btn.bk-active:hover {{ background: {DARK.faint}; color: {DARK.background}; }}
"""


def sheet() -> InlineStyleSheet:
    """The style of a control or text."""
    return InlineStyleSheet(css=SHEET)


def page_sheet() -> GlobalInlineStyleSheet:
    """The style of the page itself."""
    return GlobalInlineStyleSheet(css=PAGE_SHEET)


def darken(plot) -> None:
    """Give a plot the colours of the page."""
    plot.background_fill_color = plot.border_fill_color = DARK.background
    plot.outline_line_color = None
    plot.title.text_color = DARK.foreground
    plot.title.text_font_style = "normal"
    plot.grid.grid_line_color = DARK.shadow
    for axis in plot.axis:
        axis.axis_label_text_color = axis.major_label_text_color = DARK.faint
        axis.axis_line_color = axis.major_tick_line_color = axis.minor_tick_line_color = DARK.faint
        axis.axis_label_text_font_style = "normal"

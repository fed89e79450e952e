"""Controls: what a viewer chooses and commands, and the text about the run."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from html import escape

import numpy as np
from bokeh.layouts import column
from bokeh.models import Button, Checkbox, Div, RadioButtonGroup, Select, Slider, TextInput

from muphy_lb.base.units import time_in_words
from muphy_lb.output.pictures.theme import THEMES
from muphy_lb.view.messages import BODY, CUT, ENDED, GO_BACK, PAUSED, RUNNING, Demand, Description, Update
from muphy_lb.view.style import SIDE, sheet

AXES = "xyz"
STOP, REALLY_STOP = "Stop the run", "Press again to stop"
RETURN, REALLY_RETURN = "Go back to the last checkpoint", "Press again to go back"
ARMED_MS = 4000
LEVEL = "isosurface, % of the colours (0: none)"
FORCE = "flow.acceleration_m_s2"
HELP_OF_FORCE = " Ctrl and drag: the body force points where the mouse went."
HELP = "Drag to turn, Shift and drag to move, the wheel to zoom, a double click to go back to the first view."


class Controls:
    """The controls beside the picture of a page, or below it."""

    def __init__(self, document, description: Description):
        self._document, self._description, self._is_changing, self._text = document, description, False, ""
        width = {"width": SIDE, "stylesheets": [sheet(THEMES[description.style])]}
        title = f"<h2 style='margin:0'>{escape(description.title or 'muphy-lb')}</h2>{escape(description.text)}"
        self._places = _places(description)
        self._status = Div(**width)
        self._field = Select(title="field", options=list(description.units), **width)
        self._place = RadioButtonGroup(labels=[label for label, _ in self._places], **width)
        self._layer = Slider(start=0, end=1, step=1, value=0, **width)
        self._level = Slider(start=0, end=99, step=1, value=0, title=LEVEL, **width)
        self._holds = Checkbox(label="hold the colour scale", **width)
        self._pause, self._step = Button(label="Pause", **width), Button(label="One step", **width)
        self._checkpoint, self._return = Button(label="Write a checkpoint", **width), Button(label=RETURN, **width)
        self._stop = Button(label=STOP, **width)
        told = HELP + (HELP_OF_FORCE if FORCE in description.changeable else "")
        help_text = Div(text="" if description.is_flat else f"<small>{told}</small>", **width)
        self._values = {
            key: TextInput(title=key, value=_text(numbers), **width) for key, numbers in description.changeable.items()
        }
        choices = (self._field, self._place, self._layer, self._level, self._holds)
        buttons = (self._pause, self._step, self._checkpoint, self._return, self._stop)
        parts = (*choices, *buttons, *self._values.values(), self._status, help_text)
        self.column = column(Div(text=title, **width), *parts)

    @property
    def holds_scale(self) -> bool:
        """Whether the scale of colours shall stay as it is."""
        return bool(self._holds.active)

    @property
    def level(self) -> float | None:
        """The value of the isosurface, between 0 and 1 along the colours; None for no isosurface."""
        share = self._level.value
        is_drawn = self._level.visible and isinstance(share, int | float) and 0 < share < 100
        return share / 100 if is_drawn else None

    def on_choice(self, choose: Callable[[dict], None], redraw: Callable[[], None]) -> None:
        """Call ``choose`` with the attributes of a demand that are to be changed, or ``redraw`` where the same values
        are to be drawn in another way."""

        def field(_name, _old, value):
            if not self._is_changing:
                choose({"field": str(value)})

        def place(_name, _old, active):
            if not self._is_changing and isinstance(active, int) and 0 <= active < len(self._places):
                choose(self._places[active][1])

        def layer(_name, _old, value):
            if not self._is_changing and isinstance(value, int | float) and np.isfinite(value):
                choose({"index": round(value)})

        self._field.on_change("value", field)
        self._place.on_change("active", place)
        self._layer.on_change("value", layer)
        self._level.on_change("value", lambda _name, _old, _value: redraw())

    def on_command(self, command: Callable[[str], None]) -> None:
        """Call ``command`` with the word for a button that was pressed."""

        def pressed_twice(button: Button, once: str, twice: str, word: str) -> Callable[[], None]:
            def press() -> None:
                if button.label == twice:
                    command(word)
                else:
                    button.label = twice
                    self._document.add_timeout_callback(lambda: button.update(label=once), ARMED_MS)

            return press

        self._pause.on_click(lambda: command("pause" if self._pause.label == "Pause" else "go on"))
        self._step.on_click(lambda: command("step"))
        self._checkpoint.on_click(lambda: command("checkpoint"))
        self._return.on_click(pressed_twice(self._return, RETURN, REALLY_RETURN, GO_BACK))
        self._stop.on_click(pressed_twice(self._stop, STOP, REALLY_STOP, "stop"))

    def on_value(self, change: Callable[[str, tuple[float, ...]], None]) -> None:
        """Call ``change`` with the dotted key of a value of the case and the numbers that it is to have."""

        def listener(key: str) -> Callable:
            def told(_name, _old, text) -> None:
                with suppress(ValueError):
                    numbers = tuple(map(float, str(text).split(",")))
                    if not self._is_changing:
                        change(key, numbers)

            return told

        for key, each in self._values.items():
            each.on_change("value", listener(key))

    def set_value(self, key: str, numbers: tuple[float, ...]) -> None:
        """Show another value of the case."""
        self._is_changing = True
        self._values[key].value = _text(numbers)
        self._is_changing = False

    def offer(self, fields: Iterable[str]) -> None:
        """Offer other fields to look at."""
        self._field.options = list(fields)

    def choose(self, demand: Demand) -> None:
        """Set the controls to what is looked at."""
        self._is_changing = True
        self._field.value = demand.field
        place = {"place": demand.place, "axis": demand.axis}
        self._place.active = [each for _, each in self._places].index(place)
        self._layer.visible = demand.place == CUT and not self._description.is_flat
        self._level.visible = demand.place == BODY and demand.field not in self._description.on_wall
        low, high = (corner[demand.axis] for corner in (self._description.low, self._description.high))
        self._layer.update(
            start=low, end=max(high, low + 1), value=demand.index, title=f"layer along {AXES[demand.axis]}"
        )
        self._is_changing = False

    def tell(self, update: Update) -> None:
        """Say where the run stands."""
        self._text = self._status_text(update)
        self.say(update.state)
        is_over = update.state.startswith(ENDED)
        self._pause.label = "Go on" if update.state == PAUSED else "Pause"
        self._pause.disabled = self._step.disabled = self._stop.disabled = is_over
        for choice in (self._field, self._place, self._layer, self._level, self._holds, *self._values.values()):
            choice.disabled = is_over
        self._checkpoint.disabled = self._return.disabled = is_over or not update.keeps_checkpoints

    def say(self, state: str) -> None:
        """Say what has become of the run."""
        self._status.text = f"<p><b>{escape(state)}</b></p>{self._text}"

    def _status_text(self, update: Update) -> str:
        last, rate = update.status.last_step, update.steps_per_s
        lines = [f"step {update.step:,} of {last:,}", f"t = {update.time_s:.5g} s"]
        if rate:
            lines.append(f"{rate:.4g} steps/s, {rate * self._description.header.n_nodes / 1e6:.4g} MFLUPS")
        if rate and update.state == RUNNING:
            lines.append(f"at most {time_in_words((last - update.step) / rate)} to go")
        lines += [f"{each.word}: {escape(str(each))}" for each in update.status.steadiness]
        lines += [escape(update.told)] if update.told else []
        return "<p>" + "<br>".join(lines) + "</p>"


def _text(numbers: tuple[float, ...]) -> str:
    return ", ".join(f"{number:.6g}" for number in numbers)


def _places(description: Description) -> list[tuple[str, dict]]:
    if description.is_flat:
        return [("plane", {"place": CUT, "axis": 2})]
    cuts = [(f"cut {name}", {"place": CUT, "axis": axis}) for axis, name in enumerate(AXES)]
    return [("3-D", {"place": BODY, "axis": 0}), *cuts]

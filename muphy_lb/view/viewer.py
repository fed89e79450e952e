"""Viewer: the page of one browser, and what it shows."""

import asyncio
import time
from dataclasses import replace
from functools import partial
from math import inf, sqrt

import numpy as np

from muphy_lb.base.narrow import known
from muphy_lb.view.controls import FORCE
from muphy_lb.view.layout import GONE, Layout
from muphy_lb.view.messages import (
    BODY,
    CHANGE,
    CUT,
    ENDED,
    RUNNING,
    WAITING,
    Demand,
    Picture,
    Update,
    can_be_changed,
    can_be_met,
)
from muphy_lb.view.scene import Scale, drawn_cut
from muphy_lb.view.style import FRAME

DEGREES_PER_PIXEL = 0.5
ZOOM_PER_NOTCH = 1.0015
FINE_RAYS, AFFORDED_S = 2, 0.038
"""Rays along the edge of a pixel where the run does not go on, or where a picture drawn with them takes at most so long
[s], less than the time between two pictures."""
SMALLEST = 0.25  # edge of an image while the flow continues, over that of the largest
AHEAD = 1  # A picture is drawn while so many others are on their way to the browser
TELL_S = 0.25  # time between two changes of the text and the curves of a page
SETTLED_S = 1.0  # A run that has made all steps that were asked for waits if no others follow within this time
STILL_S = 0.25  # so long after the last turn of the body it is drawn again, with finer rays


def smaller(size: tuple[int, int], seconds: float, most_s: float = AFFORDED_S) -> tuple[int, int]:
    """Columns and rows of an image that takes no longer than ``most_s``, a quarter of the largest at least, where one
    of the largest ``size`` takes so many seconds; the browser enlarges it."""
    share = 1.0 if not 0.0 < seconds < inf else min(1.0, max(SMALLEST, sqrt(max(most_s, 0.0) / seconds)))
    return round(share * size[0]), round(share * size[1])


class Viewer:
    """A browser that views a run.

    Attributes:
        demand: what it looks at.
    """

    def __init__(self, document, renderer) -> None:
        self._document, self._renderer, description = document, renderer, renderer.description
        self.demand: Demand = description.start
        self._layout = layout = Layout(document, description, renderer.history.openings)
        self._angle = renderer.scene.start if renderer.scene else None
        self._picture: Picture | None = None
        self._sent, self._drawn = 0, 0
        self._scale: Scale | None = None
        self._is_drawing, self._is_stale, self._is_turning, self._turns = False, False, False, 0
        self._n_points, self._is_gone, self._is_coarse = -1, False, False
        self._update: Update | None = renderer.update
        self._has_update, self._heard_s = False, 0.0
        layout.controls.on_choice(self._choose, self._look_again)
        layout.controls.on_command(self._command)
        layout.controls.on_value(self._change)
        layout.on_mouse(self._turn, self._tilt, self._zoom, self._reset)
        layout.on_drawn(self._acknowledge)
        layout.choose(self.demand)
        self._tell()
        layout.fill(document)

    @property
    def has_picture(self) -> bool:
        """Whether it has a picture of what it looks at."""
        return self._picture is not None and self._picture.demand == self.demand

    @property
    def is_following(self) -> bool:
        """Whether it has one, and none that waits to be drawn: the next one is taken while the last one is drawn and
        travels to the browser."""
        return self.has_picture and not self._is_stale

    def show_update(self, update: Update) -> None:
        """The run stands elsewhere."""
        self._update, self._heard_s = update, time.monotonic()
        self._tell_in(TELL_S)

    def receive(self, picture: Picture) -> None:
        """Show a picture, if it is what is looked at."""
        if picture.demand == self.demand:
            self._picture = picture
            self._draw()
            self._renderer.tell()

    def describe(self) -> None:
        """Take the new fields of the watched flow."""
        description = self._renderer.description
        if not can_be_met(self.demand, description):
            self.demand = description.start

        def describe_and_choose() -> None:
            self._layout.describe(description)
            self._layout.choose(self.demand)

        self._later(describe_and_choose)

    def leave(self) -> None:
        """The browser has gone, and its document with it."""
        self._is_gone = True

    def show_end(self) -> None:
        """The run has gone."""
        update = self._renderer.update
        if update and not update.state.startswith(ENDED):
            self._later(lambda: self._layout.controls.say(GONE))

    def _later(self, change) -> None:
        """Change the document on Bokeh's next tick."""
        if not self._is_gone:
            self._document.add_next_tick_callback(change)

    def _goes_on(self, update: Update) -> bool:
        """Whether the flow moves: where the run waits for more steps, these may follow at once."""
        is_waiting = update.state == WAITING and time.monotonic() - self._heard_s < SETTLED_S
        return is_waiting or update.state == RUNNING

    def _tell(self) -> None:
        """Show the newest update; those that come faster than a page is changed would pile up."""
        self._has_update, update = False, self._update
        if update is None:
            return
        if self._goes_on(update):
            if update.state == WAITING:
                update = replace(update, state=RUNNING)
                self._tell_in(SETTLED_S)
        elif self._is_coarse:
            self._draw()
        self._layout.controls.tell(update)
        if update.state.startswith(ENDED) and self._picture and self._picture.demand != self.demand:
            self.demand = self._picture.demand  # what was asked for too late is never shown
            self._layout.choose(self.demand)
        if self._renderer.history.n_points != self._n_points:
            self._n_points = self._renderer.history.n_points
            self._layout.curves.draw(self._renderer.history)

    def _tell_in(self, seconds: float) -> None:
        if not self._has_update:
            self._has_update = True
            asyncio.get_running_loop().call_later(seconds, self._later, self._tell)

    def _choose(self, changes: dict) -> None:
        asked = replace(self.demand, **changes)
        if "axis" in changes or "place" in changes:
            description = self._renderer.description
            low, high = description.low[asked.axis], description.high[asked.axis]
            asked = replace(asked, index=(low + high) // 2) if asked.place == CUT else replace(asked, axis=0, index=0)
        if asked == self.demand or not can_be_met(asked, self._renderer.description):
            return
        if asked.field != self.demand.field:
            self._scale = None
        self.demand = asked
        self._layout.choose(asked)
        self._renderer.tell()

    def _command(self, word: str) -> None:
        update = self._renderer.update
        if update and not update.state.startswith(ENDED):
            self._renderer.command(word)

    def _change(self, key: str, numbers: tuple[float, ...]) -> None:
        update = self._renderer.update
        is_on = update and not update.state.startswith(ENDED)
        if is_on and can_be_changed(key, numbers, self._renderer.description):
            self._renderer.command(CHANGE, key, numbers)

    def _tilt(self, right: float, up: float) -> None:
        """The body force, as large as before, points where the mouse went."""
        force = self._renderer.description.changeable.get(FORCE)
        if force is None or self._angle is None or self.demand.place != BODY:
            return
        camera = self._renderer.scene.camera(self._angle)
        way = right * camera[0] + up * camera[1]
        numbers = tuple((np.linalg.norm(force) * way / np.linalg.norm(way)).tolist())
        self._layout.controls.set_value(FORCE, numbers)
        self._change(FORCE, numbers)

    def _acknowledge(self, number: int) -> None:
        self._drawn = max(self._drawn, min(number, self._sent))
        if self._is_stale:
            self._draw()
        self._renderer.tell()

    def _turn(self, right: float, up: float, is_shift: bool) -> None:
        if self._angle is None or self.demand.place != BODY:
            return
        if is_shift:
            self._angle = self._angle.moved(right / FRAME[0], up / FRAME[0])
        else:
            self._angle = self._angle.turned(DEGREES_PER_PIXEL * right, -DEGREES_PER_PIXEL * up)
        self._look_again()

    def _zoom(self, delta: float) -> None:
        if self._angle and self.demand.place == BODY:
            self._angle = self._angle.magnified(ZOOM_PER_NOTCH**delta)
            self._look_again()

    def _reset(self) -> None:
        if self._renderer.scene:
            self._angle = self._renderer.scene.start
            self._look_again()

    def _look_again(self) -> None:
        self._turns, self._is_turning = self._turns + 1, True
        self._draw()
        asyncio.get_running_loop().call_later(STILL_S, self._refine, self._turns)

    def _refine(self, turns: int) -> None:
        if turns == self._turns:
            self._is_turning = False
            self._draw()

    def _draw(self) -> None:
        self._is_stale = True
        if not self._is_drawing and self._drawn >= self._sent - AHEAD and self._picture is not None:
            self._is_drawing, self._is_stale = True, False
            asyncio.get_running_loop().create_task(self._drawn_once())

    async def _drawn_once(self) -> None:
        picture, renderer = known(self._picture), self._renderer
        try:
            if self._scale is None or not self._layout.controls.holds_scale:
                self._scale = Scale.of(picture.values, renderer.description.units[picture.demand.field], self._scale)
            if picture.demand.place == CUT:
                self._is_coarse = False
                drawn = await renderer.draw(drawn_cut, picture, renderer.description.frames[picture.demand.axis])
            else:
                moves, seconds = self._goes_on(renderer.update) or self._is_turning, renderer.scene.seconds
                left_s = AFFORDED_S - renderer.scene.taking_s
                is_afforded = seconds * FINE_RAYS**2 < left_s
                rays = FINE_RAYS if not self._is_turning and (is_afforded or not moves) else 1
                size = smaller(FRAME, seconds, left_s) if moves else FRAME
                self._is_coarse = moves
                share = self._layout.controls.level
                level = None if share is None else self._scale.low + share * (self._scale.high - self._scale.low)
                draw = partial(renderer.scene.drawn, rays=rays, level=level)
                drawn = await renderer.draw(draw, picture, self._angle, self._scale, size)
            if picture.demand == self.demand:
                self._sent += 1
                number, scale = self._sent, self._scale
                self._later(lambda: self._layout.show(drawn, scale, number))
        finally:
            self._is_drawing = False
        if self._is_stale:
            self._draw()
            renderer.tell()

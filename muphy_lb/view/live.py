"""LiveView: shows a run on a page while it runs; the part that every rank has."""

import logging
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from muphy_lb.base.errors import InputError
from muphy_lb.base.files.atomic import atomic_write
from muphy_lb.measure.monitor import Changes, Monitor, MonitoredFlow, Request, RunStatus
from muphy_lb.output.terminal import is_seen
from muphy_lb.view.gathering import Gathering, describe
from muphy_lb.view.messages import CHANGE, ENDED, GO_BACK, PAUSED, RUNNING, WAITING, Demand, Update
from muphy_lb.view.pace import Pace, Pause
from muphy_lb.view.page import PageProcess, ServerSocket, open_socket

LOG = logging.getLogger(__name__)
ADDRESS_FILE = "view.txt"  # file of the output folder with the address of the page, if what is printed goes to a file
PAUSED_S = 0.1  # how long a rank waits between two looks during a pause [s]


class Order(NamedTuple):
    """The orders for all ranks at a look: the pictures to take, whether the openings are measured, requests to the
    run."""

    demands: tuple[Demand, ...] = ()
    with_openings: bool = False
    request: Request = Request()


class Coordinator:
    """Hears the viewers on rank 0, and decides for all ranks.

    Args:
        step: steps made so far.

    Attributes:
        pace: when to look.
        pause: whether the run waits.
        viewers: number of viewers.
    """

    def __init__(self, page: PageProcess, step: int):
        self._page, self.pace = page, Pace(step)
        self.pause, self.viewers = Pause(), 0
        self._demands: tuple[Demand, ...] = ()
        self._watched: tuple[Demand, ...] = ()
        self._following: tuple[Demand, ...] = ()
        self._taken: dict[Demand, int] = {}
        self._has_told = False

    def order(self, step: int) -> Order:
        """The orders now; waits a little during a pause."""
        self.pace.arrive(step)
        commands, changes = self._hear(PAUSED_S if self.pause.is_on else 0.0)
        steps_once = self.pause.is_on and "step" in commands
        self.pause.hear(commands, step, self.viewers)
        if not self._page.is_there:
            self.viewers, self._demands, self._following = 0, (), ()
            self.pause.end()
        demands = self._next_demands(step) if self._page.is_idle else ()
        request = Request(
            checkpoint="checkpoint" in commands,
            pause=self.pause.is_on and not steps_once,
            stop="stop" in commands,
            changes=changes,
            go_back=GO_BACK in commands,
        )
        with_openings = self.viewers > 0 and not self.pause.is_on and self._page.is_idle and self.pace.has_curves()
        return Order(demands, with_openings, request)

    def last_order(self, step: int, more_may_follow: bool = False) -> Order:
        """The orders at the last step: all that is watched is shown once more; if more steps may follow, only as long
        as time for pictures is left."""
        self.pace.arrive(step)
        self._hear(0.0)
        if not self._page.is_there or (more_may_follow and not self.pace.has_last_picture()):
            return Order()
        self._taken |= dict.fromkeys(self._watched, step)
        return Order(self._watched, self.viewers > 0)

    def leave(self, is_stepwise: bool) -> int:
        """The look is over; returns the number of steps before the next one."""
        if not self._page.is_there and not self._has_told:
            self._has_told = True
            LOG.warning("warning: the process of the live view has ended; the run goes on without it")
        n_steps = self.pace.leave(self.viewers > 0)
        return 1 if is_stepwise else n_steps

    def _next_demands(self, step: int) -> tuple[Demand, ...]:
        """The pictures to take now: what viewers have just begun to ask for comes before the next one of what they
        have."""
        following = tuple(demand for demand in self._following if self._taken.get(demand) != step)
        if self.pause.is_on or self.pace.has_picture():
            demands = tuple(dict.fromkeys((*self._demands, *following)))
            self._following = tuple(demand for demand in self._following if demand not in demands)
        elif self.pace.has_picture(is_new=True):
            demands = self._demands
        else:
            return ()
        self._demands = ()
        self._taken |= dict.fromkeys(demands, step)
        return demands

    def _hear(self, wait_s: float) -> tuple[list[str], Changes]:
        """The commands of viewers, and the changes that they ask for."""
        commands, changes = list[str](), list[tuple[str, object]]()
        for answer in self._page.answers(wait_s):
            self.viewers, self._watched = answer.viewers, answer.watched
            self._demands, self._following = answer.demands, answer.following
            commands += [answer.command] if answer.command else []
            if answer.command == CHANGE:
                value = answer.numbers[0] if len(answer.numbers) == 1 else list(answer.numbers)
                changes.append((answer.key, value))
        self._taken = {demand: step for demand, step in self._taken.items() if demand in self._watched}
        return commands, changes


class LiveView(Monitor):
    """Shows a simulation on a page of rank 0; collective.

    Args:
        simulation: what is shown; it hands over its steps from now on.
        server: where the page is, on rank 0; None elsewhere.
        keeps_checkpoints: whether whoever runs it writes a checkpoint when that is asked for.

    Attributes:
        url: the address of the page, on rank 0; empty elsewhere.
    """

    def __init__(self, simulation: MonitoredFlow, server: ServerSocket | None, keeps_checkpoints: bool = False):
        self._simulation, self._communicator = simulation, simulation.communicator
        self.keeps_checkpoints, self.url = keeps_checkpoints, server.url if server else ""
        self._directions, self._is_closed = server.directions() if server else "", False
        self._gathering = Gathering(simulation)
        description = describe(simulation, self._gathering)
        start = self._communicator.broadcast(description.start if description else None)
        self._gathering.picture(start)  # kernels are compiled before the first step, not between two of them
        self._openings()
        self._page = PageProcess(server, description) if server and description else None
        self._coordinator = Coordinator(self._page, simulation.step_number) if self._page else None
        self.next_step = simulation.step_number + 1
        simulation.monitor = self

    def __str__(self):
        return self._directions

    def _repr_html_(self) -> str:
        return f'<iframe src="{self.url}" width="100%" height="820" style="border:0"></iframe>'

    def look(self, status: RunStatus) -> Request:
        """Show the present step to those who look on, and do what they ask for."""
        step = self._simulation.step_number
        self._simulation.engine.backend.synchronise()  # else the pictures' time would be that of steps before them
        order = self._communicator.broadcast(self._coordinator.order(step) if self._coordinator else None)
        if order.request.pause and self._communicator.rank:
            time.sleep(PAUSED_S / 2)  # the others wait for rank 0, which waits for the page
        self._show(order, status, PAUSED if order.request.pause else RUNNING)
        is_stepwise = bool(self._coordinator and self._coordinator.pause.is_on)
        self.next_step = step + self._communicator.broadcast(
            self._coordinator.leave(is_stepwise) if self._coordinator else None
        )
        return order.request

    def end(self, status: RunStatus, ending: str) -> None:
        """Show the last step."""
        order = self._coordinator.last_order(self._simulation.step_number) if self._coordinator else None
        self._show(self._communicator.broadcast(order), status, f"{ENDED}: {ending}")

    def rest(self, status: RunStatus) -> None:
        """Show the last of the steps that were asked for, and that there may be more."""
        step = self._simulation.step_number
        self._simulation.engine.backend.synchronise()  # as in a look
        order = self._coordinator.last_order(step, more_may_follow=True) if self._coordinator else None
        self._show(self._communicator.broadcast(order), status, WAITING)
        self.next_step = step + 1
        if self._coordinator:
            self._coordinator.pace.rest()

    def release(self) -> None:
        """Let go of the engine."""
        self._gathering.release()

    def follow(self, simulation: MonitoredFlow) -> None:
        """Show a simulation of the same nodes from now on."""
        self._simulation, units = simulation, self._gathering.units
        self.next_step = simulation.step_number + 1
        self._gathering.follow(simulation)
        if self._gathering.units != units:
            description = describe(simulation, self._gathering)
            if self._page and description:
                self._page.describe(description)

    def close(self) -> None:
        """End the page, and let go of the simulation, which a notebook may hold on to through this view."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._simulation.monitor is self:
            self._simulation.monitor = Monitor()
        if self._page:
            self._page.close()
        del self._simulation, self._gathering

    def _show(self, order: Order, status: RunStatus, state: str) -> None:
        """Take the pictures of an order, and send them with an update to the page."""
        began_s = time.perf_counter()
        pictures = [self._gathering.picture(demand) for demand in order.demands]
        openings = self._openings() if order.with_openings else {}
        coordinator = self._coordinator
        if coordinator is None or self._page is None:
            return
        if order.demands:
            kinds = {(demand.field, demand.place) for demand in order.demands}
            coordinator.pace.picture_taken(began_s, coordinator.pause.is_on, kinds)
        if self._page.is_idle or pictures or state == WAITING or state.startswith(ENDED):
            step, time_s, rate = self._simulation.step_number, self._simulation.time_s, coordinator.pace.steps_per_s
            update = Update(step, time_s, status, rate, state, openings, self.keeps_checkpoints, self.told)
            self._page.send(update, *pictures)

    def _openings(self) -> dict[str, tuple[float, float]]:
        found = self._simulation.openings() or {}
        return {name: (state.flow_rate_m3_s, state.mean_pressure_pa) for name, state in found.items()}


def view(simulation: MonitoredFlow, port: int = 0) -> LiveView:
    """Show a simulation on a page while it steps, as in a notebook; a page that shows it already is closed. Collective.

    Args:
        simulation: the simulation, which hands over its steps.
        port: of the loopback interface; 0 for any free one.

    Returns:
        The view; in a notebook the page itself. ``close()`` ends it.

    Raises InputError: the port cannot be had, or the packages for the page are missing.
    """
    simulation.monitor.close()
    server, problem = None, None
    if simulation.communicator.rank == 0:
        try:
            server = open_socket(port)
        except InputError as error:
            problem = error
    if problem := simulation.communicator.broadcast(problem):
        raise problem
    return LiveView(simulation, server)


@contextmanager
def shown(
    simulation: MonitoredFlow, server: ServerSocket | None, say: Callable[[str], None], folder: Path
) -> Iterator[None]:
    """Context of a run that is shown on a page; collective.

    The address holds a secret. Where what is printed goes to a file, which others may read, it is in a file of the
    folder, for as long as the run runs.

    Args:
        server: where the page is, on rank 0; None elsewhere.
    """
    live, address = LiveView(simulation, server, keeps_checkpoints=True), folder / ADDRESS_FILE
    del simulation  # a change may put another in its place
    if server and not is_seen():
        with atomic_write(address) as temporary:
            temporary.chmod(stat.S_IRUSR | stat.S_IWUSR)
            temporary.write_text(f"{live}\n", encoding="utf-8")
        say(f"live view: its address is in {address}, which only you can read")
    else:
        say(str(live))
    try:
        yield
    finally:
        live.close()
        if server:
            with suppress(OSError):
                address.unlink()

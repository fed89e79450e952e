"""Simulation: one flow, as users build it, run it and ask it, in SI units and on any number of ranks."""

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from muphy_lb.base.errors import InputError, MuphyError
from muphy_lb.base.files.atomic import check_writable, output_errors
from muphy_lb.case.case import Case, as_case, case_from_dict
from muphy_lb.case.toml import as_override, named_path
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.source import Geometry, read
from muphy_lb.measure.observer import Observer
from muphy_lb.output.terminal import ProgressBar
from muphy_lb.parallel import agreed, agreed_on_root, connect, from_root
from muphy_lb.run.changes import changed, checked_changes, refuse_while_writing, try_change
from muphy_lb.run.checkpoint import loaded, moved_into, saved
from muphy_lb.run.criteria import Criterion, SteadyState, criterion_of, refuse_to_watch_nothing
from muphy_lb.run.folder import CHECKPOINTS, PATTERN, results_of_hours
from muphy_lb.run.loop import COMPLETED, ENDS, Loop, Run
from muphy_lb.run.progress import Clock
from muphy_lb.run.records import Outcome
from muphy_lb.run.results import Results
from muphy_lb.run.solver import Solver, steps_covering, whole_steps
from muphy_lb.run.stop_signals import Interruption
from muphy_lb.run.verdict import judge
from muphy_lb.setup.geometry import load_nodes

if TYPE_CHECKING:
    from muphy_lb.view import LiveView

TOLERANCE = 1e-4  # of :meth:`Simulation.run_until_steady`, if neither the call nor the case gives one
STOPPED = "stopped"
GO_ON = {"steady": "run_until_steady() again", "periodic": "run(time_s=...), by two beats or more"}
"""The call that continues a run, by the word of its criterion."""

KEPT = ("keep", "periodic", "spacing_m")
"""Keys of a case's geometry that hold for another one that is handed over beside it."""


class Simulation(Results):
    """One flow. ::

        from muphy_lb import Simulation
        with Simulation("vessel.toml") as sim:
            sim.run_until_steady()
            print(sim.openings["outlet"].flow_rate_m3_s)
            sim.plot().savefig("flow.png")

    The same script runs under ``mpirun``: every rank makes every call, in the same order. Numbers and records are the
    same on all ranks; arrays, Datasets, figures and PyVista's data are on rank 0, where ``is_root`` is true, and None
    elsewhere. Where ranks hand over different values, those of rank 0 hold; what fails on one rank is raised on all.

    Args:
        case: path of a case file, its tables by name, or a :class:`muphy_lb.Case`.
        geometry: where fluid is, in place of what the case says (:func:`muphy_lb.geometry.read`): a path, the name of a
            shape, a NumPy array (of integers: **0 is fluid, all else solid**), a surface of PyVista or meshio.
        spacing_m: edge of a voxel [m], in place of that of the case.
        communicator: the ranks; found by itself if not given.
        progress: whether runs show a bar; None: where somebody sees it, on a terminal or in a notebook.
        fluid_value: which values of an array or image are fluid; an array of truth values needs it, True or False.

    Attributes:
        progress: as given.
        callbacks: the functions that :meth:`every` was given.

    Raises:
        InputError: the case cannot be run; the message says why, and what to do.
    """

    def __init__(
        self,
        case: Case | str | PathLike | Mapping,
        geometry: Any = None,
        spacing_m: float | None = None,
        communicator=None,
        progress: bool | None = None,
        fluid_value: Any = None,
    ):
        ranks = communicator or connect()
        checked, given = agreed(ranks, lambda: completed(case, geometry, spacing_m, fluid_value))
        checked = ranks.broadcast(checked)
        nodes = agreed_on_root(ranks, lambda: nodes_of(checked, given))
        self._begin(Solver(checked, ranks, nodes), given, progress)

    @classmethod
    def from_case(cls, case, overrides=(), communicator=None) -> "Simulation":
        """A simulation of a case with single keys changed, such as ``["run.steps=100"]`` or ``{"run.steps": 100}``; see
        the class."""
        ranks = communicator or connect()
        return cls(from_root(ranks, lambda: as_case(case, overrides)), communicator=ranks)

    @classmethod
    def load(cls, folder: str | PathLike, communicator=None, overrides=()) -> "Simulation":
        """The simulation of a folder of :meth:`save` or of a run, as it was left there, with single keys of its case
        changed, such as ``["geometry.file=/new/place/of/vessel.stl"]``.

        A checkpoint is continued bit for bit, on any number of ranks. A run that ended without one continues from its
        field file, which holds pressure, velocity and the fields of a physics in single precision, and no more.

        Raises:
            InputError: the folder holds neither.
        """
        ranks, simulation = communicator or connect(), cls.__new__(cls)
        path = from_root(ranks, lambda: named_path(folder, "a folder"))
        simulation._begin(loaded(path, overrides, ranks))
        simulation._owned.add(_resolved(path))
        return simulation

    def _begin(self, core: Solver, geometry: Geometry | None = None, progress: bool | None = None) -> None:
        super().__init__(core, geometry)
        self.progress, self.callbacks = progress, list[Callback]()
        self._owned, self._methods = set[str](), tuple[str, ...]()
        self._written: Run | None = None
        self._is_advancing = self.wants_to_stop = False
        self._take(core)

    def _take(self, core: Solver) -> None:
        """Continue with a solver, whose physics bring methods along, such as one that sets a field of its own."""
        for name in (*self._methods, "_shear"):
            self.__dict__.pop(name, None)
        self._core = core
        self._methods = tuple(name for physics in core.physics for name in physics.methods)
        self.__dict__.update({name: getattr(core, name) for name in self._methods})

    def close(self) -> None:
        """Give back the memory of host and device; nothing can be asked from then on."""
        if self._core is None:
            return
        backend = self._core.engine.backend
        self._core.monitor.close()
        for name in (*self._methods, "_shear"):
            self.__dict__.pop(name, None)
        self._core, self.callbacks, self._geometry = None, [], None
        del self.settling, self.frozen
        gc.collect()  # engine, launches and recorded steps hold themselves in cycles
        backend.release()

    def __enter__(self) -> "Simulation":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def run(self, time_s: float | str | None = None, steps: float | None = None, folder=None) -> Outcome:
        """Run to the end of the case (``run.steps`` or ``run.time_s``), or by a time or a number of steps from now; a
        flow whose case has ``run.steady_tolerance`` or ``run.periodic_tolerance`` may end before, when it is steady or
        periodic. Without a folder nothing is written. Ctrl-C is raised after a whole step, and the flow can continue
        from there.

        Args:
            time_s: by how much to run [s], or as ``"1 ms"``; rounded up to whole steps.
            steps: by how many steps to run.
            folder: write all the files there that ``muphy-lb run`` writes: fields, series, pictures, report.

        Raises:
            DivergedError: the flow became unstable; the message says where, and what helps.
            InputError: nothing is left to run, or both a time and steps are given.
        """
        last = self._from_root(lambda: self._last_step(time_s, steps))
        folder = self._from_root(lambda: None if folder is None else named_path(folder, "a folder"))
        if folder is None:
            return self._run(last, criterion_of(self.core))
        with self._advancing("run"):
            if last != self.core.numerics.steps:
                self.change({"run.time_s": None, "run.steps": last})
            self._written = self._run_into(folder)
            try:
                with Interruption() as interruption:
                    ended, summary = self._written.execute(interruption)
            finally:
                self._written = None
        return self._outcome(ended, self.core.communicator.broadcast(summary))

    def run_until_steady(self, tolerance: float | None = None, steps: float | None = None) -> Outcome:
        """Run until what ``run.steady_watch`` names has changed by no more than a tolerance, twice in a row
        (:mod:`muphy_lb.run.criteria`); see ``is_steady`` of the outcome.

        Args:
            tolerance: allowed relative change; by default that of the case, or 1e-4.
            steps: most steps from now; by default the number of steps of the case.

        Raises:
            DivergedError: the flow became unstable.
            InputError: there is nothing to watch, or the tolerance is not above 0.
        """
        if self.case.run.periodic_tolerance is not None:
            raise InputError(
                "run_until_steady: the case has run.periodic_tolerance, and a pulsating flow is never steady; call"
                ' run(), which ends when the flow is periodic, or change({"run.periodic_tolerance": None}) before'
            )
        tolerance, most = self._from_root(lambda: self._steadiness_asked_for(tolerance, steps))
        return self._run(self.step_number + most, SteadyState(self.core, tolerance=tolerance))

    def step(self, n_steps: float = 1) -> None:
        """Advance by a whole number of steps, and look at the flow.

        Raises:
            InputError: ``n_steps`` is not whole, or negative; the call comes from a function of :meth:`every`.
            DivergedError: the flow is unstable; the message says where, and what helps.
        """
        self._step(lambda: whole_steps(n_steps))

    def run_for(self, time_s: float | str) -> None:
        """Advance by a time [s], or as ``"1 ms"``, rounded up to whole steps; as :meth:`step`."""
        self._step(lambda: steps_covering(time_s, self.units.time_step_s))

    def every(self, n_steps: int, function: Callable[["Simulation"], object] | None = None):
        """Call ``function(sim)`` from the next step on whenever the step number is a multiple of ``n_steps``, on every
        rank; also as a decorator, and from within such a function.

        The function may ask for anything, :meth:`change` the case, and :meth:`stop` the run; it cannot run the flow.
        Its exceptions come out of the call that runs the flow; ranks without one raise a MuphyError then.

        Raises:
            InputError: ``n_steps`` is not a whole number above 0, or ``function`` cannot be called.
        """
        if function is None:
            return lambda given: self.every(n_steps, given)
        number = self._from_root(lambda: whole_steps(n_steps, "every", "round it"))
        if number == 0:
            raise InputError("every: the number of steps is 0; it must be 1 or more")
        if not callable(function):
            raise InputError(f"every: the function is {function!r}; give one that takes the simulation")
        callback = Callback(self, number, function)
        self.callbacks.append(callback)
        if self._written:
            self._written.observers.append(callback)
        return function

    def forget(self, function: Callable) -> None:
        """Call a function of :meth:`every` no more.

        Raises:
            InputError: the function was never given to :meth:`every`, or is forgotten already.
        """
        kept = [each for each in self.callbacks if each.function != function]  # a method is another object each time
        if len(kept) == len(self.callbacks):
            raise InputError(
                f"forget: {shown(function)} is not a function of every(); give the one that was given there"
            )
        self.callbacks = kept

    def stop(self) -> None:
        """End the present run after this step; for functions of :meth:`every`."""
        self.wants_to_stop = True

    def change(self, changes: Mapping[str, object]) -> None:
        """Change values of the case while the flow continues: of openings, forces, walls in motion, the fluid.

            sim.change({"openings.inlet.velocity_m_s": 0.2, "fluid.kinematic_viscosity_m2_s": 4e-6})

        Values of openings are taken over at once; after all else the state moves to a new engine, and both are in
        memory for a moment. The time step stays. Without a change of a value no bit of the flow changes.

        Args:
            changes: values by dotted key of the case; None removes a key.

        Raises:
            InputError: a key that cannot change (geometry, velocity set, time step, precision), or a case that cannot
                run; the flow continues as it was.
        """
        changes = self._from_root(lambda: checked_changes(changes))
        if self._written:
            refuse_while_writing(self.core, changes)
        core = changed(self.core, changes)
        if core is not self._core:
            self._take(core)
        self.settling.begin_anew(core)
        self.frozen.follow(core)

    def view(self, port: int = 0) -> "LiveView":
        """Show the flow on a page in a browser while it steps (:mod:`muphy_lb.view`); print it for the address. As the
        last line of a notebook's cell it is the page itself. It stays open after :meth:`change`, and ends with
        ``close()`` or with the simulation.

        Args:
            port: of the loopback interface; 0 for any free one.

        Raises:
            InputError: the port cannot be had, or the package for the page is missing.
        """
        from muphy_lb.view import view

        return view(self.core, port)

    def set_velocity_m_s(self, values, stress: bool = True, consistent_pressure: bool = False) -> None:
        """Start from, or continue with, another velocity; the pressure stays unless it is computed.

        Args:
            values: (n, 3) velocity (x, y, z) [m/s] in the order of ``nodes``, on rank 0, or (3,) of all nodes.
            stress: whether the populations get the viscous stress of the field.
            consistent_pressure: whether the pressure that belongs to the field is computed.

        Raises:
            InputError: another shape, values that are not finite or too fast, or a physics that sets the flow itself.
        """
        self.core.set_velocity_m_s(values, stress, consistent_pressure)

    def set_pressure_pa(self, values, stress: bool = True) -> None:
        """Start from, or continue with, another pressure; the velocity stays.

        Args:
            values: (n,) pressure [Pa], with the reference pressure, in the order of ``nodes``, on rank 0, or one
                number for all nodes.
            stress: whether the populations keep the viscous stress of the velocity field.

        Raises:
            InputError: as of :meth:`set_velocity_m_s`.
        """
        self.core.set_pressure_pa(values, stress)

    def save(self, folder: str | PathLike, overwrite: bool = False) -> None:
        """Write case, geometry and a checkpoint to a folder, from which :meth:`load` and ``muphy-lb resume`` continue.

        Args:
            folder: made if missing.
            overwrite: whether the folder may be that of another run, whose case and checkpoints are replaced.

        Raises:
            InputError: it is that of another run.
            OutputError: it cannot be written, or a run writes there.
            DivergedError: the flow is unstable.
        """
        path, may_replace = self._from_root(lambda: (named_path(folder, "a folder"), bool(overwrite)))
        saved(self.core, self._geometry, path, may_replace or _resolved(path) in self._owned)
        self._owned.add(_resolved(path))

    def _step(self, n_steps: Callable[[], int]) -> None:
        last = self.step_number + self._from_root(n_steps)
        with self._advancing("step"):
            self._drive(last, None, Clock(), ProgressBar(0, 0, False))

    def _steadiness_asked_for(self, tolerance: float | None, steps: float | None) -> tuple[float, int]:
        if tolerance is None:
            tolerance = self.case.run.steady_tolerance or TOLERANCE
        asked = as_case(self.case, [as_override("run.steady_tolerance", tolerance)])
        refuse_to_watch_nothing(asked, self.core.header)
        most = self.core.numerics.steps if steps is None else whole_steps(steps, "run_until_steady", "round it")
        return tolerance, most

    def _last_step(self, time_s: float | str | None, steps: float | None) -> int:
        if time_s is not None and steps is not None:
            raise InputError(f"run: time_s = {time_s!r} and steps = {steps!r} are given; give one of them")
        if time_s is not None:
            return self.step_number + steps_covering(time_s, self.units.time_step_s, "run")
        if steps is not None:
            return self.step_number + whole_steps(steps, "run", "round it, or give time_s")
        last = self.core.numerics.steps
        if self.step_number >= last:
            raise InputError(
                f"run: all {last} steps of the case are made; give the additional time or steps, as in"
                f" run(steps={last})"
            )
        return last

    def _run(self, last: int, watch: Criterion | None) -> Outcome:
        """Run in memory, and judge."""
        clock, shows_bar = Clock(), self.progress if self.is_root else False
        with self._advancing("run"), ProgressBar(self.step_number, last, shows_bar, watch is not None) as bar:
            ended = self._drive(last, watch, clock, bar)
        go_on = GO_ON[watch.reason] if watch else "run_until_steady()"
        verdict = judge(
            self.core, (self.frozen, *((watch,) if watch else ())), go_on, "" if ended in (*ENDS, STOPPED) else ended
        )
        speed = {"wall_time_s": clock.wall_time_s, "mflups": clock.mflups(self.n_nodes)}
        return self._outcome(ended, verdict.record() | speed)

    def _run_into(self, folder: Path) -> Run:
        """A run to the end of the case that writes all that ``muphy-lb run`` writes; collective."""
        core = self.core
        case = moved_into(folder, core.case, self._geometry)
        self._on_root(lambda: _prepare(folder, self._geometry))
        core.case = case
        run = Run(core, folder, shows_progress=self.progress)
        run.observers += [self.settling, *self.callbacks]
        return run

    def _outcome(self, ended: str, found: Mapping) -> Outcome:
        return Outcome(
            ended=ended,
            is_steady=bool(found["steadiness"]["is_reached"]) if found["steadiness"] else None,
            step_number=self.step_number,
            time_s=self.time_s,
            wall_time_s=found["wall_time_s"],
            mflups=found["mflups"],
            verdict=found["verdict"],
            statements=tuple(found["statements"]),
            objections=tuple(found["objections"]),
            not_judged=tuple(found["not_judged"]),
        )

    @contextmanager
    def _advancing(self, call: str) -> Iterator[None]:
        """Context in which the simulation is advanced; InputError if it is already: by a callback or another thread."""
        if self._is_advancing:
            raise InputError(
                f"{call}: this simulation is being advanced; a function of every() cannot advance it further, and is"
                " called again after so many steps"
            )
        self._is_advancing, self.wants_to_stop, failure = True, False, None
        try:
            yield
        except CallbackError as error:
            failure = error.__cause__ or error
        finally:
            self._is_advancing = False
        if failure:
            raise failure

    def _drive(self, last: int, watch: Criterion | None, clock: Clock, bar: ProgressBar) -> str:
        """Advance to a step, or until an observer or a user ends it; returns the reason. Collective.

        Callbacks may :meth:`change` the case, which may put another core in place of the present one, and add or remove
        callbacks, which counts from the next step on.

        Raises:
            DivergedError: the flow became unstable; the message says where, and what helps.
            KeyboardInterrupt: Ctrl-C, after a whole step.
        """
        reason, loop = None, Loop(self.core, clock, self._observers(watch))
        with Interruption() as interruption:
            while reason is None and self.step_number < last:
                loop.simulation, loop.observers = self.core, self._observers(watch)
                target = loop.next_event(last)
                loop.step_to(target, target == last or loop.tells_walls(target))
                is_checked = target % self.case.run.check_interval_steps == 0 or target == last
                reason = self._check(loop, interruption, bar) if is_checked else None
                reason = reason or self._act(loop, watch)
                loop.simulation = self.core
                stop = partial(interruption.agreed, self.core.communicator)
                reason = reason or loop.poll(last, stop, change=partial(try_change, self.core, self.change))
            self.core.monitor.rest(loop.status(last))
        return reason or COMPLETED

    def _observers(self, watch: Criterion | None) -> list[Observer]:
        return [self.settling, self.frozen, *self.callbacks, *([watch] if watch else [])]

    def _check(self, loop: Loop, interruption: Interruption, bar: ProgressBar) -> str | None:
        """Check the health of the flow, and log it; returns the reason to end where Ctrl-C was pressed."""
        velocity_m_s = self.units.velocity_to_si(self.core.health().max_speed)
        bar.move_to(self.step_number)
        if bar.is_drawn:
            watched = "".join(f" | {text}" for observer in loop.observers if (text := observer.status()))
            speed = f"{loop.clock.mflups(self.n_nodes):.1f} MFLUPS"
            bar.tell(speed, f"max velocity {velocity_m_s:.4g} m/s{watched}")
        return interruption.agreed(self.core.communicator)

    def _act(self, loop: Loop, watch: Criterion | None) -> str | None:
        """Let those observers act that are due; returns the first reason of one to end. Each is asked, since asking is
        collective."""
        for observer in loop.observers:
            if observer.every and self.core.is_due(observer.every):
                observer.act()
        if watch:
            watch.follow(self.core)
        return next(filter(None, [observer.verdict() for observer in loop.observers]), None)


class CallbackError(MuphyError):
    """A function of a user failed; on the ranks where it did, its own exception is the cause."""


class Callback(Observer):
    """Calls a user's function after every so many steps, on every rank.

    Args:
        owner: the simulation that the function is handed.
        every: number of steps.
        function: ``function(simulation)``.
    """

    tells_walls = True

    def __init__(self, owner: "Simulation", every: int, function: Callable[["Simulation"], object]):
        self._owner, self.every, self.function = owner, every, function

    def act(self) -> None:
        """Call it, unless it has been forgotten on the way.

        Raises:
            CallbackError: it fails, on this or another rank.
        """
        if self in self._owner.callbacks:
            agreed(self._owner.core.communicator, self._call)

    def _call(self) -> None:
        try:
            self.function(self._owner)
        except MuphyError:
            raise
        except Exception as error:
            rank = self._owner.core.communicator.rank
            raise CallbackError(f"a function of every() failed on rank {rank}: {error!r}") from error

    def verdict(self) -> str | None:
        """Whether the function has asked for the end, on any rank."""
        if not self._owner.core.is_due(self.every):
            return None
        return STOPPED if self._owner.core.communicator.maximum(self._owner.wants_to_stop) else None


def completed(
    case: Case | str | PathLike | Mapping, geometry=None, spacing_m: float | None = None, fluid_value=None
) -> tuple[Case, Geometry | None]:
    """The checked case, and the geometry if that was handed over beside it.

    Args:
        case: a case, the path of its file, or its tables; tables need no ``file`` or ``shape`` beside a geometry.
        geometry: see :func:`muphy_lb.geometry.source.read`; it takes the place of that of the case, of which tables
            keep ``unit`` and ``options``, and all keep ``keep``, ``periodic`` and ``spacing_m``.
        spacing_m: edge of a voxel [m].
        fluid_value: which values of an image or array are fluid.

    Raises:
        InputError: they are not valid.
    """
    if geometry is None and spacing_m is None and fluid_value is None:
        return as_case(case), None
    if isinstance(case, Mapping):
        table, folder = deepcopy(dict(case)), Path()
        given = dict(table.get("geometry", {}))
    else:
        checked = as_case(case)
        table, folder = checked.model_dump(exclude_none=True), checked.folder
        given = {key: value for key, value in table["geometry"].items() if geometry is None or key in KEPT}
    if spacing_m is not None:
        given["spacing_m"] = spacing_m
    if fluid_value is not None:
        given["options"] = {**given.get("options", {}), "fluid_value": fluid_value}
    if geometry is None:
        return case_from_dict(table | {"geometry": given}, folder), None
    options = dict(given.pop("options", {}))
    read_with = {key: given[key] for key in ("unit", "spacing_m") if key in given}
    found = read(geometry, **read_with, **options)
    said = {key: value for key, value in given.items() if key not in ("file", "shape", "unit")} | dict(found.table)
    if "file" in said and found.content is None:
        said["file"] = str(Path(said["file"]).absolute())
    if isinstance(said.get("periodic"), str):
        said["periodic"] = list(said["periodic"])
    return case_from_dict(table | {"geometry": said}, folder), found


def nodes_of(case: Case, geometry: Geometry | None) -> NodeList | None:
    """The nodes of a geometry in memory; None where the case names a file or a shape."""
    if geometry is None or geometry.content is None:
        return None
    return load_nodes(case, geometry.content)[0]


def _resolved(folder: Path) -> str:
    """The name of a folder by which it is known again."""
    return str(folder.absolute())


def _prepare(folder: Path, geometry: Geometry | None) -> None:
    """Refuse the folder of a run whose checkpoints or long work would go, and write a geometry that is in memory."""
    check_writable(folder)
    if any((folder / CHECKPOINTS).glob(PATTERN)):
        raise InputError(
            f"run: {folder} holds checkpoints of an earlier run; give another folder, or continue with"
            " Simulation.load(folder)"
        )
    if results := results_of_hours(folder):
        raise InputError(f"run: {folder} holds {results}; give another folder, or move it away")
    if geometry is not None:
        with output_errors(folder):
            geometry.write(folder)

"""Time line of a step: when each task runs on each rank, as a table and as a trace that Perfetto shows."""

import json
import time
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from muphy_lb.base.errors import InputError
from muphy_lb.base.files.atomic import check_file, write_text
from muphy_lb.parallel.task import ON_DEVICE, ON_HOST, ON_INTERIOR, ORDERING

if TYPE_CHECKING:
    from muphy_lb.run.solver import Solver

# What every model has; the stages of its fields come behind.
STAGES = ("openings", "pack", "exchange", "unpack", "walls", "edge", "interior")
MESSAGES = ("pack", "exchange", "unpack")
QUEUES = (*ON_DEVICE, ON_HOST)


class Span(NamedTuple):
    """One run of a task: its stage and queue (:class:`muphy_lb.parallel.task.Task`), and when it began and ended,
    seconds since all ranks began together."""

    stage: str
    queue: str
    start_s: float
    end_s: float

    @property
    def seconds(self) -> float:
        """Duration [s]."""
        return self.end_s - self.start_s


def record_spans(simulation: "Solver", n_steps: int) -> list[Span]:
    """The tasks of this rank in some steps, which the step number does not count; collective.

    Every task is launched by itself here, and timed: many short ones take longer than in a run, which records them.
    """
    engine = simulation.engine
    backend = engine.backend
    launches, stamps = {}, []

    def timed(task):
        if task.queue == ORDERING:
            return task.run()
        if task.queue == ON_HOST:
            before = time.perf_counter()
            task.run()
            return stamps.append((task, before, time.perf_counter()))
        if task not in launches:
            launches[task] = backend.record([task.run], task.queue)
        before = backend.stamp(task.queue)
        launches[task]()
        return stamps.append((task, before, backend.stamp(task.queue)))

    for _ in range(2):  # the first two steps record
        engine.step_by(timed)
    backend.synchronise()
    stamps.clear()
    simulation.communicator.barrier()
    origin, host_origin = backend.stamp(ON_INTERIOR), time.perf_counter()
    for _ in range(n_steps):
        engine.step_by(timed)
    backend.synchronise()
    simulation.upload_schedule()

    def since(task, stamp):
        return stamp - host_origin if task.queue == ON_HOST else backend.seconds_between(origin, stamp)

    return [Span(task.stage, task.queue, since(task, start), since(task, end)) for task, start, end in stamps]


def stage_seconds(simulation: "Solver", n_steps: int) -> dict[str, float]:
    """Seconds per step on this rank of each stage that it has; collective."""
    total: defaultdict[str, float] = defaultdict(float)
    for span in record_spans(simulation, n_steps):
        total[span.stage] += span.seconds / n_steps
    return {stage: total[stage] for stage in (*STAGES, *total) if stage in total}


def recorded(simulation: "Solver", n_steps: int, path=None) -> str | None:
    """Record some steps on all ranks and write them to ``path``, if that is given; returns the table on rank 0. Raises
    OutputError: the file cannot be written."""
    spans_of_ranks = simulation.communicator.gather(record_spans(simulation, n_steps))
    if spans_of_ranks is None:
        return None
    if path:
        write_trace(path, spans_of_ranks)
    return stage_table(spans_of_ranks, n_steps)


def hidden_share(spans: list[Span]) -> float | None:
    """The part of the time with messages under way (packing to unpacking) in which the interior runs too; None without
    messages."""
    busy, messages = (_union([s for s in spans if s.stage in stages]) for stages in (("interior",), MESSAGES))
    whole = sum(end - start for start, end in messages)
    both = sum(max(0.0, min(a[1], b[1]) - max(a[0], b[0])) for a in busy for b in messages)
    return both / whole if whole else None


def _union(spans: list[Span]) -> list[tuple[float, float]]:
    """Disjoint stretches of time that the spans cover together."""
    stretches: list[tuple[float, float]] = []
    for span in sorted(spans, key=lambda span: span.start_s):
        if stretches and span.start_s <= stretches[-1][1]:
            stretches[-1] = (stretches[-1][0], max(stretches[-1][1], span.end_s))
        else:
            stretches.append((span.start_s, span.end_s))
    return stretches


def stage_table(spans_of_ranks: list[list[Span]], n_steps: int) -> str:
    """Microseconds per step of each stage on each rank, and how much of the messages hides behind the interior."""
    fields = dict.fromkeys(span.stage for spans in spans_of_ranks for span in spans if span.stage not in STAGES)
    stages = (*STAGES, *fields)
    rows = [("rank", *stages, "messages hidden")]
    for rank, spans in enumerate(spans_of_ranks):
        micros = [1e6 * sum(s.seconds for s in spans if s.stage == stage) / n_steps for stage in stages]
        hidden = hidden_share(spans)
        rows.append((str(rank), *(f"{t:.1f}" for t in micros), "-" if hidden is None else f"{100 * hidden:.0f} %"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in rows)


def write_trace(path, spans_of_ranks: list[list[Span]]) -> None:
    """Write spans in the trace event format, which ui.perfetto.dev and chrome://tracing open: a process per rank, a
    thread per queue. Raises OutputError: the file cannot be written."""
    events = []
    for rank, spans in enumerate(spans_of_ranks):
        events.append({"name": "process_name", "ph": "M", "pid": rank, "args": {"name": f"rank {rank}"}})
        for number, queue in enumerate(QUEUES):
            events.append({"name": "thread_name", "ph": "M", "pid": rank, "tid": number, "args": {"name": queue}})
        for span in spans:
            place = {"pid": rank, "tid": QUEUES.index(span.queue), "cat": span.queue}
            when = {"ts": round(1e6 * span.start_s, 3), "dur": round(1e6 * span.seconds, 3)}
            events.append({"name": span.stage, "ph": "X"} | place | when)
    write_text(path, json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}) + "\n")


def trace(options, say: Callable[[str], None], communicator) -> int:
    """Record some steps, print the table and write the time line; returns the exit code 0. Raises InputError: no step
    to record, or no valid case; OutputError: the file cannot be written."""
    from muphy_lb.case.case import load_case
    from muphy_lb.run.solver import Solver

    if options.steps < 1:
        raise InputError(f"trace: --steps is {options.steps}; give the number of steps to record, 1 or more")
    if communicator.rank == 0:
        check_file(options.output)
    case = communicator.broadcast(load_case(options.case, options.set) if communicator.rank == 0 else None)
    simulation = Solver(case, communicator)
    table = recorded(simulation, options.steps, options.output)
    transport = simulation.engine.transport
    say(f"microseconds a step of each stage, {options.steps} steps; halo exchange: {transport}\n{table}")
    say(f"written to {options.output}; open it at https://ui.perfetto.dev or in chrome://tracing")
    return 0

"""The table of observers: who measures a run and writes its files."""

from collections.abc import Sequence
from pathlib import Path

from muphy_lb.base.registry import offered
from muphy_lb.measure.field_snapshots import FieldSnapshots
from muphy_lb.measure.flow_series import OpeningSeries, WallSeries
from muphy_lb.measure.flow_view import FlowView, PreparedView
from muphy_lb.measure.observer import Observer
from muphy_lb.measure.period import PeriodFlowRates
from muphy_lb.measure.permeability_observer import PermeabilityObserver
from muphy_lb.measure.pictures import FlowPicture, SliceFrames
from muphy_lb.measure.probes import ProbeSeries, SegmentSeries
from muphy_lb.measure.shear.observer import WallShearObserver
from muphy_lb.output.drawing import FRAMES_FOLDER
from muphy_lb.output.report_html import REPORT_FILE
from muphy_lb.parallel import agreed
from muphy_lb.run.early import CASE_FILE
from muphy_lb.run.periodicity import Periodicity
from muphy_lb.run.steady_state import SteadyState
from muphy_lb.run.summary import SUMMARY_FILE


class PhysicsObservers(Observer):
    """The row of the observers that the physics of the case bring along."""

    files = offered("FILES")

    @classmethod
    def check(cls, view) -> None:
        """What each physics refuses."""
        for physics in view.physics:
            physics.check(view)

    @classmethod
    def create(cls, view, folder, resume_step) -> Sequence[Observer]:
        """Those of each physics, in its order."""
        return [observer for physics in view.physics for observer in physics.observers(view, folder, resume_step)]


# In the order in which they act, and in which the closing text and the report tell of them.
OBSERVERS: tuple[type[Observer], ...] = (
    OpeningSeries,
    PeriodFlowRates,
    WallShearObserver,
    PhysicsObservers,
    WallSeries,
    ProbeSeries,
    SegmentSeries,
    SteadyState,
    Periodicity,
    PermeabilityObserver,
    FieldSnapshots,
    SliceFrames,
    FlowPicture,
)


def check_observers(view: PreparedView) -> None:
    """Refuse what cannot be measured.

    Raises:
        InputError: the case asks for it.
    """
    for kind in OBSERVERS:
        agreed(view.communicator, lambda kind=kind: kind.check(view))


def remove_files(folder: Path) -> None:
    """Remove what observers of an earlier run have written to a folder."""
    for kind in OBSERVERS:
        for pattern in kind.files:
            for path in folder.glob(pattern):
                path.unlink()


def written_files(folder: Path) -> list[str]:
    """Names of the files in a folder that a run writes, sorted, of frames their pattern; what else a user keeps there
    is not among them."""
    patterns = (CASE_FILE, SUMMARY_FILE, REPORT_FILE, *(pattern for kind in OBSERVERS for pattern in kind.files))
    there = {pattern: [path for path in Path(folder).glob(pattern) if path.is_file()] for pattern in patterns}
    alone = {path.name for pattern, paths in there.items() for path in paths if FRAMES_FOLDER not in pattern}
    return sorted(alone | {pattern for pattern, paths in there.items() if paths and pattern.endswith("_*.png")})


def create_observers(view: FlowView, folder: Path, resume_step: int | None) -> list[Observer]:
    """The observers of a run, in order; collective.

    Raises:
        InputError: what the case asks for is not there to be measured.
        OutputError: a file cannot be written.
    """
    created = (
        agreed(view.communicator, lambda kind=kind: kind.create(view, folder, resume_step)) for kind in OBSERVERS
    )
    return [observer for observers in created for observer in observers]

"""Pictures that a run draws on its way, ``frames/NAME_STEP.png``, and the film of them, ``film.gif``."""

from pathlib import Path

from muphy_lb.base.files.atomic import check_writable, is_own_file, output_errors
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.output.drawing import FRAMES_FOLDER, drawing, frame_files

FILM_FILE = "film.gif"


class Frames:
    """The frames of a run, on rank 0: files alone know of them, so a resumed run goes on with its film.

    Args:
        view: the flow.
        folder: output folder.
        name: of the frames.
        resume_step: frames up to that step are kept; None for a new run.

    Raises:
        OutputError: the folder cannot be written.
    """

    def __init__(self, view: FlowView, folder: Path, name: str, resume_step: int | None):
        self._folder, self._name = folder, name
        self._makes_film = view.case.output.film
        with output_errors(folder):
            for step, path in self.drawn().items():
                if resume_step is None or step > resume_step:
                    path.unlink()
        check_writable(folder / FRAMES_FOLDER)

    def file(self, step: int) -> str:
        """The frame of a step, beside the other files of the run."""
        return frame_files(self._name).replace("*", f"{step:08d}")

    def drawn(self) -> dict[int, Path]:
        """The frames that are there by step, ascending."""
        paths = self._folder.glob(frame_files(self._name))
        steps = {path: path.stem.rpartition("_")[2] for path in paths if is_own_file(path)}
        return dict(sorted((int(step), path) for path, step in steps.items() if step.isdecimal()))

    def make_film(self) -> None:
        """Make the film, if the case asks for it and there are frames."""
        pictures = list(self.drawn().values())
        if self._makes_film and pictures:
            from muphy_lb.output.film import write_film

            with drawing(FILM_FILE):
                write_film(self._folder / FILM_FILE, pictures)

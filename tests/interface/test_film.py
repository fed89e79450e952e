"""output.film: frames of one scale on the way, and a film of them that a resumed run continues with."""

import numpy as np
import pytest
from matplotlib.image import imread
from PIL import Image, ImageSequence

from muphy_lb.base.errors import InputError
from muphy_lb.measure.pictures import SliceFrames
from muphy_lb.output.film import write_film
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.loop import Run
from muphy_lb.run.observers import written_files
from muphy_lb.run.solver import Solver
from tests.channel import open_channel

BEATING = {"velocity_m_s": 2e-3, "waveform": {"period_s": 0.2, "cosine": [0.9]}}
FILM = {"film": True, "frames_every_steps": 10}


def run(folder, resume=False, steps=40, **output):
    """The channel with a beating inlet, run: its simulation and its observer of frames."""
    case = open_channel(inlet=BEATING, run={"steps": steps}, output={"checkpoint_every_steps": 20} | output)
    simulation = Solver(case, SerialCommunicator())
    started = Run(simulation, folder, resume)
    started.execute()
    return simulation, next((each for each in started.observers if isinstance(each, SliceFrames)), None)


def n_frames(folder):
    with Image.open(folder / "film.gif") as film:
        return film.n_frames


def names(folder):
    return sorted(path.name for path in (folder / "frames").glob("*.png"))


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Folder, simulation and observer of a run with a film."""
    folder = tmp_path_factory.mktemp("film") / "out"
    return folder, *run(folder, **FILM)


def test_a_film_has_all_frames_and_changes_no_bit(done, tmp_path):
    folder, simulation, _ = done
    assert names(folder) == [f"speed_{step:08d}.png" for step in (10, 20, 30, 40)]
    assert n_frames(folder) == 4
    without, observer = run(tmp_path)
    assert observer is None and not (tmp_path / "frames").exists() and not (tmp_path / "film.gif").exists()
    assert np.array_equal(simulation.engine.populations(), without.engine.populations())


def test_the_closing_text_names_many_frames_once(done):
    folder, *_ = done
    assert [name for name in written_files(folder) if "speed" in name] == ["frames/speed_*.png"]


def test_all_frames_have_the_scale_of_the_fastest(done):
    folder, _, observer = done
    assert set(observer._drawn_with) == {10, 20, 30, 40}
    assert len(set(observer._drawn_with.values())) == 1
    low, high, _ = observer._drawn_with[40]
    kept = [np.load(path)["values"] for path in sorted((folder / "frames").glob("*.npz"))]
    fastest = max(np.nanpercentile(values, 99.7) for values in kept)
    assert low == 0.0 and fastest <= high < 2.5 * fastest
    bars = [imread(path)[:, -300:] for path in sorted((folder / "frames").glob("*.png"))]
    assert all(np.array_equal(bar, bars[0]) for bar in bars)


def test_a_resumed_run_goes_on_with_the_film(done, tmp_path):
    folder, _, observer = done
    run(tmp_path, steps=20, **FILM)
    before = n_frames(tmp_path)
    _, resumed = run(tmp_path, resume=True, **FILM)
    assert (before, n_frames(tmp_path)) == (2, 4)
    assert resumed._drawn_with == observer._drawn_with
    for name in names(folder):
        assert np.array_equal(imread(tmp_path / "frames" / name), imread(folder / "frames" / name))


def test_frames_show_another_field(tmp_path):
    run(tmp_path, frames_every_steps=20, frames_field="pressure")
    assert names(tmp_path) == ["pressure_00000020.png", "pressure_00000040.png"]
    assert not (tmp_path / "film.gif").exists()
    run(tmp_path, resume=False, steps=20)
    assert not (tmp_path / "frames").exists() or not any((tmp_path / "frames").iterdir())


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ({"film": True}, "film = true and no frames_every_steps"),
        ({"frames_field": "pressure"}, 'frames_field = "pressure" and no frames_every_steps'),
        ({"frames_every_steps": 5, "frames_field": "colour"}, "frames_field is 'colour'"),
        (
            {"frames_every_steps": 5, "frames_field": "temperature"},
            r"temperature in output.frames_field but no \[thermal\]",
        ),
    ],
)
def test_what_cannot_be_filmed_is_refused(tmp_path, output, message):
    with pytest.raises(InputError, match=message):
        run(tmp_path, **output)


def test_a_film_shows_its_pictures(tmp_path):
    paths = []
    for number in range(5):
        pixels = np.full((60, 96, 3), 255, dtype=np.uint8)
        pixels[10:40, 10 * number : 10 * number + 20] = (200, 30 * number, 40)
        paths.append(tmp_path / f"{number}.png")
        Image.fromarray(pixels).save(paths[-1])
    write_film(tmp_path / "a.gif", paths)
    with Image.open(tmp_path / "a.gif") as film:
        assert film.info["loop"] == 0
        for path, frame in zip(paths, ImageSequence.Iterator(film), strict=True):
            with Image.open(path) as wanted:
                wanted = np.asarray(wanted.resize(film.size, Image.Resampling.LANCZOS), dtype=float)
            assert np.abs(np.asarray(frame.convert("RGB")) - wanted).mean() < 4.0

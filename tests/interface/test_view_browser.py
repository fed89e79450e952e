"""A run that is watched and steered from a browser."""

import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

from tests.vessel import write_case

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.night,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="there is no chromium with its driver"),
]
PATIENCE_S = 120.0
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync --window-size=1500,900"
).split()
SLOW_RUN = """
import sys, time
from muphy_lb.__main__ import main
from muphy_lb.run.solver import Solver
advance = Solver.advance
def slowly(simulation, n_steps, is_told=True):
    n_updates = advance(simulation, n_steps, is_told)
    time.sleep(0.05 * n_steps)
    return n_updates
Solver.advance = slowly
sys.exit(main(sys.argv[1:]))
"""
MODELS = "return [...Bokeh.documents[0]._all_models.values()]"
NUMBER = (
    f"{MODELS}.filter(m => m.type == 'ColumnDataSource' && 'number' in m.data).map(m => [...m.data.number][0] || 0)"
)
TEXT = f"{MODELS}.filter(m => m.type == 'Div').map(m => m.text).join(' ')"
PRESS = """
const found = [], left = [document];
while (left.length) for (const element of left.pop().querySelectorAll('*')) {
  if (element.matches('.bk-btn') && element.textContent.trim() == arguments[0]) found.push(element);
  if (element.shadowRoot) left.push(element.shadowRoot);
}
return found[0]
"""


class Browser:
    """A page in a browser."""

    def __init__(self, url, profile):
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
        self.driver.get(url)

    @property
    def number(self):
        return max(self.driver.execute_script(NUMBER))

    @property
    def text(self):
        return self.driver.execute_script(TEXT)

    @property
    def step(self):
        return int(re.search(r"step ([\d,]+) of", self.text).group(1).replace(",", ""))

    def press(self, label):
        wait_for(lambda: self.driver.execute_script(PRESS, label).click() is None)  # the page may just redraw it


def wait_for(condition):
    """Wait until a condition holds; a page that is still loading raises in it."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            if condition():
                return
        except Exception as error:
            last = error
        time.sleep(0.1)
    raise TimeoutError(f"it never came to that: {locals().get('last')}")


@pytest.fixture
def watched(tmp_path):
    """A slow run, its output folder, and the address of its page."""
    case = write_case(tmp_path, compute={"backend": "numpy"}, run={"steps": 10**6})
    log, out = tmp_path / "log", tmp_path / "out"
    words = [sys.executable, "-c", SLOW_RUN, "run", str(case), "-o", str(out), "--view"]
    with log.open("w") as file:
        process = subprocess.Popen(words, stdout=file, stderr=subprocess.STDOUT)
    wait_for(lambda: "live view: " in log.read_text())
    said = (out / "view.txt").read_text()
    yield process, out, re.search(r"live view: (\S+)", said).group(1)
    process.send_signal(signal.SIGKILL)
    process.wait()


SEEN = """
const found = [], left = [document];
while (left.length) for (const element of left.pop().querySelectorAll('*')) {
  if (element.matches('canvas')) found.push(element.getBoundingClientRect());
  if (element.shadowRoot) left.push(element.shadowRoot);
}
const box = found.sort((one, other) => other.width - one.width)[0];
return [box.left, box.top, innerWidth - box.right, innerHeight - box.bottom, box.width, box.height]
"""


@pytest.mark.parametrize("size", [(800, 600), (1280, 800)])
def test_all_of_the_picture_is_seen_at_first(watched, tmp_path, size):
    browser = Browser(watched[2], tmp_path / "profile")
    browser.driver.set_window_size(*size)
    browser.driver.refresh()
    wait_for(lambda: browser.number > 1)
    wait_for(lambda: min(browser.driver.execute_script(SEEN)) >= 0)  # scripts of the page make it smaller
    *_, width, height = browser.driver.execute_script(SEEN)
    assert width > 0.5 * size[0] and height > 0.4 * size[1]
    browser.driver.quit()


def test_a_run_is_watched_and_steered(watched, tmp_path):
    process, out, url = watched
    first = Browser(url, tmp_path / "first")
    wait_for(lambda: first.number > 2)
    second = Browser(url, tmp_path / "second")
    wait_for(lambda: second.number > 0)
    first.press("Pause")
    wait_for(lambda: "paused" in first.text and "paused" in second.text)
    step = first.step
    first.press("One step")
    wait_for(lambda: first.step == step + 1)
    first.press("Write a checkpoint")
    wait_for(lambda: list((out / "checkpoints").glob(f"*{step + 1}.h5")))
    assert first.step == step + 1
    first.press("One step")
    wait_for(lambda: first.step == step + 2)
    first.press("Go back to the last checkpoint")
    wait_for(lambda: first.driver.execute_script(PRESS, "Press again to go back"))
    first.press("Press again to go back")
    wait_for(lambda: first.step == step + 1 and f"back at step {step + 1}" in first.text)
    second.driver.service.process.kill()
    first.press("Go on")
    number = first.number
    wait_for(lambda: first.number > number + 2)
    first.press("Stop the run")
    wait_for(lambda: first.driver.execute_script(PRESS, "Press again to stop"))
    first.press("Press again to stop")
    assert process.wait(PATIENCE_S) == 75
    wait_for(lambda: "ended: stopped by the live view" in first.text)
    assert (out / "summary.json").exists()
    first.driver.quit()

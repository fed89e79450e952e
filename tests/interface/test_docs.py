"""The site: it is built without a warning, opens without a server, and what its pages tell users to do works."""

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from muphy_lb.__main__ import COMMANDS, PREPARING
from muphy_lb.apps.study.section import StudySection
from muphy_lb.case.case import Case
from muphy_lb.geometry.__main__ import main as geometry
from muphy_lb.partition.__main__ import main as partition
from tests.structure.source import ROOT, modules
from tests.vessel import command

DOCS = ROOT / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
LARGEST_GALLERY = 1_500_000
TUTORIALS = sorted(path.stem for path in (DOCS / "tutorials").glob("*.md"))
# What makes a command of a tutorial a matter of a second; of each verb, and of a file.
QUICK = ["--set=run.steps=8", "--set=run.ramp_steps=4", "--set=compute.backend=numpy", "--set=output.picture=false"]
SHORT = {"run": [*QUICK, "--set=run.time_s="], "permeability": [QUICK[2]], "study": ["--set=run.steps=200", QUICK[1]]}
SHORT["drainage"] = ["--settled-within=0.9", "--set=run.steps=20", QUICK[2]]
SHORT["relative-permeability"] = ["--set=two_fluid.known_within=0.9", "--set=output.series_every_steps=1", QUICK[2]]
SHORT["relative-permeability"] += ["--set=run.steps=64", "--set=output.frames_every_steps=32"]
COARSE = {
    "vessel.toml": ["--set=geometry.spacing_m=3e-4", "--set=fluid.kinematic_viscosity_m2_s=1e-5"],
    "beat.toml": ["--set=geometry.spacing_m=4e-4"],
    "uncertain_vessel.toml": ["--set=geometry.spacing_m=5e-4"],
    "cavity.toml": ["--set=geometry.options.size=16"],
}
SMALLER = {
    "size = 24": "size = 10",
    "samples = 40": "samples = 3",
    "--across 14": "--across 6",
    "--spacing-m 2e-4": "--spacing-m 5e-4",
}
# These ask for more than one process of this machine, or for what another command has measured on GPUs.
ELSEWHERE = ("doctor", "scaling")


class Links(HTMLParser):
    """The places that a page leads to, and the names of places on it."""

    def __init__(self, page: Path):
        super().__init__()
        self.targets, self.loaded, self.names = set(), set(), set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        """Collect what an element names and where it leads."""
        given = dict(attributes)
        self.names.add(given.get("id"))
        if tag == "a" and given.get("href"):
            self.targets.add(given["href"])
        if tag in ("script", "img", "link") and (place := given.get("src") or given.get("href")):
            self.loaded.add(place)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, built with warnings as errors; this executes the notebooks, and what they assert holds."""
    missing = [name for name in ("sphinx", "myst_nb", "ipykernel", "furo") if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed; pip install 'muphy_lb[docs]'")
    folder = tmp_path_factory.mktemp("site")
    words = ["-W", "--keep-going", "-q", "-d", folder / "doctrees", DOCS, folder / "html"]
    # Notebooks choose how they draw; what the tests set for themselves would leave their pages without figures.
    own = {name: text for name, text in os.environ.items() if name != "MPLBACKEND"}
    done = subprocess.run([sys.executable, "-m", "sphinx", *words], cwd=ROOT, env=own, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "html"


@cache
def links(page: Path) -> Links:
    return Links(page)


@pytest.mark.night
def test_every_link_of_the_site_leads_somewhere(site):
    broken = []
    for page in site.rglob("*.html"):
        for target in map(urlsplit, links(page).targets | links(page).loaded):
            if target.scheme:
                continue
            there = (page.parent / unquote(target.path)).resolve() if target.path else page
            named = not target.fragment or there.suffix != ".html" or target.fragment in links(there).names
            if not there.exists() or not named:
                broken.append(f"{page.relative_to(site)}: {target.geturl()}")
    assert not broken, "\n".join(broken)


@pytest.mark.night
def test_no_page_loads_anything_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        assert not [place for place in links(page).loaded if urlsplit(place).scheme not in ("", "data")], page


@pytest.mark.night
def test_the_reference_knows_every_command_and_the_keys_of_every_physics(site):
    text = (site / "reference" / "commands.html").read_text()
    assert all(f"usage: muphy-lb {name}" in text for name in (*COMMANDS, *PREPARING, "doctor"))
    text = (site / "reference" / "case.html").read_text()
    for key in (
        "spacing_m",
        "[[openings]]",
        "[openings.windkessel]",
        "[thermal]",
        "[free_surface.bubbles]",
        "[particles.bonds]",
        "rate_per_s",
        "cumulant",
    ):
        assert key in text
    assert 'class="sig' in (site / "reference" / "api.html").read_text()


def test_the_pictures_of_the_gallery_are_small():
    found = list((DOCS / "gallery").iterdir())
    assert found and sum(path.stat().st_size for path in found) < LARGEST_GALLERY
    assert all((ROOT / "examples" / f"{path.stem}.toml").exists() for path in found)


@pytest.mark.night
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_page_of_a_notebook_shows_what_it_drew_and_said(site, path):
    page = (site / "notebooks" / f"{path.stem}.html").read_text()
    assert "_images/" in page and page.count('class="cell_output') > 1


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path):
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert cells and not any(cell["outputs"] or cell["execution_count"] for cell in cells)


def blocks(name: str):
    """(language, text) of every piece of code of a tutorial, in order; indented lines are commands."""
    language, lines = None, []
    for line in [*(DOCS / "tutorials" / f"{name}.md").read_text(encoding="utf-8").splitlines(), ""]:
        if line.startswith("```"):
            if language:
                yield language, "\n".join(lines)
            language, lines = (None if language else line[3:]), []
        elif language:
            lines.append(line)
        elif line.startswith("    muphy-lb "):
            yield "command", line.strip()


def smaller(text: str) -> str:
    for given, instead in SMALLER.items():
        text = text.replace(given, instead)
    return text


def obey(line: str) -> None:
    """Execute a command line of a tutorial, on less."""
    words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', smaller(line))][1:]
    verb = words[0]
    if verb in ELSEWHERE:
        return
    if verb in PREPARING:
        assert {"geometry": geometry, "partition": partition}[verb](words[1:]) == 0
        return
    more = [word for name in words for word in COARSE.get(name, ())] if verb in ("run", "info", "study") else []
    ends = (0, 1, 6) if verb == "relative-permeability" else (0, 6)  # 1: in so few steps no mean flow is known
    assert command(*words, *more, *SHORT.get(verb, ())) in ends


@pytest.mark.night
@pytest.mark.parametrize("name", TUTORIALS)
def test_what_a_tutorial_says_works(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for language, text in blocks(name):
        if language == "python":
            exec(compile(smaller(text), f"{name}.md", "exec"), {})
        elif language == "command":
            obey(text)


def tables_of(spec: dict, defined: dict):
    """The tables that a key of the case file may hold, one or a list of them."""
    if "$ref" in spec:
        yield from tables_of(defined[spec["$ref"].rpartition("/")[2]], defined)
    for one in (*spec.get("anyOf", ()), spec.get("items", {})):
        yield from tables_of(one, defined) if one else ()
    if "properties" in spec:
        yield spec["properties"]


def unknown_keys(given: dict, spec: dict, defined: dict):
    known = list(tables_of(spec, defined))
    for key, value in given.items() if known else ():
        specs = [table[key] for table in known if key in table]
        if not specs:
            yield key
        for entry in value if isinstance(value, list) else [value]:
            if isinstance(entry, dict):
                yield from unknown_keys(entry, {"anyOf": specs}, defined)


def test_every_piece_of_a_case_that_a_page_shows_has_keys_that_there_are():
    schema, study, n_pieces = Case.model_json_schema(), StudySection.model_json_schema(), 0
    schema["$defs"] |= study["$defs"]
    schema["properties"] |= {"study": study, "case": {"type": "string"}}
    for page in (ROOT / "README.md", *DOCS.rglob("*.md")):
        for piece in re.findall(r"^```toml\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            unknown, n_pieces = list(unknown_keys(tomllib.loads(piece), schema, schema["$defs"])), n_pieces + 1
            assert not unknown, f"{page}: {unknown}"
    assert n_pieces > 10 and list(unknown_keys({"fluid": {"densty": 1}}, schema, schema["$defs"])) == ["densty"]


def texts_of_the_program() -> str:
    """Every text that the program may say, what is filled in left out; those of scripts as they are."""
    found = [path.read_text() for path in (ROOT / "scripts" / "bootstrap", ROOT / "run_mpi.sh")]
    for module in modules():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.JoinedStr):
                found.append("".join(part.value if isinstance(part, ast.Constant) else "\0" for part in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return "\n".join(found)


def test_every_message_of_the_page_is_one_of_the_program():
    rows = re.findall(r"^\* - (.*)\n", (DOCS / "faq.md").read_text(), re.MULTILINE)
    messages = [message for row in rows for message in re.findall(r"`([^`]+)`", row)]
    assert len(messages) > 15
    said = texts_of_the_program()
    unknown = {piece for message in messages for piece in message.split("...") if piece.strip() not in said}
    assert not unknown

"""What is published: the solver, its laboratory beside it, and a source archive that holds all that is kept."""

import configparser
import fnmatch
import re
import subprocess

import pytest

from tests.structure.source import ROOT

# setuptools adds these by itself.
AUTOMATIC = ("MANIFEST.in", "pyproject.toml", "setup.cfg", "LICENSE", "muphy_lb")

LINKED, LABORATORY = ("geometry", "partition", "examples"), ("bench", "validation")  # below muphy_lb by links


def config() -> configparser.ConfigParser:
    found = configparser.ConfigParser()
    found.read(ROOT / "setup.cfg")
    return found


def tracked(*folders: str) -> list[str]:
    """Files of the repository below some folders."""
    try:
        done = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        pytest.skip("no git")
    return done.stdout.splitlines() if done.returncode == 0 else pytest.skip("not a checkout")


def test_only_one_name_is_installed():
    assert config()["options.packages.find"]["include"].split() == ["muphy_lb*"]


@pytest.mark.parametrize("name", ["validation", "bench"])
def test_a_distribution_of_the_laboratory_has_all_its_folders(name):
    found = configparser.ConfigParser()
    found.read(ROOT / name / "setup.cfg")
    folders = [path.parent.relative_to(ROOT) for path in (ROOT / name).rglob("__init__.py")]
    listed = found["options"]["packages"].split()
    assert sorted(listed) == sorted(".".join(["muphy_lb", *folder.parts]) for folder in folders)
    assert f"muphy_lb.{name}*" in config()["options.packages.find"]["exclude"]
    assert found["metadata"]["version"] == config()["metadata"]["version"]


def test_the_source_archive_holds_every_file_that_is_kept():
    kept = {line.split("/")[0] for line in tracked() if not line.startswith(".")}
    orders = [line.split() for line in (ROOT / "MANIFEST.in").read_text().splitlines()]
    patterns = [word for order, *words in orders if order in ("include", "graft") for word in words]
    left_out = {name for name in kept if not any(fnmatch.fnmatch(name, pattern) for pattern in patterns)}
    assert left_out <= set(AUTOMATIC)


def test_every_file_beside_the_modules_is_in_the_wheel():
    patterns = config()["options.package_data"]["muphy_lb"].replace("\n", ",").split(",")
    patterns = [pattern.strip() for pattern in patterns if pattern.strip()]
    inside = [name.removeprefix("muphy_lb/") for name in tracked("muphy_lb", *LINKED)]
    data = [name for name in inside if not name.endswith(".py") and name not in (*LINKED, *LABORATORY)]
    left_out = [name for name in data if not any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]
    assert data and not left_out, f"setup.cfg, options.package_data, does not name {left_out}"


def names_and_bounds(lines: list[str]) -> dict[str, str]:
    """The bounds of each requirement by its name, as conda writes them; markers and lists of extras are left out."""
    found = {}
    for line in lines:
        name, bounds = re.match(r"([\w-]+)(?:\[.*?\])? *([^;]*)", line).groups()
        found.setdefault(name, bounds.strip())
    return found


def test_the_conda_recipe_asks_for_what_the_package_needs():
    recipe = (ROOT / "conda" / "recipe" / "recipe.yaml").read_text()
    lists = recipe.partition("  run:\n")[2].partition("  #")[0]
    asked = names_and_bounds([line.strip(" -") for line in lists.splitlines()])
    asked["matplotlib"] = asked.pop("matplotlib-base")  # without what draws windows
    needs = names_and_bounds(config()["options"]["install_requires"].split("\n")[1:])
    assert asked == needs | {"python": config()["options"]["python_requires"]}
    assert f"version: {config()['metadata']['version']}" in recipe


@pytest.mark.parametrize("place", ["container/Containerfile", "docs/install.md", "README.md", "run_mpi.sh"])
def test_extras_that_texts_name_are_there(place):
    known = set(config()["options.extras_require"])
    text = (ROOT / place).read_text()
    lists = re.findall(r"(?:muphy_lb|\.)\[([a-z0-9,]+)\]|EXTRAS=([a-z0-9,]+)|\",(cuda\d*)\"", text)
    named = {name for groups in lists for group in groups for name in group.split(",") if name}
    assert named and named <= known


def test_an_extra_with_another_name_holds_the_same():
    extras = config()["options.extras_require"]
    assert extras["cuda"].split() == ["muphy_lb[gpu]"]


def test_the_readme_is_a_front_page():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 100
    targets = re.findall(r"\]\(([^)#:]+)\)", text)
    assert any(target.endswith(".jpg") for target in targets)
    assert not [target for target in targets if not (ROOT / target).exists()]

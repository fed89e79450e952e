"""Remedies are taken literally: commands, options, keys and values that messages tell exist, and they work."""

import ast
import configparser
import json
import re
from collections.abc import Iterator
from functools import cache

from pydantic import ValidationError

from muphy_lb.__main__ import COMMANDS, DOCTOR, PREPARING
from muphy_lb.case.case import Case
from muphy_lb.case.section import Section
from tests.case_tables import sections
from tests.interface.test_every_command import documented
from tests.structure.source import ROOT, Module, modules

WRONG = ("xyz", "5 parsec", -1, -1.5, 0, 1e29, True, [], [1, 2], ["a", 1], {}, {"a": 1})
"""Values of every kind, some of which any key refuses."""
OF_OTHERS = frozenset(
    (
        "--help",
        "--version",
        "--raw",
        "--query-gpu",
        "--force-reinstall",
        "--signal",
        "--mpi",
        "--always",
        "--dirty",
        "--tags",
    )
)
"""Options of other programs (dcmdjpeg, nvidia-smi, pip, sbatch, srun, git), and those of all commands."""
FORM = re.compile(r"as in ('[^']*'|\"[^\"]*\"|\[[^\]]*\]|-?\d[\d.e+-]*)")
BOUND = re.compile(r"(greater|less) than( or equal to)? (-?[\d.e+-]+)")
CHOICE = re.compile(r"must be ('[^']*'(?:, '[^']*')*(?: or '[^']*')?)")


@cache
def messages() -> tuple[tuple[str, str], ...]:
    """Place and text of every text of the product that is no docstring; what a run fills in stands as ``{}``."""
    return tuple(told for module in modules() for told in _of_module(module))


def _of_module(module: Module) -> Iterator[tuple[str, str]]:
    docstrings = {
        id(node.value)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    inside = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.JoinedStr):
            inside.update(id(part) for part in ast.walk(node) if part is not node)
            text = "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if id(node) not in docstrings and id(node) not in inside:
            yield f"{module.place}:{node.lineno}", text


@cache
def options() -> dict[str, set[str]]:
    """The options of every command."""
    return {
        command: {word for one in documented(command) for word in one} for command in (*COMMANDS, *PREPARING, *DOCTOR)
    }


def test_commands_in_messages_exist_with_their_options():
    wrong = []
    for place, text in messages():
        for command, rest in re.findall(r"muphy-lb (?!needs|with)([a-z]+)((?: (?!muphy-lb)[^;,()]*)?)", text):
            if command not in options():
                wrong.append((place, command))
            else:
                wrong += [
                    (place, command, o)
                    for o in re.findall(r"(?<!\S)--[a-z-]+", rest)
                    if o not in options()[command] | OF_OTHERS
                ]
    assert not wrong, "\n".join(map(str, wrong))


def test_options_in_messages_exist():
    known = OF_OTHERS.union(*options().values())
    wrong = [
        (place, o)
        for place, text in messages()
        for o in re.findall(r"(?<![\w-])--[a-z][a-z-]+", re.sub("#SBATCH.*", "", text))
        if o not in known
    ]
    assert not wrong, "\n".join(map(str, wrong))


def test_extras_in_messages_exist():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    extras = set(setup["options.extras_require"])
    told = [(place, extra) for place, text in messages() for extra in re.findall(r"muphy_lb\[(\w+)\]", text)]
    assert told and [each for each in told if each[1] not in extras] == []


def test_keys_in_messages_exist():
    keys = {f"{path}.{key}".lstrip(".") for path, section in sections() for key in section.all_fields()}
    top = "|".join(Case.model_fields)
    wrong = []
    for place, text in messages():
        for told in re.findall(rf"(?<![\w./])(?:{top})\.[a-z_0-9]+(?:\.[a-z_0-9]+)*(?![\w(/])", text):
            held = "." in told and Case.model_fields[told.split(".")[0]]
            free = told.startswith("geometry.options") or any(told.startswith(f"{k}.") for k in keys if k.endswith("s"))
            if (
                held
                and told not in keys
                and not free
                and not told.endswith((".py", ".csv", ".h5", ".toml", ".json", ".npy", ".ply"))
            ):
                wrong.append((place, told))
    assert not wrong, "\n".join(map(str, wrong))


def complaint(section: type[Section], key: str, value) -> str | None:
    """The complaint of a table about the value of a key; None without."""
    try:
        section.model_validate({key: value}, context={"folder": ROOT})
    except ValidationError as error:
        for problem in error.errors(include_url=False):
            if problem["loc"] == (key,) and problem["msg"].startswith("is ") and ": " in problem["msg"]:
                return problem["msg"]
    return None


def remedies(told: str) -> Iterator[tuple]:
    """The values that a complaint tells to give: a form, each choice, a number at the bound; or one of several."""
    told = re.sub(r" \([^()]*(\([^()]*\)[^()]*)*\)$", "", told.partition(": ")[2])
    for form in FORM.findall(told):
        yield (ast.literal_eval(form),)
    for side, closed, bound in BOUND.findall(told):
        number, beyond = json.loads(bound), 1 if side == "greater" else -1
        yield (number,) if closed else (number + beyond, number + 1e-3 * beyond)
    for choices in CHOICE.findall(told):
        yield from ((choice,) for choice in re.findall(r"'([^']*)'", choices))


KEYS = sorted({(path, section, key) for path, section in sections() for key in section.all_fields()}, key=str)


def test_values_that_complaints_of_keys_tell_are_taken():
    taken, wrong = 0, []
    for path, section, key in KEYS:
        for value in WRONG:
            told = complaint(section, key, value)
            for remedy in remedies(told) if told else ():
                taken += 1
                if all(complaint(section, key, choice) for choice in remedy):
                    wrong.append(f"{path}.{key} {told}\n    takes none of {remedy}")
    assert not wrong, "\n".join(wrong)
    assert taken > 300

"""What the site says about the program by asking it: keys of the case file, commands, the gallery, files of the root.

A line ``<!-- generated: NAME ARGUMENT -->`` of a page is replaced by what the function for NAME returns. So no list of
keys or options is written by hand, and none can be out of date.
"""

import argparse
import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

ROOT = Path(__file__).resolve().parents[1]
MARKER = re.compile(r"<!-- generated: ([\w-]+) ?(.*?) -->")
SITE_OF = {
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/": "benchmarks.md",
    "benchmarks/README.md": "benchmarks.md",
    "examples/README.md": "examples.md",
    "CHANGELOG.md": "changelog.md",
}
"""Pages of the site that hold files of the repository."""

MOST_DEFAULT = 40
"""Letters of a default that is shown in a table."""


def setup(app):
    """Sphinx asks for this: fill the markers when a page is read."""
    app.connect("source-read", _fill)
    return {"parallel_read_safe": True}


def _fill(_app, _page, source) -> None:
    source[0] = MARKER.sub(lambda match: GENERATORS[match[1]](match[2]), source[0])


def case_keys(_argument: str) -> str:
    """Every key of the case file: a part for each table, a row for each key."""
    from muphy_lb.case.case import Case

    schema = Case.model_json_schema()
    defined, properties = schema["$defs"], schema["properties"]
    top = {name: spec for name, spec in properties.items() if not _tables_of(spec, defined)[0]}
    parts = ["## At the top", "", *_rows(top, schema.get("required", ()))]
    for name, spec in properties.items():
        parts += _section(name, spec, defined, in_list=False)
    return "\n".join(parts)


def study_keys(_argument: str) -> str:
    """Every key of a study, likewise."""
    from muphy_lb.apps.study.section import StudySection

    schema = StudySection.model_json_schema()
    return "\n".join(_section("study", schema, schema["$defs"], in_list=False))


def _section(path: str, spec: dict, defined: dict, in_list: bool) -> Iterator[str]:
    """The part of the page for a table of the case file, then those of the tables inside it."""
    tables, is_list = _tables_of(spec, defined)
    heading = f"[[{path}]]" if is_list else f"[{path}]"
    for table in tables:
        inner = {key: value for key, value in table["properties"].items() if _tables_of(value, defined)[0]}
        plain = {key: value for key, value in table["properties"].items() if key not in inner}
        yield from (f"## `{heading}`{_kind_of(table) if len(tables) > 1 else ''}", "", table.get("description", ""), "")
        if in_list:
            yield from ("(belongs to the entry of the list above it)", "")
        yield from _rows(plain, table.get("required", ()))
        for key, value in inner.items():
            yield from _section(f"{path}.{key}", value, defined, in_list or is_list)


def _kind_of(table: dict) -> str:
    """What tells a table from others that may stand in its place, as the end of a heading."""
    fixed = [f"`{key} = {json.dumps(spec['const'])}`" for key, spec in table["properties"].items() if "const" in spec]
    return f" with {', '.join(fixed)}"


def _tables_of(spec: dict, defined: dict) -> tuple[list[dict], bool]:
    """The tables of which a key holds one, and whether it holds a list of them; no table for a plain value."""
    for one in (spec, *spec.get("anyOf", ())):
        for held, is_list in ((one, False), (one.get("items", {}), True)):
            choices = (held, *held.get("anyOf", ()))
            named = [defined[each["$ref"].rpartition("/")[2]] if "$ref" in each else each for each in choices]
            found = [each for each in named if "properties" in each]
            if found:
                return found, is_list
    return [], False


def _rows(keys: dict, required) -> Iterator[str]:
    """A table of keys."""
    if not keys:
        return
    yield from ("| key | value | default | meaning |", "|---|---|---|---|")
    for key, spec in keys.items():
        default = "**must be given**" if key in required else _default(spec.get("default"))
        meaning = " ".join(spec.get("description", "").split()).replace("|", r"\|")
        yield f"| `{key}` | {_kind(spec)} | {default} | {meaning} |"
    yield ""


def _default(value) -> str:
    if value is None:
        return ""
    text = json.dumps(value)
    return f"`{text}`" if len(text) <= MOST_DEFAULT else "see below"


def _kind(spec: dict) -> str:
    """What a key takes, as text."""
    if "anyOf" in spec:
        kinds = (_kind(one) for one in spec["anyOf"] if one.get("type") != "null")
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in spec:
        return ", ".join(f"`{value}`" for value in spec["enum"])
    if "const" in spec:
        return f"`{spec['const']}`"
    if spec.get("type") == "array":
        items = spec.get("items", {})
        return f"list of {_plural(_kind(items))}" if items else "list"
    words = {"number": "number", "integer": "whole number", "string": "text", "boolean": "true or false"}
    return words.get(spec.get("type"), "table") + _bounds(spec)


def _plural(kind: str) -> str:
    return re.sub(r"^(number|whole number|table)\b", r"\1s", kind)


def _bounds(spec: dict) -> str:
    """The bounds of a number in words; empty without any."""
    signs = {
        "exclusiveMinimum": "above",
        "minimum": "at least",
        "ge": "at least",
        "exclusiveMaximum": "below",
        "maximum": "at most",
        "le": "at most",
    }
    found = [f"{words} {spec[name]:g}" for name, words in signs.items() if name in spec]
    return f", {', '.join(found)}" if found else ""


def commands(_argument: str) -> str:
    """What every command answers to ``--help``."""
    parts = []
    for name, parser in _parsers():
        parser.formatter_class = _wide
        parts += [f"## `muphy-lb {name}`", "", "```text", parser.format_help().rstrip(), "```", ""]
    return "\n".join(parts)


def _wide(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, width=110, max_help_position=32)


def _parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command with its parser."""
    from muphy_lb.__main__ import COMMANDS, PREPARING
    from muphy_lb.doctor.command import parser as doctor

    for name, command in COMMANDS.items():
        parser = argparse.ArgumentParser(prog=f"muphy-lb {name}", description=command.text)
        command.add_options(parser)
        yield name, parser
    for name in PREPARING:
        yield name, import_module(f"muphy_lb.{name}.__main__")._parser()
    yield "doctor", doctor()


def api(_argument: str) -> str:
    """What ``from muphy_lb import ...`` offers, one object after the other."""
    import muphy_lb

    offered = {name: getattr(muphy_lb, name) for name in sorted(muphy_lb.__all__)}
    here = {
        name: thing for name, thing in offered.items() if getattr(thing, "__module__", "") != "muphy_lb.base.errors"
    }
    return "\n".join(line for name, thing in here.items() for line in _documented(name, thing))


def _documented(name: str, thing) -> Iterator[str]:
    kind = "class" if isinstance(thing, type) else "function" if callable(thing) else "module"
    module = thing.__name__ if kind == "module" else f"muphy_lb.{name}"
    members = [":members:", ":inherited-members: BaseModel"] if kind == "class" else []
    members = [":members:", ":imported-members:"] if kind == "module" else members
    yield from (f"## `{name}`", "", "```{eval-rst}", f".. auto{kind}:: {module}")
    yield from (f"   {option}" for option in members)
    yield from ("```", "")


def gallery(_argument: str) -> str:
    """The pictures that ``docs/make_gallery`` has made, each with the first sentence of its example."""
    from muphy_lb.new.examples import _subject

    parts = []
    for picture in sorted((ROOT / "docs" / "gallery").glob("*.jpg")):
        name = picture.stem
        parts += [f"## {name.replace('_', ' ')}", "", _subject(ROOT / "examples" / f"{name}.toml"), ""]
        parts += [f"![{name}](gallery/{picture.name})", "", f"    muphy-lb run examples/{name}.toml", ""]
    return "\n".join(parts)


def included(name: str) -> str:
    """A text file of the repository as the content of a page: links lead to pages of the site."""
    text = (ROOT / name).read_text(encoding="utf-8")
    for target, page in SITE_OF.items():
        text = text.replace(f"]({target})", f"]({page})")
    return text


def paper(name: str) -> str:
    """A table of a paper, with what was measured beside it."""
    from paper_tables import page_table

    return page_table(name)


def shapes(_argument: str) -> str:
    """The shapes that need no file, with the options that each takes."""
    from muphy_lb.base.registry import sections
    from muphy_lb.geometry.shapes.catalogue import SHAPES

    others = [pair for module in sections().values() for pair in getattr(module, "SHAPES", {}).items()]
    parts = [f"`{other}` is another name of `{name}`.\n" for other, name in others]
    for name, make in sorted(SHAPES.items()):
        place = f"{make.__module__}.{make.__qualname__}"
        parts += [f"### `{name}`", "", "```{eval-rst}", f".. autofunction:: {place}", "```", ""]
    return "\n".join(parts)


def example(name: str) -> str:
    """A case file of the examples, as it is."""
    text = (ROOT / "examples" / f"{name}.toml").read_text(encoding="utf-8").rstrip()
    return f"```toml\n{text}\n```"


def script(name: str) -> str:
    """A script of ``docs/scripts``, as it is."""
    text = (ROOT / "docs" / "scripts" / f"{name}.py").read_text(encoding="utf-8").rstrip()
    return f"```python\n{text}\n```"


def scripts(_argument: str) -> str:
    """All scripts of ``docs/scripts``, each below its name."""
    found = sorted((ROOT / "docs" / "scripts").glob("*.py"))
    return "\n\n".join(f"## `{path.name}`\n\n{script(path.stem)}" for path in found)


GENERATORS = MappingProxyType(
    {
        "api": api,
        "case": case_keys,
        "commands": commands,
        "example": example,
        "file": included,
        "gallery": gallery,
        "paper": paper,
        "script": script,
        "scripts": scripts,
        "shapes": shapes,
        "study": study_keys,
    }
)

"""A case as commented TOML: every key that is set with its description, followed by the keys that are not set."""

import json
from collections.abc import Iterator, Mapping, Set
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args, get_origin

from pydantic.fields import FieldInfo

from muphy_lb.case.case import Case
from muphy_lb.case.choice import OneOf
from muphy_lb.case.section import Section
from muphy_lb.case.toml import toml_lines

COMMENT_COLUMN = 40
FURTHER = "# further keys, with their default values:"


class Proposal(NamedTuple):
    """A table that a case could have: its values, and a remark on them."""

    values: Mapping[str, Any]
    remark: str


Proposals = Mapping[str, Proposal]
NONE: Proposals = MappingProxyType({})


def case_text(table: Mapping, head: str, proposals: Proposals = NONE) -> str:
    """A case file.

    Args:
        table: nested tables of a case, as ``tomllib`` returns them; they must be valid.
        head: text of its first lines, without comment characters.
        proposals: tables that it does not have, by dotted key, which are written as comments.

    Returns:
        TOML equivalent to ``table``, each key followed by its description in the case's sections.
    """
    lines = [f"# {line}".rstrip() for line in head.splitlines()]
    lines += [_assignment(key, value, _meaning(Case, key)) for key, value in table.items() if not _is_nested(value)]
    for name, field in Case.model_fields.items():
        section = _section_type(field.annotation)
        if section is not None:
            lines += _section_lines((name, field), section, table.get(name), proposals)
    return "\n".join(lines) + "\n"


def _section_lines(named: tuple[str, FieldInfo], section: type[Section], value, proposals: Proposals) -> Iterator[str]:
    name, field = named
    is_list = get_origin(field.annotation) is tuple
    header = f"[[{name}]]" if is_list else f"[{name}]"
    if value is None and (is_list or field.default is None):
        yield ""
        yield _commented(f"# {header}", Case.meaning_of(name))
        return
    explained: set[str] = set()
    for number, entry in enumerate(value if is_list else [value or {}]):
        yield ""
        yield _commented(header, "" if number else Case.meaning_of(name))
        yield from _table_lines(name, section, entry, explained, proposals)
        explained |= entry.keys()


def _table_lines(
    path: str, section: type[Section], table: Mapping, explained: Set[str], proposals: Proposals
) -> Iterator[str]:
    plain = {key: value for key, value in table.items() if not _is_nested(value)}
    for key, value in plain.items():
        yield _assignment(key, value, "" if key in explained else _meaning(section, key))
    if not explained:
        yield from _further_lines(path, section, table, proposals)
    for key, value in table.items():
        if key not in plain:
            yield ""
            yield _commented(f"[{path}.{key}]", section.meaning_of(key))
            yield from toml_lines(value, f"{path}.{key}.")


def _further_lines(path: str, section: type[Section], table: Mapping, proposals: Proposals) -> Iterator[str]:
    unset = {name: field for name, field in section.all_fields().items() if name not in table}
    if unset:
        yield FURTHER
    for name, field in unset.items():
        if _section_type(field.annotation) is not None:
            yield _commented(f"# [{path}.{name}]", section.meaning_of(name))
            if proposal := proposals.get(f"{path}.{name}"):
                yield f"# {proposal.remark}:"
                yield from (f"# {line}" for line in toml_lines(proposal.values))
        else:
            default = field.get_default(call_default_factory=True)
            text = f"# {name}" if default is None else f"# {name} = {json.dumps(default)}"
            yield _commented(text, _meaning(section, name))


def _assignment(key: str, value, meaning: str) -> str:
    return _commented(next(toml_lines({key: value})), meaning)


def _meaning(section: type[Section], key: str) -> str:
    field, meaning = section.all_fields()[key], section.meaning_of(key)
    allowed = [
        *_words(field.annotation),
        *(name for one in field.metadata if isinstance(one, OneOf) for name in one.names),
    ]
    is_told = all(word in meaning for word in allowed)
    return meaning if is_told else f"{meaning} (one of {', '.join(allowed)})"


def _words(annotation) -> Iterator[str]:
    if get_origin(annotation) is Literal:
        yield from (str(word) for word in get_args(annotation))
    else:
        for argument in get_args(annotation):
            yield from _words(argument)


def _section_type(annotation: Any) -> type[Section] | None:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    found = (_section_type(argument) for argument in get_args(annotation))
    return next((section for section in found if section is not None), None)


def _is_nested(value) -> bool:
    entries = value if isinstance(value, list | tuple) else [value]
    return bool(entries) and all(isinstance(entry, Mapping) for entry in entries)


def _commented(text: str, comment: str | None) -> str:
    return f"{text:<{COMMENT_COLUMN}} # {' '.join(comment.split())}" if comment else text

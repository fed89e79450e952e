"""Everything public says what it is."""

import ast

from tests.structure.source import Definition, definitions, modules, report


def is_public(item: Definition) -> bool:
    """Whether others can see a definition: in no function, and no part of its name starts with an underscore."""
    return not item.is_inner and not any(name.startswith("_") for name in item.name.split("."))


def test_every_module_has_a_docstring():
    offenders = [module.place for module in modules() if not ast.get_docstring(module.tree)]
    assert not offenders, report(offenders)


def test_every_public_class_and_function_has_a_docstring():
    offenders = [item.place for item in definitions() if is_public(item) and not ast.get_docstring(item.node)]
    assert not offenders, report(offenders)

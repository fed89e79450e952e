"""No monsters: limits that keep functions and files readable.

They are not aims. A function or a file ends where its subject does, mostly long before; none is split, and none filled,
to meet a number.
"""

import ast

import pytest

from tests.structure.source import DEFINITIONS, Definition, functions, modules, report

MAX_BODY = 60
MAX_ARGUMENTS = 8
MAX_COMPILED_ARGUMENTS = 12  # compiled code takes plain arrays, not records
MAX_DEPTH = 3
MAX_FILE = 600
BLOCKS = (ast.For, ast.While, ast.If, ast.With, ast.Try, ast.Match)


def body_lines(function: Definition) -> int:
    """Lines of a function from its first statement after the docstring to its last."""
    node = function.node
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def allowed_arguments(function: Definition) -> int:
    """Most arguments that a function may have: more where it is compiled (in a factory, or decorated with njit)."""
    decorated = any("njit" in ast.unparse(decorator) for decorator in function.node.decorator_list)
    return MAX_COMPILED_ARGUMENTS if function.is_inner or decorated else MAX_ARGUMENTS


def argument_names(function: Definition) -> list[str]:
    """Names of a function's arguments, ``self`` and ``cls`` aside."""
    arguments = function.node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return [item.arg for item in every if item is not None and item.arg not in ("self", "cls")]


def depth(node: ast.AST) -> int:
    """Deepest nesting of blocks below a node; inner functions count for themselves, ``elif`` adds no level."""
    children = [child for child in ast.iter_child_nodes(node) if not isinstance(child, DEFINITIONS)]
    return max((is_level(child, node) + depth(child) for child in children), default=0)


def is_level(child: ast.AST, parent: ast.AST) -> bool:
    """Whether a node opens one more level of nesting."""
    is_elif = isinstance(parent, ast.If) and isinstance(child, ast.If) and parent.orelse == [child]
    return isinstance(child, BLOCKS) and not is_elif


def test_function_bodies_are_short():
    offenders = [
        f"{item.place}: {body_lines(item)} lines, allowed {MAX_BODY}"
        for item in functions()
        if body_lines(item) > MAX_BODY
    ]
    assert not offenders, report(offenders)


def test_functions_take_few_arguments():
    offenders = [
        f"{item.place}: {len(argument_names(item))} arguments, allowed {allowed_arguments(item)}"
        for item in functions()
        if len(argument_names(item)) > allowed_arguments(item)
    ]
    assert not offenders, report(offenders)


def test_functions_are_flat():
    offenders = [
        f"{item.place}: {depth(item.node)} levels, allowed {MAX_DEPTH}"
        for item in functions()
        if depth(item.node) > MAX_DEPTH
    ]
    assert not offenders, report(offenders)


def test_files_are_short():
    counts = {module.place: len(module.path.read_text().splitlines()) for module in modules()}
    offenders = [f"{place}: {count} lines, allowed {MAX_FILE}" for place, count in counts.items() if count > MAX_FILE]
    assert not offenders, report(offenders)


SAMPLE = '''
def sample(a, b, *c, d=0, **e):
    """Two blocks deep."""
    for i in a:
        if i:
            pass
        elif b:
            pass
        else:
            pass
'''


@pytest.mark.parametrize(
    ("measure", "value"), [(body_lines, 7), (lambda item: len(argument_names(item)), 5), (lambda i: depth(i.node), 2)]
)
def test_the_measures_are_right_on_a_known_function(measure, value):
    node = ast.parse(SAMPLE).body[0]
    assert measure(Definition(modules()[0], "sample", node)) == value

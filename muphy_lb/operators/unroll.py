"""Turns the readable loops of a node function into straight-line code.

A loop over populations keeps its array and its lattice constants in memory once the body grows; straight-line code
keeps them in registers, and terms with a zero component disappear. The generated text is kept where tracebacks and
debuggers find it (``linecache``), and as ``__generated_source__`` of the function.
"""

import ast
import copy
import inspect
import linecache
import textwrap

FOLDED = (ast.Mult, ast.Add, ast.Sub)


def unroll(function):
    """Unroll every ``for name in range(constant)`` of a closure; fold the entries 0, 1 and -1 of its constant tuples.

    Args:
        function: a function whose free variables hold the constants (integers, and tuples of typed scalars).

    Returns:
        A function with the same arguments; its free variables are globals, which compilers freeze.
    """
    constants = dict(inspect.getclosurevars(function).nonlocals)
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    definition = tree.body[0]
    definition.decorator_list = []
    unroller = _Unroller(constants)
    definition.body = unroller.statements(definition.body)
    text = ast.unparse(ast.fix_missing_locations(tree))
    file_name = f"<unrolled {function.__module__}.{function.__qualname__} {id(function):x}>"
    linecache.cache[file_name] = (len(text), None, text.splitlines(keepends=True), file_name)
    namespace = dict(function.__globals__) | constants | unroller.scalars
    exec(compile(text, file_name, "exec"), namespace)  # the text comes from this package's own functions
    unrolled = namespace[definition.name]
    unrolled.__generated_source__ = text
    return unrolled


class _Unroller(ast.NodeTransformer):
    """Rewrites statements; ``scalars`` collects the tuple entries it names, e.g. ``w_3``."""

    def __init__(self, constants):
        self.constants = constants
        self.scalars = {}

    def statements(self, body) -> list:
        """Rewritten statements, loops replaced by their repetitions, additions of nothing left out."""
        result = []
        for statement in body:
            if isinstance(statement, ast.For) and self._trip_count(statement) is not None:
                for k in range(self._trip_count(statement)):
                    result += self.statements(_with_index(statement, k))
                continue
            rewritten = self.visit(statement)
            if not self._adds_nothing(rewritten):
                result.append(rewritten)
        return result

    def visit_Subscript(self, node):
        """``w[3]`` of a constant tuple becomes the name ``w_3``."""
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Constant):
            constant = self.constants.get(node.value.id)
            if isinstance(constant, tuple):
                return self._named(f"{node.value.id}_{node.slice.value}", constant[node.slice.value])
        return node

    def visit_BinOp(self, node):
        """Fold products with 0, 1, -1 and sums with 0."""
        self.generic_visit(node)
        if not isinstance(node.op, FOLDED):
            return node
        left, right = self._value(node.left), self._value(node.right)
        if isinstance(node.op, ast.Mult):
            return self._product(node, left, right)
        if right == 0:
            return node.left
        if left == 0:
            return node.right if isinstance(node.op, ast.Add) else ast.UnaryOp(ast.USub(), node.right)
        return node

    def _product(self, node, left, right):
        if left == 0 or right == 0:
            return node.left if left == 0 else node.right
        for value, other in ((left, node.right), (right, node.left)):
            if value == 1:
                return other
            if value == -1:
                return ast.UnaryOp(ast.USub(), other)
        return node

    def _trip_count(self, loop) -> int | None:
        call = loop.iter
        if not (isinstance(call, ast.Call) and getattr(call.func, "id", "") == "range" and len(call.args) == 1):
            return None
        return self.constants.get(getattr(call.args[0], "id", None), getattr(call.args[0], "value", None))

    def _adds_nothing(self, statement) -> bool:
        added = isinstance(statement, ast.AugAssign) and isinstance(statement.op, (ast.Add, ast.Sub))
        return added and self._value(statement.value) == 0

    def _value(self, node):
        """Value of a node that names a tuple entry, else None."""
        return self.scalars.get(node.id) if isinstance(node, ast.Name) else None

    def _named(self, name, value):
        self.scalars[name] = value
        return ast.Name(name, ast.Load())


def _with_index(loop, k: int) -> list:
    """Copy of a loop's body with the loop variable replaced by ``k``."""

    class Substitute(ast.NodeTransformer):
        def visit_Name(self, node):
            return ast.Constant(k) if node.id == loop.target.id else node

    return [Substitute().visit(copy.deepcopy(statement)) for statement in loop.body]

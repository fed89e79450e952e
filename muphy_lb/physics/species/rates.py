"""Rate laws of a case: a small language of arithmetic, read into a checked syntax tree.

A law is an expression of numbers, names of species and of constants, ``+ - * / **`` with whole exponents, and the
functions of ``FUNCTIONS``. Nothing else is allowed, so that a case file cannot run code.
"""

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import CodeType

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.case.section import did_you_mean
from muphy_lb.geometry.limits import cut

FUNCTIONS = {"exp": 1, "sqrt": 1, "min": 2, "max": 2}  # with the number of their arguments
OF_ARRAYS = {"exp": np.exp, "sqrt": np.sqrt, "min": np.minimum, "max": np.maximum}
OF_NUMBERS = {"exp": math.exp, "sqrt": math.sqrt, "min": min, "max": max}
OPERATIONS = ast.Add | ast.Sub | ast.Mult | ast.Div
MOST_CHARACTERS, MOST_PARTS, LARGEST_EXPONENT = 1000, 2000, 8


@dataclass(frozen=True)
class RateLaw:
    """A rate law of a case. ``tree``: its expression, in which each species is the entry of a vector ``c``."""

    key: str  #: of the case, for messages
    text: str  #: as given
    tree: ast.expr

    def __call__(self, values: Sequence | np.ndarray) -> np.ndarray:
        """The rate [unit/s] at values of all species, numbers or arrays."""
        return eval(self._code, {"__builtins__": {}} | OF_ARRAYS, {"c": values})  # a tree that its reader has checked

    @cached_property
    def _code(self) -> CodeType:
        return compile(ast.fix_missing_locations(ast.Expression(self.tree)), self.key, "eval")


def read_law(key: str, text: str, species: Sequence[str], constants: Mapping[str, float]) -> RateLaw:
    """The rate law of a text. Raises InputError: it is no expression of the language, or has an unknown name."""
    if len(text) > MOST_CHARACTERS:
        raise InputError(f"{key} has {len(text)} characters; at most {MOST_CHARACTERS} are allowed")
    both = sorted(set(species) & set(constants))
    if both:
        raise InputError(f"{key}: {both[0]!r} is the name of a species and of a constant; rename one of them")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        return RateLaw(key, text, _Reader(key, text, species, constants).visit(tree))
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise InputError(f"{key} = {cut(text)!r} is not an expression ({error}); write it like '-k * a * b'") from error


class _Reader(ast.NodeTransformer):
    """Checks a tree and puts numbers and entries of ``c`` in the place of names."""

    def __init__(self, key: str, text: str, species: Sequence[str], constants: Mapping[str, float]):
        self._about, self._species, self._constants = f"{key} = {cut(text)!r}", list(species), constants

    def generic_visit(self, node):
        """Refuse everything else."""
        what = ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__
        allowed = f"numbers, names, + - * / **, {', '.join(FUNCTIONS)}"
        raise InputError(f"{self._about} has {what!r}, which is not allowed; allowed: {allowed}")

    def visit_BinOp(self, node):
        """Sums, products and whole powers, which become products."""
        if isinstance(node.op, ast.Pow):
            return self._power(node)
        if not isinstance(node.op, OPERATIONS):
            return self.generic_visit(node)
        return ast.BinOp(self.visit(node.left), node.op, self.visit(node.right))

    def _power(self, node):
        count = getattr(node.right, "value", None)
        if type(count) is not int or not 1 <= count <= LARGEST_EXPONENT:
            raise InputError(
                f"{self._about} has the exponent {ast.unparse(node.right)}; allowed: whole numbers from 1 to"
                f" {LARGEST_EXPONENT}"
            )
        found = base = self.visit(node.left)
        if count * sum(1 for _ in ast.walk(base)) > MOST_PARTS:
            raise InputError(
                f"{self._about} has powers of powers with more than {MOST_PARTS} factors; write it shorter"
            )
        for _ in range(count - 1):
            found = ast.BinOp(found, ast.Mult(), base)
        return found

    def visit_UnaryOp(self, node):
        """Signs."""
        if not isinstance(node.op, ast.USub | ast.UAdd):
            return self.generic_visit(node)
        return ast.UnaryOp(node.op, self.visit(node.operand))

    def visit_Constant(self, node):
        """Numbers."""
        if type(node.value) not in (int, float) or not math.isfinite(node.value):
            return self.generic_visit(node)
        return ast.Constant(float(node.value))

    def visit_Name(self, node):
        """Species and constants."""
        if node.id in self._species:
            entry = ast.Constant(self._species.index(node.id))
            return ast.Subscript(ast.Name("c", ast.Load()), entry, ast.Load())
        if node.id in self._constants:
            return ast.Constant(float(self._constants[node.id]))
        known = [*self._species, *self._constants, *FUNCTIONS]
        hyphens = "; a name with - cannot stand in a law" if any("-" in name for name in known) else ""
        remedy = did_you_mean(node.id, known) + hyphens
        raise InputError(f"{self._about} names {node.id!r}, which is neither a species nor a constant; {remedy}")

    def visit_Call(self, node):
        """Functions."""
        name = getattr(node.func, "id", "")
        if name not in FUNCTIONS or node.keywords or len(node.args) != FUNCTIONS[name]:
            return self.generic_visit(node)
        return ast.Call(ast.Name(name, ast.Load()), [self.visit(argument) for argument in node.args], [])

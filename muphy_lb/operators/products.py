"""Node functions whose products are computed by a function of one's own."""

import ast
import dis
import inspect
import textwrap

from muphy_lb.operators.unroll import function_from

NAME = "_product"
PRODUCTS = ("*", "*=")


def with_product(function, product):
    """The function with ``product(a, b)`` in the place of every ``a * b`` of its text.

    Args:
        function: a node function, unrolled or not; one that multiplies is no lambda, whose text cannot be found.
        product: what a compiler takes for a function of two numbers.

    Raises:
        ValueError: a lambda that multiplies.
    """
    if not any(each.opname == "BINARY_OP" and each.argrepr in PRODUCTS for each in dis.get_instructions(function)):
        return function
    text = getattr(function, "__generated_source__", None) or textwrap.dedent(inspect.getsource(function))
    tree = ast.parse(text)
    if not isinstance(tree.body[0], ast.FunctionDef):
        raise ValueError(f"{function.__qualname__} multiplies, and is no def")
    names = dict(inspect.getclosurevars(function).nonlocals) | {NAME: product}
    return function_from(_Products().visit(tree), function, "with products", names)


class _Products(ast.NodeTransformer):
    def visit_BinOp(self, node):
        """``a * b``."""
        self.generic_visit(node)
        return _call(node.left, node.right) if isinstance(node.op, ast.Mult) else node

    def visit_AugAssign(self, node):
        """``a *= b`` of a variable ``a``."""
        self.generic_visit(node)
        if not isinstance(node.op, ast.Mult):
            return node
        return ast.Assign([node.target], _call(ast.Name(node.target.id, ast.Load()), node.value))


def _call(left, right):
    return ast.Call(ast.Name(NAME, ast.Load()), [left, right], [])

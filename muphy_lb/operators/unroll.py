"""Unrolls the readable loops of a node function into straight-line code, or gives it products of one's own.

In a loop with a large body, compilers keep the populations and the lattice constants in memory; in straight-line code
they stay in registers, and terms with a zero component disappear. For the same reason a local vector,
``moment = [zero] * n_rows``, becomes that many scalars ``moment_0``, ``moment_1``, ..., and the whole of it a tuple of
them. The generated text is kept where tracebacks and debuggers find it (``linecache``), and as ``__generated_source__``
of the function.
"""

import ast
import dis
import inspect
import linecache
import operator
import textwrap

INTEGER_ARITHMETIC = {ast.Mult: operator.mul, ast.Add: operator.add, ast.Sub: operator.sub}
FOLDED = tuple(INTEGER_ARITHMETIC)


def unroll(function):
    """Unroll every ``for name in range(constant)`` of a closure; fold the entries 0, 1 and -1 of its constant tuples.

    Args:
        function: a function whose free variables hold the constants: integers, and tuples of typed scalars, of plain
            integers (which serve as indices), or of such tuples.

    Returns:
        A function with the same arguments; its free variables are globals, which compilers freeze.
    """
    constants = dict(inspect.getclosurevars(function).nonlocals)
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    definition = tree.body[0]
    definition.decorator_list = []
    unroller = _Unroller(constants)
    definition.body = unroller.statements(definition.body)
    return function_from(tree, function, "unrolled", constants | unroller.scalars)


def function_from(tree: ast.Module, function, what: str, names: dict):
    """The function that a syntax tree defines, in place of the one that the tree was made from.

    Args:
        tree: of the function's text.
        function: gives its module, its name, and globals.
        what: has become of it, for the name of its text.
        names: further globals.
    """
    text = ast.unparse(ast.fix_missing_locations(tree))
    file_name = f"<{what} {function.__module__}.{function.__qualname__} {id(function):x}>"
    linecache.cache[file_name] = (len(text), None, text.splitlines(keepends=True), file_name)
    namespace = dict(function.__globals__) | names
    exec(compile(text, file_name, "exec"), namespace)  # the text comes from this package's own functions
    made = namespace[function.__name__]
    made.__generated_source__ = text
    return made


class _Unroller(ast.NodeTransformer):
    """Rewrites statements. ``scalars`` collects the tuple entries that it names, e.g. ``w_3``, and ``vectors`` the
    lengths of local vectors."""

    def __init__(self, constants):
        self.constants = constants
        self.scalars = {}
        self.vectors = {}

    def statements(self, body) -> list:
        """Rewritten statements, loops replaced by their repetitions, additions of nothing left out."""
        result = []
        for statement in body:
            n_trips = self._trip_count(statement)
            if n_trips is not None:
                for k in range(n_trips):
                    result += self.statements(_with_index(statement.body, statement.target.id, k))
                continue
            if self._is_local_vector(statement):
                result += self._scalars_of(statement)
                continue
            rewritten = self.visit(statement)
            if not self._adds_nothing(rewritten):
                result.append(rewritten)
        return result

    def visit_For(self, node):
        """A loop whose length is not constant stays; those in it are unrolled."""
        node.body = self.statements(node.body) or [ast.Pass()]
        return node

    def visit_While(self, node):
        """The same of a loop that ends by a condition."""
        node.test = self.visit(node.test)
        return self.visit_For(node)

    def visit_If(self, node):
        """The same of a condition."""
        node.test = self.visit(node.test)
        node.body, node.orelse = self.statements(node.body) or [ast.Pass()], self.statements(node.orelse)
        return node

    def visit_Name(self, node):
        """The name of a local vector becomes the tuple of its scalars."""
        if node.id not in self.vectors:
            return node
        return ast.Tuple([ast.Name(f"{node.id}_{k}", node.ctx) for k in range(self.vectors[node.id])], node.ctx)

    def visit_Subscript(self, node):
        """``w[3]`` becomes the name ``w_3``, of a constant tuple or a local vector; ``M[2][3]`` becomes ``M_2_3``."""
        node.slice = self.visit(node.slice)
        if not isinstance(node.value, ast.Name):
            node.value = self.visit(node.value)
        k = self._integer(node.slice)
        if not (isinstance(node.value, ast.Name) and type(k) is int):
            return node
        name = f"{node.value.id}_{k}"
        if node.value.id in self.vectors:
            return ast.Name(name, node.ctx)
        constant = self.scalars.get(node.value.id, self.constants.get(node.value.id))
        if not isinstance(constant, tuple):
            return node
        return ast.Constant(constant[k]) if type(constant[k]) is int else self._named(name, constant[k])

    def visit_BinOp(self, node):
        """Fold products with 0, 1, -1 and sums with 0."""
        self.generic_visit(node)
        if not isinstance(node.op, FOLDED):
            return node
        if isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant):
            return ast.Constant(INTEGER_ARITHMETIC[type(node.op)](node.left.value, node.right.value))
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

    def _trip_count(self, statement) -> int | None:
        """Number of repetitions of ``for name in range(constant)``; None for any other statement."""
        if not isinstance(statement, ast.For):
            return None
        call = statement.iter
        if not (isinstance(call, ast.Call) and getattr(call.func, "id", "") == "range" and len(call.args) == 1):
            return None
        return self._integer(call.args[0])

    def _integer(self, node) -> int | None:
        """Value of a literal or of a name of a constant, else None."""
        return self.constants.get(getattr(node, "id", None), getattr(node, "value", None))

    def _is_local_vector(self, statement) -> bool:
        """Whether a statement reads ``name = [value] * constant``."""
        value = statement.value if isinstance(statement, ast.Assign) else None
        if not isinstance(value, ast.BinOp):
            return False
        return isinstance(value.left, ast.List) and self._integer(value.right) is not None

    def _scalars_of(self, statement) -> list:
        """One assignment for each entry of a local vector."""
        (target,), (value,) = statement.targets, statement.value.left.elts
        self.vectors[target.id] = self._integer(statement.value.right)
        value = self.visit(value)
        return [ast.Assign([name], value) for name in self.visit(target).elts]

    def _adds_nothing(self, statement) -> bool:
        added = isinstance(statement, ast.AugAssign) and isinstance(statement.op, (ast.Add, ast.Sub))
        return added and self._value(statement.value) == 0

    def _value(self, node):
        """Value of a node that names a tuple entry, else None."""
        return self.scalars.get(node.id) if isinstance(node, ast.Name) else None

    def _named(self, name, value):
        self.scalars[name] = value
        return ast.Name(name, ast.Load())


def _with_index(node, name: str, k: int):
    """Copy of a syntax tree, or of a list of them, with the variable ``name`` replaced by the number ``k``."""
    if isinstance(node, list):
        return [_with_index(item, name, k) for item in node]
    if isinstance(node, ast.Name) and node.id == name:
        return ast.Constant(k)
    if not isinstance(node, ast.AST):
        return node
    return type(node)(**{field: _with_index(value, name, k) for field, value in ast.iter_fields(node)})


NAME = "_product"
PRODUCTS = ("*", "*=")


def with_product(function, product):
    """The function with ``product(a, b)`` in the place of every ``a * b`` of its text.

    Args:
        function: a node function, unrolled or not; one that multiplies is no lambda, whose text cannot be found.
        product: what a compiler takes for a function of two numbers.

    Raises ValueError: a lambda that multiplies.
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
        """Call the product for ``a * b``."""
        self.generic_visit(node)
        return _call(node.left, node.right) if isinstance(node.op, ast.Mult) else node

    def visit_AugAssign(self, node):
        """Call the product for ``a *= b`` of a variable ``a``."""
        self.generic_visit(node)
        if not isinstance(node.op, ast.Mult):
            return node
        return ast.Assign([node.target], _call(ast.Name(node.target.id, ast.Load()), node.value))


def _call(left, right):
    return ast.Call(ast.Name(NAME, ast.Load()), [left, right], [])

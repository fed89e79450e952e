"""A digest of what a function computes: its byte code, and every constant, function and global name that it uses. Two
functions with the same digest compile to the same machine code; names, places in a file and addresses do not count, nor
does what else is in their modules. Of libraries the names count: callers that keep digests must distinguish
versions."""

import builtins
import dis
import hashlib
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range, slice)
LIBRARIES = ("numba", "numpy", "llvmlite", *sys.stdlib_module_names)


class NoDigestError(Exception):
    """A value that no digest can cover; the message names it."""


def digest(function) -> str:
    """Hexadecimal digest of a function, compiled or not, with all that it calls. Raises NoDigestError: it depends on an
    object that is neither data nor a function."""
    text = hashlib.sha256()
    for piece in _pieces(function, {}):
        text.update(piece.encode() if isinstance(piece, str) else piece)
        text.update(b"\0")
    return text.hexdigest()


def _pieces(value, seen: dict) -> Iterator[str | bytes]:
    """The pieces by which values differ, one by one; a value that was met before by its number."""
    if isinstance(value, PLAIN):
        yield f"{type(value).__name__} {value!r}"
        return
    if id(value) in seen:
        yield f"seen {seen[id(value)][0]}"
        return
    seen[id(value)] = len(seen), value  # kept, lest another gets its id
    if is_compiled(value):
        yield f"compiled with {sorted(value.targetoptions.items())}"
        yield from _pieces(value.py_func, seen)
    elif is_intrinsic(value):
        yield f"intrinsic {value._prefer_literal} {sorted(value._ctor_kwargs.items())}"
        yield from _pieces(value._defn, seen)
    elif isinstance(value, FunctionType):
        yield from _of_function(value, seen)
    elif isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
        yield f"named tuple {value._fields}"  # all that compiled code knows of it, beside values left out
        yield from _pieces(tuple(vars(value)["_field_defaults"].items()), seen)
    elif isinstance(value, CodeType):
        yield from _of_code(value, seen)
    else:
        yield from _of_data(value, seen)


def is_compiled(value) -> bool:
    """Whether it is a function that Numba compiles; for CPUs and GPUs they are different classes."""
    return hasattr(value, "py_func") and hasattr(value, "targetoptions")


def is_intrinsic(value) -> bool:
    """Whether it generates instructions; for CPUs and GPUs they are different classes."""
    return hasattr(value, "_defn") and hasattr(value, "_prefer_literal")


def _of_function(function: FunctionType, seen) -> Iterator[str | bytes]:
    yield "function"
    yield from _pieces(function.__code__, seen)
    yield from _pieces((function.__defaults__, tuple(sorted((function.__kwdefaults__ or {}).items()))), seen)
    for cell in function.__closure__ or ():
        try:
            inner = cell.cell_contents
        except ValueError as error:
            raise NoDigestError(f"a variable of {function.__qualname__} that has no value yet") from error
        yield from _pieces(inner, seen)
    for name in sorted(_names(function.__code__)):
        if name in function.__globals__:
            yield name
            yield from _pieces(function.__globals__[name], seen)


def _names(code: CodeType) -> set[str]:
    """Names of globals in a code and in those nested in it; an attribute may have the name of one."""
    nested = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    used = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return used.union(*map(_names, nested))


def _of_code(code: CodeType, seen) -> Iterator[str | bytes]:
    yield code.co_code
    yield code.co_exceptiontable
    yield f"{code.co_argcount} {code.co_flags} {code.co_names} {code.co_varnames} {code.co_freevars} {code.co_cellvars}"
    yield from _pieces(code.co_consts, seen)


def _of_data(value, seen) -> Iterator[str | bytes]:
    if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        yield f"{type(value).__qualname__} {value.dtype.descr} {value.shape}"
        yield value.tobytes()
    elif isinstance(value, tuple | list):
        yield f"{type(value).__qualname__} {getattr(value, '_fields', '')} {len(value)}"
        for entry in value:
            yield from _pieces(entry, seen)
    elif is_dataclass(value) and not isinstance(value, type):
        yield type(value).__qualname__
        for field in fields(value):
            yield from _pieces(getattr(value, field.name), seen)
    else:
        yield _named(value)


def _named(value) -> str:
    """A value that its name alone identifies: a part of a library, or a type."""
    if isinstance(value, ModuleType):
        return f"module {_of_library(value.__name__, value)}"
    if isinstance(value, np.dtype):
        return f"dtype {value.descr}"
    if isinstance(value, np.ufunc):
        return f"ufunc {value.__name__}"
    if isinstance(value, BuiltinFunctionType | type):
        return f"{_of_library(value.__module__ or builtins.__name__, value)}.{value.__qualname__}"
    if isinstance(value, types.Type):
        return f"{type(value).__qualname__} {type_text(value)}"
    if isinstance(value, ir.IntType):
        return f"type of LLVM {value}"
    raise NoDigestError(f"{value!r} of type {type(value).__qualname__}")


def type_text(kind: Any) -> str:
    """A text that identifies a type of Numba, with the names of its fields. Raises NoDigestError: no text identifies
    it, such as that of a function, which holds an address."""
    if isinstance(kind, types.BaseTuple):
        return f"{getattr(kind, 'fields', '')}({', '.join(map(type_text, getattr(kind, 'types', ())))})"
    text = str(kind)
    if " at 0x" in text or isinstance(kind, types.Optional | types.Container):
        raise NoDigestError(text)
    return text


def _of_library(module: str, value) -> str:
    """The name of a module, if what is in it is the same as long as versions are."""
    if module.split(".")[0] in LIBRARIES:
        return module
    raise NoDigestError(f"{value!r} of {module}")

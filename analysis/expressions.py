"""Expressions over readings: arithmetic, comparisons and counts, as a plan or a claim writes them.

`min(saving.low.lo, saving.high.lo)`, `all(row.* < yardstick.min)`, `power_w >= power.floor`. An id with `*`
in place of a part stands for every id that fits, in the order of their declaration. Nothing else of Python
can be reached. Comparisons are of values rounded to 1e-9 of their unit, so that a drift of exactly 0.13 is
not above 0.13.
"""

import ast
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from campaign.analysis.errors import ReadingError
from campaign.kernels.errors import nearest

COMPARISON_DIGITS = 9

_TOKEN = re.compile(r"""'[^']*'|"[^"]*"|[A-Za-z_]\w*(?:\.(?:\w+|\*))*|\.?\d[\w.]*(?:[eE][+-]?\d+)?""")
_KEYWORDS = {"and", "or", "not", "in", "True", "False"}

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": lambda *a: np.min(_flat(a)),
    "max": lambda *a: np.max(_flat(a)),
    "sum": lambda *a: np.sum(_flat(a)),
    "mean": lambda *a: np.mean(_flat(a)),
    "median": lambda *a: np.median(_flat(a)),
    "count": lambda *a: int(np.sum(_flat(a) != 0)),
    "len": lambda *a: len(_flat(a)),
    "all": lambda *a: bool(np.all(_flat(a))),
    "any": lambda *a: bool(np.any(_flat(a))),
    "abs": lambda a: np.abs(a),
    "sqrt": lambda a: np.sqrt(a),
}

_BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_COMPARE = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class Undefined(Exception):
    """The expression has no value for these data; the text is the reason."""


def _flat(values: tuple[Any, ...]) -> np.ndarray:
    flat = np.concatenate([np.atleast_1d(np.asarray(value)) for value in values])
    if not len(flat):
        raise Undefined("nothing to compute it from")
    return flat


@dataclass(frozen=True)
class Expression:
    """A parsed expression."""

    text: str
    ids: tuple[str, ...]
    """Every id that it names, as written, wildcards included."""
    tree: ast.expr

    def value(self, lookup: Callable[[str], Any]) -> Any:
        """Its value where `lookup` gives the value (or the array of values) of an id."""
        try:
            with np.errstate(divide="raise", invalid="raise"):
                return _plain(_evaluate(self.tree, self.ids, lookup))
        except (ZeroDivisionError, FloatingPointError):
            raise Undefined(f"a division by zero in {self.text}") from None
        except TypeError as wrong:
            raise ReadingError(
                f"expression {self.text!r}: {wrong}; expected numbers with numbers. Correct it."
            ) from None


@cache
def parse(text: str) -> Expression:
    """The expression that `text` writes; ReadingError where it is none."""
    ids: list[str] = []

    def place(found: re.Match[str]) -> str:
        token = found.group()
        if not re.match(r"[A-Za-z_]", token) or token in _KEYWORDS:
            return token
        if token in FUNCTIONS and text[found.end() :].lstrip().startswith("("):
            return token
        if token not in ids:
            ids.append(token)
        return f"_id{ids.index(token)}"

    try:
        tree = ast.parse(_TOKEN.sub(place, text).strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise ReadingError(
            f"expression {text!r}: not an expression; expected ids, numbers, + - * /, comparisons, and/or/not and "
            f"{', '.join(FUNCTIONS)}. Correct it."
        ) from None
    _refuse_the_rest(tree, text)
    return Expression(text, tuple(ids), tree)


def _refuse_the_rest(tree: ast.expr, text: str) -> None:
    allowed = (
        ast.BinOp,
        ast.UnaryOp,
        ast.BoolOp,
        ast.Compare,
        ast.Call,
        ast.Name,
        ast.Constant,
        ast.List,
        ast.Tuple,
        ast.Load,
        ast.operator,
        ast.unaryop,
        ast.boolop,
        ast.cmpop,
    )
    for node in ast.walk(tree):
        if not isinstance(node, allowed):
            raise ReadingError(f"expression {text!r}: {type(node).__name__} cannot be used. Write it without.")
        if isinstance(node, ast.Call) and (
            not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS or node.keywords
        ):
            said = ast.unparse(node.func)
            raise ReadingError(
                f"expression {text!r}: unknown function {said}; expected one of {', '.join(FUNCTIONS)}."
                f"{nearest(said, FUNCTIONS)} Correct it."
            )


def _evaluate(node: ast.expr, ids: tuple[str, ...], lookup: Callable[[str], Any]) -> Any:
    def value(inner: ast.expr) -> Any:
        return _evaluate(inner, ids, lookup)

    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return lookup(ids[int(node.id[3:])]) if node.id.startswith("_id") else node.id
        case ast.List() | ast.Tuple():
            return [value(item) for item in node.elts]
        case ast.UnaryOp(op=ast.USub()):
            return -value(node.operand)
        case ast.UnaryOp(op=ast.Not()):
            return np.logical_not(value(node.operand))
        case ast.UnaryOp():
            return value(node.operand)
        case ast.BinOp():
            return _BINARY[type(node.op)](value(node.left), value(node.right))
        case ast.BoolOp(op=ast.And()):
            return _fold(np.logical_and, [value(item) for item in node.values])
        case ast.BoolOp():
            return _fold(np.logical_or, [value(item) for item in node.values])
        case ast.Compare():
            sides = [value(side) for side in (node.left, *node.comparators)]
            pairs = zip(node.ops, sides[:-1], sides[1:], strict=True)
            return _fold(np.logical_and, [_compare(op, left, right) for op, left, right in pairs])
        case ast.Call(func=ast.Name(id=name)):
            return FUNCTIONS[name](*[value(argument) for argument in node.args])
    raise ReadingError(f"{ast.unparse(node)} cannot be used in an expression.")


def _fold(combine: Callable[[Any, Any], Any], values: list[Any]) -> Any:
    result = values[0]
    for value in values[1:]:
        result = combine(result, value)
    return result


def _compare(op: ast.cmpop, left: Any, right: Any) -> Any:
    if isinstance(op, ast.In | ast.NotIn):
        found = np.isin(np.asarray(left, dtype=object), np.asarray(right, dtype=object))
        return ~found if isinstance(op, ast.NotIn) else found
    return _COMPARE[type(op)](_rounded(left), _rounded(right))


def _rounded(value: Any) -> Any:
    array = np.asarray(value)
    return np.round(array, COMPARISON_DIGITS) if array.dtype.kind == "f" else array


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays of no dimension as Python's own."""
    return value.item() if isinstance(value, np.generic | np.ndarray) and np.ndim(value) == 0 else value

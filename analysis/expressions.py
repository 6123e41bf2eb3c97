"""Expressions over readings: arithmetic, comparisons and counts, as a plan or a claim writes them.

`min(saving.low.lo, saving.high.lo)`, `all(row.* < yardstick.min)`, `power_w >= power.floor`. An id with `*`
in place of a part stands for every id that fits, in the order of their declaration. Nothing else of Python
can be reached. Comparisons are of values rounded to 1e-9 of their unit, so that a drift of exactly 0.13 is
not above 0.13. Numbers compare with numbers and texts with texts; what gives no finite number has no value.
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from campaign.analysis.errors import ReadingError
from campaign.kernels.errors import nearest

COMPARISON_DIGITS = 9
ROUNDED_BELOW = 1e6
"""Values of this size and more are compared as they are: their last bit is about 1e-9."""
LONGEST = 2000
"""Characters of the longest expression."""

_UNIT_FACTORS = (100, 10**3, 10**6, 10**9, 10**12, 1e-3, 1e-6, 1e-9, 1e-12)
"""Factors between units, and to percent."""

_TOKEN = re.compile(
    r"""(?P<text>'[^']*'|"[^"]*")|(?P<word>[A-Za-z_]\w*(?:\.(?:\w+|\*))*)|(?P<number>\.?\d(?:[eE][+-]\d|[\w.])*)|(?P<space>\s+)"""
)
_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_KEYWORDS = {"and", "or", "not", "in", "True", "False"}


class Undefined(Exception):
    """The expression has no value for these data; the text is the reason."""


class _Misused(Exception):
    """An operation on what it does not take."""


def _sqrt(value: Any) -> Any:
    if np.any(_numbers(value) < 0):
        raise Undefined("the square root of a negative number")
    return np.sqrt(value)


def _flat(values: tuple[Any, ...]) -> np.ndarray:
    flat = np.concatenate([np.atleast_1d(_array(value)) for value in values])
    if not len(flat):
        raise Undefined("nothing to compute it from")
    return flat


def _all_numbers(values: tuple[Any, ...]) -> np.ndarray:
    for value in values:
        _numbers(value)
    return _flat(values)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": lambda *a: np.min(_all_numbers(a)),
    "max": lambda *a: np.max(_all_numbers(a)),
    "sum": lambda *a: np.sum(_all_numbers(a)),
    "mean": lambda *a: np.mean(_all_numbers(a)),
    "median": lambda *a: np.median(_all_numbers(a)),
    "count": lambda *a: int(np.sum(_all_numbers(a) != 0)),
    "len": lambda *a: len(_flat(a)),
    "all": lambda *a: bool(np.all(_all_numbers(a))),
    "any": lambda *a: bool(np.any(_all_numbers(a))),
    "abs": lambda a: np.abs(_numbers(a)),
    "sqrt": _sqrt,
}
_ONE_ARGUMENT = ("abs", "sqrt")


def _power(left: Any, right: Any) -> Any:
    """`left` to the power of `right`; in floats where whole numbers would grow without end."""
    if np.ndim(left) or np.ndim(right):
        return np.float_power(left, right)
    if isinstance(left, int) and isinstance(right, int) and right >= 0 and left.bit_length() * right < 63:
        return left**right
    if left == 0 and right < 0:
        raise ZeroDivisionError
    try:
        return math.pow(left, right)
    except ValueError:
        raise Undefined("a broken power of a negative number") from None


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: _power,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


@dataclass(frozen=True)
class Expression:
    """A parsed expression."""

    text: str
    ids: tuple[str, ...]
    """Every id that it names, as written, wildcards included."""
    tree: ast.expr

    def value(self, lookup: Callable[[str], Any]) -> Any:
        """Its value where `lookup` gives the value (or the array of values) of an id.

        Undefined where it has none: a division by zero, a number that is not finite, an id without a value.
        """
        try:
            with np.errstate(divide="raise", invalid="raise", over="raise"):
                return _plain(_evaluate(self.tree, self.ids, lookup))
        except (ZeroDivisionError, FloatingPointError, OverflowError) as wrong:
            if isinstance(wrong, OverflowError) or "overflow" in str(wrong):
                raise Undefined(f"a number too large in {self.text}") from None
            raise Undefined(f"a division by zero in {self.text}") from None
        except (_Misused, TypeError, ValueError) as wrong:
            raise ReadingError(
                f"expression {self.text!r}: {wrong}; expected numbers with numbers, texts with texts, and as many "
                "values on each side. Correct it."
            ) from None
        except RecursionError:
            raise ReadingError(
                f"expression {self.text[:100]!r}…: too deeply nested; expected something that a person can read. "
                "Give its pieces ids of their own."
            ) from None

    def at(self, node: ast.expr, lookup: Callable[[str], Any]) -> Any:
        """The value of one node of its tree; raises as `value` does."""
        return Expression(self.text, self.ids, node).value(lookup)

    def id_of(self, node: ast.expr) -> str:
        """The id that a name of its tree stands for; empty for anything else."""
        is_id = isinstance(node, ast.Name) and re.fullmatch(r"_id\d+", node.id)
        return self.ids[int(node.id.removeprefix("_id"))] if is_id else ""

    def ids_of(self, node: ast.expr) -> tuple[str, ...]:
        """The ids in one node of its tree, in the order in which they stand there."""
        return tuple(dict.fromkeys(filter(None, map(self.id_of, _in_order(node)))))

    def written(self, node: ast.expr) -> str:
        """One node of its tree as a person writes it."""
        return re.sub(r"\b_id(\d+)\b", lambda found: self.ids[int(found[1])], ast.unparse(node))

    def typed_numbers(self) -> tuple[str, ...]:
        """The numbers in it that come from nothing, as they are written.

        All but 0 and 1, exponents, and factors that change a unit: 100, and powers of a thousand.
        """
        return tuple(dict.fromkeys(self.written(node) for node in _typed(self.tree)))

    def truth(self, lookup: Callable[[str], Any]) -> bool:
        """Whether it holds; ReadingError where it is no condition but a number, a text or many values."""
        value = self.value(lookup)
        if not isinstance(value, bool):
            raise ReadingError(
                f"expression {self.text!r}: gives {value!r}; expected a condition, true or false. Compare it with "
                "something; use all, any or count where it gives many values."
            )
        return value


@cache
def parse(text: str) -> Expression:
    """The expression that `text` writes; ReadingError where it is none."""
    ids: list[str] = []

    def refuse(why: str) -> ReadingError:
        shown = text if len(text) <= 100 else f"{text[:100]}…"
        return ReadingError(
            f"expression {shown!r}: {why}; expected ids, numbers, + - * / **, comparisons, and/or/not/in and "
            f"{', '.join(FUNCTIONS)}. Correct it."
        )

    def place(found: re.Match[str]) -> str:
        token = found.group()
        if found["space"]:
            return " "  # a line break in a plan is a space
        if found["number"] and not _NUMBER.fullmatch(token):
            raise refuse(f"{token} is no number")
        if not found["word"] or token in _KEYWORDS:
            return token
        if text[found.end() :].lstrip().startswith("("):
            if token not in FUNCTIONS:
                raise ReadingError(
                    f"expression {text!r}: unknown function {token}; expected one of {', '.join(FUNCTIONS)}."
                    f"{nearest(token, FUNCTIONS)} Correct it."
                )
            return token
        if token not in ids:
            ids.append(token)
        return f" _id{ids.index(token)} "

    if len(text) > LONGEST:
        raise refuse(f"{len(text)} characters long, more than {LONGEST}")
    for odd in ("\\", "#"):
        if odd in (text if odd == "\\" else _TOKEN.sub("", text)):
            raise refuse(f"{odd} cannot be used")
    try:
        tree = ast.parse(_TOKEN.sub(place, text).strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise refuse("not an expression") from None
    _refuse_the_rest(tree, refuse)
    return Expression(text, tuple(ids), tree)


_ALLOWED = (
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call, ast.Name, ast.Constant, ast.List, ast.Tuple, ast.Load),
    *_BINARY,
    *(ast.UAdd, ast.USub, ast.Not, ast.And, ast.Or),
    *_COMPARE,
    *(ast.In, ast.NotIn),
)


def _refuse_the_rest(tree: ast.expr, refuse: Callable[[str], ReadingError]) -> None:
    listed: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
                raise refuse("a call of something that is no function")
            if node.keywords:
                raise refuse(f"{node.func.id} with a named argument")
            if not node.args or (node.func.id in _ONE_ARGUMENT and len(node.args) > 1):
                takes = "one value" if node.func.id in _ONE_ARGUMENT else "at least one value"
                raise refuse(f"{node.func.id} takes {takes}, not {len(node.args)}")
            listed.update(id(argument) for argument in node.args)
            listed.add(id(node.func))
        if isinstance(node, ast.Compare):
            pairs = zip(node.ops, node.comparators, strict=True)
            listed.update(id(side) for op, side in pairs if isinstance(op, ast.In | ast.NotIn))
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED):
            raise refuse(f"{type(node).__name__} cannot be used")
        if isinstance(node, ast.Name) and id(node) not in listed and not re.fullmatch(r"_id\d+", node.id):
            raise refuse(f"{node.id} is no id")
        if isinstance(node, ast.Constant):
            _refuse_constant(node.value, refuse)
        if isinstance(node, ast.List | ast.Tuple) and id(node) not in listed:
            raise refuse("a list stands where one value must; a list can follow `in` or be given to a function")


def _refuse_constant(value: Any, refuse: Callable[[str], ReadingError]) -> None:
    if not isinstance(value, int | float | str):
        raise refuse(f"{value!r} cannot be used")
    try:
        finite = isinstance(value, str) or math.isfinite(value)
    except OverflowError:
        finite = False
    if not finite:
        raise refuse("a number is too large")


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it, as they stand from left to right."""
    yield node
    for inner in ast.iter_child_nodes(node):
        yield from _in_order(inner)


def _typed(node: ast.expr) -> Iterator[ast.Constant]:
    match node:
        case ast.Constant(value=bool() | str()):
            return
        case ast.Constant():
            if node.value not in (0, 1):
                yield node
        case ast.BinOp(op=ast.Pow()):
            yield from _typed(node.left)
        case ast.BinOp(op=ast.Mult() | ast.Div()):
            for side in (node.left, node.right):
                if not (isinstance(side, ast.Constant) and side.value in _UNIT_FACTORS):
                    yield from _typed(side)
        case _:
            for inner in ast.iter_child_nodes(node):
                if isinstance(inner, ast.expr):
                    yield from _typed(inner)


def _evaluate(node: ast.expr, ids: tuple[str, ...], lookup: Callable[[str], Any]) -> Any:
    def value(inner: ast.expr) -> Any:
        return _evaluate(inner, ids, lookup)

    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            found = lookup(ids[int(node.id.removeprefix("_id"))])
            return np.asarray(found) if isinstance(found, list | tuple) else _plain(found)
        case ast.List() | ast.Tuple():
            return [value(item) for item in node.elts]
        case ast.UnaryOp(op=ast.USub()):
            return -_as_float_array(value(node.operand))
        case ast.UnaryOp(op=ast.Not()):
            return np.logical_not(_numbers(value(node.operand)))
        case ast.UnaryOp():
            return _as_float_array(value(node.operand))
        case ast.BinOp():
            left, right = _as_float_array(value(node.left)), _as_float_array(value(node.right))
            return _finite(_BINARY[type(node.op)](left, right), left, right)
        case ast.BoolOp():
            combine = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
            return _fold(combine, [_numbers(value(item)) for item in node.values])
        case ast.Compare():
            sides = [value(side) for side in (node.left, *node.comparators)]
            pairs = zip(node.ops, sides[:-1], sides[1:], strict=True)
            return _fold(np.logical_and, [_compare(op, left, right) for op, left, right in pairs])
        case ast.Call(func=ast.Name(id=name)):
            return FUNCTIONS[name](*[value(argument) for argument in node.args])
    raise AssertionError(f"{ast.unparse(node)} was let through by parse")


def _fold(combine: Callable[[Any, Any], Any], values: list[Any]) -> Any:
    result = values[0]
    for value in values[1:]:
        result = combine(result, value)
    return result


def _compare(op: ast.cmpop, left: Any, right: Any) -> Any:
    kinds = {_kind(left), _kind(right)}
    if len(kinds) > 1:
        raise _Misused(f"it compares a {' with a '.join(sorted(kinds))}")
    if isinstance(op, ast.In | ast.NotIn):
        found = np.isin(_rounded(left), _rounded(right))
        return ~found if isinstance(op, ast.NotIn) else found
    return _COMPARE[type(op)](_rounded(left), _rounded(right))


def _array(value: Any) -> np.ndarray:
    """`value` as an array; a list that mixes texts and numbers is refused, for NumPy would make texts of all."""
    if isinstance(value, list) and len({_kind(item) for item in value}) > 1:
        raise _Misused("a list mixes numbers and texts")
    return np.asarray(value)


def _kind(value: Any) -> str:
    return "number" if _array(value).dtype.kind in "biuf" else "text"


def _numbers(value: Any) -> Any:
    """`value`, refused where it is no number and no array of numbers (true and false count as 1 and 0)."""
    if _kind(value) != "number":
        raise _Misused(f"it computes with the text {value!r}" if isinstance(value, str) else "it computes with texts")
    return value


def _as_float_array(value: Any) -> Any:
    """`value` as a number to compute with; whole numbers in arrays as floats, since int64 overflows silently."""
    _numbers(value)
    array = np.asarray(value)
    return array.astype(float) if array.ndim and array.dtype.kind in "iu" else value


def _finite(result: Any, *operands: Any) -> Any:
    """`result`, unless it is not finite though all operands are: Python's floats overflow silently."""
    if not np.all(np.isfinite(result)) and all(np.all(np.isfinite(operand)) for operand in operands):
        raise OverflowError
    return result


def _rounded(value: Any) -> Any:
    array = _array(value)
    if array.dtype.kind != "f":
        return array
    small = np.abs(array) < ROUNDED_BELOW
    return np.where(small, np.round(np.where(small, array, 0), COMPARISON_DIGITS), array)


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays of no dimension as Python's own; Undefined where a number is not finite."""
    plain = value.item() if isinstance(value, np.generic | np.ndarray) and np.ndim(value) == 0 else value
    if isinstance(plain, float) and not math.isfinite(plain):
        raise Undefined(f"a value is {plain}, no number")
    return plain

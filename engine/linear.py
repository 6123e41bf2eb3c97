"""Expressions over the columns of one record whose sum follows from the sums of the columns.

`(ended_ns - started_ns) / 1000000`: columns are added, and multiplied with numbers. Numbers are taken as they are
written, as fractions, so that nothing is rounded before the whole sum is there.
"""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

from campaign.engine.errors import PlanError
from campaign.engine.tables import Column
from campaign.kernels.errors import nearest

LONGEST = 500
"""Characters of the longest expression."""
SUMMED = ("integer", "number", "flag")
"""Types of columns that an expression may name; a flag counts as 1 or 0."""
LARGEST_FACTOR = 2**60
"""Factors up to here, times 64-bit numbers, fit into 128 bits."""

_NUMBER = re.compile(r"\d+(\.\d*)?|\.\d+", re.ASCII)


@dataclass(frozen=True)
class Linear:
    """Columns times numbers, and a number: what an expression over the columns of one record comes to."""

    text: str
    """As the plan writes it."""
    terms: Mapping[str, Fraction]
    """What each column is multiplied with; none is 0."""
    constant: Fraction

    @classmethod
    def parse(cls, text: str, columns: Mapping[str, Column], where: str) -> "Linear":
        """The expression that `text` writes: column names, numbers, + - * / and parentheses; else PlanError.

        A column may be multiplied with a number or divided by one, not with another column: the sum over records
        would not follow from the sums of columns.
        """

        def refuse(why: str) -> PlanError:
            return PlanError(
                f"{where}: {text[:100]!r}: {why}; expected columns, numbers, + - * / and parentheses, where columns "
                "are added, and multiplied with numbers alone. Correct it."
            )

        def form(node: ast.expr) -> tuple[dict[str, Fraction], Fraction]:
            match node:
                case ast.Constant():
                    token = ast.get_source_segment(source, node) or ""
                    if not _NUMBER.fullmatch(token):
                        raise refuse(f"{token} is no number such as 1000000 or 0.5")
                    return {}, Fraction(token)
                case ast.Name(id=name):
                    return {_summed(name, columns, where): Fraction(1)}, Fraction(0)
                case ast.UnaryOp(op=ast.USub(), operand=operand):
                    return _times(form(operand), Fraction(-1))
                case ast.BinOp(left=left, op=ast.Add(), right=right):
                    return _plus(form(left), form(right))
                case ast.BinOp(left=left, op=ast.Sub(), right=right):
                    return _plus(form(left), _times(form(right), Fraction(-1)))
                case ast.BinOp(left=left, op=ast.Mult(), right=right):
                    one, other = form(left), form(right)
                    if one[0] and other[0]:
                        raise refuse("a column times a column")
                    return _times(one, other[1]) if one[0] else _times(other, one[1])
                case ast.BinOp(left=left, op=ast.Div(), right=right):
                    top, bottom = form(left), form(right)
                    if bottom[0] or not bottom[1]:
                        raise refuse("a division by a column" if bottom[0] else "a division by zero")
                    return _times(top, 1 / bottom[1])
            raise refuse(f"{type(getattr(node, 'op', node)).__name__} cannot be used")

        source = text.strip()
        if len(source) > LONGEST:
            raise refuse(f"{len(source)} characters long, more than {LONGEST}")
        try:
            found, constant = form(ast.parse(source, mode="eval").body)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise refuse("not an expression") from None
        terms = {name: factor for name, factor in found.items() if factor}
        if not terms:
            raise refuse("names no column")
        linear = cls(text, terms, constant)
        if sum(map(abs, linear.scaled()[0].values())) + abs(linear.scaled()[1]) > LARGEST_FACTOR:
            raise refuse("its numbers have too many digits")
        return linear

    def scaled(self) -> tuple[dict[str, int], int]:
        """Factors and constant, all multiplied with one number above zero so that they are whole."""
        numbers = [*self.terms.values(), self.constant]
        common = lcm(*(number.denominator for number in numbers))
        whole = [int(number * common) for number in numbers]
        whole = [number // gcd(*whole) for number in whole]
        return dict(zip(self.terms, whole, strict=False)), whole[-1]

    def is_whole(self, columns: Mapping[str, Column]) -> bool:
        """Whether every record gives a whole number."""
        factors = [*self.terms.values(), self.constant]
        return all(f.denominator == 1 for f in factors) and not self.needs_floats(columns)

    def needs_floats(self, columns: Mapping[str, Column]) -> bool:
        """Whether it names a column of numbers that need not be whole."""
        return any(columns[name].type == "number" for name in self.terms)

    def total(self, sums: Mapping[str, Fraction], count: int) -> Fraction:
        """The sum over `count` records, from the sums of their columns."""
        return sum((sums[name] * factor for name, factor in self.terms.items()), self.constant * count)


def _summed(name: str, columns: Mapping[str, Column], where: str) -> str:
    """The name of a column that can be summed."""
    if name not in columns:
        raise PlanError(
            f"{where}: {name} is no column; expected some of {', '.join(columns)}.{nearest(name, columns)} Correct it."
        )
    if columns[name].type not in SUMMED or columns[name].optional:
        kind = columns[name].type + ("?" if columns[name].optional else "")
        raise PlanError(
            f"{where}: the column {name} is of type {kind}; expected one of {', '.join(SUMMED)} that no record leaves "
            "empty. Sum another column."
        )
    return name


def _plus(
    left: tuple[dict[str, Fraction], Fraction], right: tuple[dict[str, Fraction], Fraction]
) -> tuple[dict[str, Fraction], Fraction]:
    names = {**left[0], **right[0]}
    return {name: left[0].get(name, Fraction(0)) + right[0].get(name, Fraction(0)) for name in names}, (
        left[1] + right[1]
    )


def _times(form: tuple[dict[str, Fraction], Fraction], number: Fraction) -> tuple[dict[str, Fraction], Fraction]:
    return {name: factor * number for name, factor in form[0].items()}, form[1] * number

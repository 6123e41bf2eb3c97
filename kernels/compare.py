"""The comparison of two top-k selections, byte for byte."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Difference:
    """One place where two selections differ."""

    row: int
    place: int
    """Which of the row's k places, from 0."""
    got: int
    """The column that the checked kernel wrote there."""
    want: int
    """The column that belongs there; -1 is padding."""


@dataclass(frozen=True)
class Comparison:
    """How two selections compare, counted in rows as the equality records count them."""

    rows: int
    mismatched_rows: int
    """Rows that differ in at least one place. The same columns in another order differ."""
    first: Difference | None
    """The difference of lowest row, then lowest place; None where all bytes are equal."""

    @property
    def equal(self) -> bool:
        """Whether all bytes are equal."""
        return self.mismatched_rows == 0

    def __str__(self) -> str:
        if self.first is None:
            return f"{self.rows} rows, all equal"
        at = self.first
        return (
            f"{self.mismatched_rows} of {self.rows} rows differ; "
            f"first at row {at.row}, place {at.place}: got {at.got}, want {at.want}"
        )


def compare(got: np.ndarray, want: np.ndarray) -> Comparison:
    """How the selection `got` compares with the selection `want`; both [rows, k] int32.

    Raises TypeError or ValueError where they are not two selections of one shape, or hold nothing to compare: no
    equality is reported for nothing.
    """
    for name, selection in (("got", got), ("want", want)):
        if selection.dtype != np.int32:
            raise TypeError(f"{name} must be int32, got {selection.dtype}")
    if got.ndim != 2 or got.shape != want.shape:
        raise ValueError(f"got and want must both be [rows, k], got shapes {got.shape} and {want.shape}")
    if got.size == 0:
        raise ValueError(f"nothing to compare: both selections have shape {got.shape}")
    # Two int32 are equal in value exactly when they are equal in bytes.
    differs = got != want
    first = None
    if differs.any():
        row, place = (int(at) for at in np.argwhere(differs)[0])
        first = Difference(row, place, got=int(got[row, place]), want=int(want[row, place]))
    return Comparison(rows=len(got), mismatched_rows=int(differs.any(axis=1).sum()), first=first)

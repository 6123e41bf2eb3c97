"""N-gram drafters: what the context itself says might come next, to be checked by the target model.

A drafter looks for an earlier place where the context's last tokens stood already, and proposes what followed
there. Prompt look-up decoding, with two ways to find the place; both propose the same tokens.
"""

from collections.abc import Sequence
from typing import Protocol

from campaign.engine.contract import Settings, SettingsError
from campaign.kernels.errors import nearest


class Drafter(Protocol):
    """The context of one request, and what may follow it."""

    def extend(self, tokens: Sequence[int]) -> None:
        """Nothing; `tokens` now end the context."""
        ...

    def rollback(self, count: int) -> None:
        """Nothing; the last `count` tokens never came."""
        ...

    def propose(self, limit: int) -> list[int]:
        """At most `limit` tokens that may come next, none where no tail of the context stood earlier.

        The longest tail that stood earlier decides, and the latest of its earlier places. An earlier place may
        overlap the tail; what is proposed ends where the context ends.
        """
        ...


class NoDrafter:
    """Proposes nothing, so that every step is a plain one."""

    def extend(self, tokens: Sequence[int]) -> None:
        pass

    def rollback(self, count: int) -> None:
        pass

    def propose(self, limit: int) -> list[int]:
        return []


class ScanDrafter:
    """Reads the context from its end to its beginning at each step, once for each length of tail."""

    def __init__(self, ngram_max: int = 4, ngram_min: int = 2):
        self._lengths = tail_lengths(ngram_max, ngram_min)
        self._context: list[int] = []

    def extend(self, tokens: Sequence[int]) -> None:
        self._context.extend(tokens)

    def rollback(self, count: int) -> None:
        _refuse_rollback(count, self._context)
        del self._context[len(self._context) - count :]

    def propose(self, limit: int) -> list[int]:
        context = self._context
        for length in self._lengths:
            tail = context[-length:]
            for start in range(len(context) - length - 1, -1, -1):
                if context[start : start + length] == tail:
                    return context[start + length : start + length + limit]
        return []


class IndexDrafter:
    """Keeps, for every run of tokens of a looked-up length, where it ended; one look-up a length finds the place."""

    def __init__(self, ngram_max: int = 4, ngram_min: int = 2):
        self._lengths = tail_lengths(ngram_max, ngram_min)
        self._context: list[int] = []
        self._ends: dict[tuple[int, ...], list[int]] = {}
        """For each run, the number of tokens up to and with its last one, ascending."""

    def extend(self, tokens: Sequence[int]) -> None:
        context = self._context
        for token in tokens:
            context.append(token)
            for run in self._tails():
                self._ends.setdefault(run, []).append(len(context))

    def rollback(self, count: int) -> None:
        _refuse_rollback(count, self._context)
        for _ in range(count):
            for run in self._tails():
                ends = self._ends[run]
                ends.pop()
                if not ends:
                    del self._ends[run]
            self._context.pop()

    def propose(self, limit: int) -> list[int]:
        for run in self._tails():
            ends = self._ends[run]
            # The last end is the tail itself.
            if len(ends) > 1:
                return self._context[ends[-2] : ends[-2] + limit]
        return []

    def _tails(self) -> list[tuple[int, ...]]:
        """The tails of the context that exist, the longest first."""
        context = self._context
        return [tuple(context[-length:]) for length in self._lengths if length <= len(context)]


def tail_lengths(ngram_max: int, ngram_min: int) -> range:
    """The lengths of tail that are looked up, the longest first."""
    if not 1 <= ngram_min <= ngram_max:
        raise SettingsError(
            f"ngram_min = {ngram_min}, ngram_max = {ngram_max}: expected 1 <= ngram_min <= ngram_max; "
            "set both in the arm's settings"
        )
    return range(ngram_max, ngram_min - 1, -1)


def _refuse_rollback(count: int, context: Sequence[int]) -> None:
    if not 0 <= count <= len(context):
        raise ValueError(f"rollback of {count} tokens, but the context has {len(context)}")


DRAFTERS = ("none", "scan", "index")
"""The names of drafters in Settings."""


def drafter_of(settings: Settings) -> Drafter:
    """A drafter with an empty context, as `settings` name it; none where no token may be drafted."""
    if settings.drafter not in DRAFTERS:
        raise SettingsError(
            f"drafter = {settings.drafter!r}: expected one of {', '.join(DRAFTERS)}."
            f"{nearest(settings.drafter, DRAFTERS)}"
        )
    if settings.drafter == "none":
        return NoDrafter()
    if settings.draft_tokens < 1:
        raise SettingsError(
            f"draft_tokens = {settings.draft_tokens} with drafter = {settings.drafter!r}: expected 1 or more; "
            'set drafter = "none" for plain steps'
        )
    kind = ScanDrafter if settings.drafter == "scan" else IndexDrafter
    return kind(settings.ngram_max, settings.ngram_min)

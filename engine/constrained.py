"""Text that follows a JSON schema: at each place, the tokens that keep it on the way to a document that validates."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from llguidance import LLMatcher, LLTokenizer

from campaign.engine.contract import RequestError
from campaign.engine.tokenizer import ChatTokenizer

LAYOUT = {"item_separator": ", ", "key_separator": ": ", "whitespace_flexible": False}
"""JSON as json.dumps writes it: with free whitespace a small model can write blanks to the end of its turn."""


class Grammars:
    """Makes constraints over one vocabulary."""

    def __init__(self, tokenizer: ChatTokenizer):
        self._size = tokenizer.size
        self._tokenizer = LLTokenizer(tokenizer.to_json(), n_vocab=tokenizer.size, eos_token=tokenizer.turn_end)

    def constraint(self, schema: Mapping[str, Any]) -> "Constraint":
        """What text under `schema` may begin with. Raises RequestError for a schema that cannot be followed."""
        grammar = LLMatcher.grammar_from_json_schema(json.dumps(dict(schema)), overrides=LAYOUT)
        matcher = LLMatcher(self._tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise RequestError(f"schema {json.dumps(dict(schema))[:200]}: {matcher.get_error().strip()}")
        return Constraint(matcher, self._size)


class Constraint:
    """How far one text has come under its schema."""

    def __init__(self, matcher: LLMatcher, size: int):
        self._matcher = matcher
        self._size = size

    @property
    def complete(self) -> bool:
        """Whether the document is whole and nothing can follow it."""
        return self._matcher.is_stopped() and not self._matcher.is_error()

    def allowed(self) -> np.ndarray:
        """Which tokens may come next, [vocabulary] bool; the end of the turn once the document is whole."""
        bits = np.frombuffer(self._matcher.compute_bitmask(), dtype=np.uint8)
        self._refuse_error()
        return np.unpackbits(bits, bitorder="little")[: self._size].astype(bool)

    def take(self, token: int) -> None:
        """Nothing; `token`, an allowed one, is part of the text now."""
        self._matcher.consume_token(token)
        self._refuse_error()

    def _refuse_error(self) -> None:
        if self._matcher.is_error():
            raise RequestError(f"the schema cannot be followed further: {self._matcher.get_error().strip()}")

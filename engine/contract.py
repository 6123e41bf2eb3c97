"""What an engine is to the measuring side: text in, tokens out, and every verify step with its own times.

The embedded engine meets this contract in-process; a vLLM server meets it through its API. Times are
nanoseconds of one monotonic clock, the same for all steps of a row.

A step's time is all that a token waits for: the forward pass, barring what a schema forbids, choosing tokens, taking
back what was not confirmed, and the drafter's work (taking in the tokens, the prompt in the first step; proposing for
the next step). Between two steps lies only the keeping of the record. Outside of steps, and part of a turn's model time
only: the text of the prompt into tokens, the schema into a grammar, the prefill, tokens into text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from campaign.kernels.errors import CampaignError


class SettingsError(CampaignError):
    """An engine cannot be started with these settings."""


class RequestError(CampaignError):
    """A started engine cannot take this request."""


@dataclass(frozen=True)
class Message:
    """One turn of a conversation."""

    role: str
    """system, user, assistant or tool."""
    content: str


@dataclass(frozen=True)
class Request:
    """What is to be generated."""

    messages: Sequence[Message]
    max_tokens: int
    """Generation ends after so many tokens at the latest."""
    schema: Mapping[str, Any] | None = None
    """JSON schema that the text must follow (a tool call, an answer); free text where it is None."""
    temperature: float = 0.0
    """0 is greedy."""
    seed: int = 0
    """Seeds sampling; without effect at temperature 0."""


@dataclass(frozen=True)
class Step:
    """One forward pass of the target model."""

    started_ns: int
    ended_ns: int
    """After sampling and drafting for the next step: what a token waits for."""
    drafted: int
    """Tokens that the drafter proposed for this pass; 0 for a plain step."""
    accepted: int
    """Proposed tokens that the target model confirmed."""
    emitted: int
    """Tokens that the step appended, the bonus token included; the end of a turn may cut the last step."""
    drafting_ns: int = 0
    """Time of it that the drafter took to keep up and to propose; in the first step it takes in the prompt."""


@dataclass(frozen=True)
class Generation:
    """What came of a request."""

    text: str
    tokens: Sequence[int]
    prompt_tokens: int
    steps: Sequence[Step]
    """Verify steps (and plain decode steps) in order; the prefill is not among them."""
    prefill_ns: int
    """Time of the pass over the prompt."""
    finish: str
    """stop (the model ended its turn) or length (max_tokens)."""


class Engine(Protocol):
    """One started engine: one row uses one of them, from start to stop."""

    def describe(self) -> Mapping[str, Any]:
        """Name, versions and every setting that could change a time or a text, defaults included."""
        ...

    def generate(self, request: Request) -> Generation:
        """The generation of one request; requests run one after the other."""
        ...

    def stop(self) -> None:
        """Nothing; memory and threads are given back."""
        ...


@dataclass(frozen=True)
class Settings:
    """How an engine is started; an arm of a plan is one of these with its values."""

    drafter: str = "none"
    """none, scan or index: how the n-gram drafter finds its proposal."""
    draft_tokens: int = 4
    """Tokens proposed a step at most."""
    ngram_max: int = 4
    """Longest tail of the context that is looked up."""
    ngram_min: int = 2
    """Shortest tail that counts as a match."""
    threads: int = 2
    dtype: str = "float32"
    """float32 or bfloat16: what the weights are computed in."""
    context: int = 2048
    """Tokens that prompt and generation may have together."""
    extra: Mapping[str, Any] = field(default_factory=dict)

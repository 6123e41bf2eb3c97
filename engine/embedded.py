"""The embedded engine: SmolLM2-135M in this process, every verify step a real pass over the drafted tokens."""

import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGUFReader

from campaign.engine import weights
from campaign.engine.constrained import LAYOUT, Constraint, Grammars
from campaign.engine.contract import Generation, Request, RequestError, Settings, SettingsError, Step
from campaign.engine.drafting import Drafter, drafter_of
from campaign.engine.model import DTYPES, Cache, Model, Shape
from campaign.engine.sampling import Sampler
from campaign.engine.tokenizer import ChatTokenizer
from campaign.kernels.errors import nearest

PACKAGES = ("gguf", "llguidance", "numpy", "tokenizers", "torch")
"""What the extra `engine` brings."""

THREAD_VARIABLES = ("OMP_", "KMP_", "GOMP_", "MKL_", "DNNL_", "ONEDNN_", "TORCH_", "ATEN_", "MALLOC_", "LD_PRELOAD")
"""Beginnings of environment variables that can change how fast, or in which order, numbers are added."""

BLOCK = 128
"""Tokens of a prompt that one pass takes, counted from the prompt's beginning.

Only whole blocks are kept for the next request, so a pass over a block has the same shape whether the request
is the first or not, and the text of a request does not depend on what ran before it.
"""


class EmbeddedEngine:
    """One started engine; meets `campaign.engine.contract.Engine`.

    Raises SettingsError before any weights are loaded, and WeightsError where they cannot be had.
    """

    def __init__(
        self,
        settings: Settings,
        cache: Path | None = None,
        say: Callable[[str], None] = lambda line: None,
    ):
        _refuse_unusable(settings)
        self.settings = settings
        self._weights = weights.ensure(cache, say=say)
        reader = GGUFReader(self._weights.file)
        longest = Shape.of(reader).context
        if settings.context > longest:
            raise SettingsError(
                f"context = {settings.context}: expected at most {longest}, how far the model was taught to look back"
            )
        self._threads_before = torch.get_num_threads()
        torch.set_num_threads(settings.threads)
        self._tokenizer = ChatTokenizer(reader)
        self._grammars = Grammars(self._tokenizer)
        self._model: Model | None = Model(reader, DTYPES[settings.dtype], settings.context)
        self._cache = self._model.cache(settings.context)
        self._kept: list[int] = []
        """The tokens at the beginning of the cache that were passed as whole blocks of a prompt."""

    def describe(self) -> Mapping[str, Any]:
        """Name, versions and every setting that could change a time or a text, defaults included."""
        source = self._weights.source
        return {
            "engine": "embedded",
            "model": source.model,
            "weights": source.requirement,
            "weights_sha256": self._weights.sha256,
            "weights_licence": source.licence_name,
            "python": platform.python_version(),
            **{package: version(package) for package in PACKAGES},
            "torch_build": torch.__version__,
            "torch_cpu_capability": torch.backends.cpu.get_cpu_capability(),
            "torch_mkl": torch.backends.mkl.is_available(),
            "torch_threads": torch.get_num_threads(),
            "torch_float32_precision": torch.get_float32_matmul_precision(),
            "environment": {key: os.environ[key] for key in sorted(os.environ) if key.startswith(THREAD_VARIABLES)},
            "cpu": _cpu(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "system": platform.platform(),
            **{field.name: getattr(self.settings, field.name) for field in fields(self.settings)},
            "extra": dict(self.settings.extra),
            "prefix_reuse": f"whole blocks of {BLOCK} prompt tokens, from one request to the next, in every arm",
            "prefill_block": BLOCK,
            "sampling": "greedy, or Gumbel's maximum with Philox noise of (seed, position)",
            "json_layout": dict(LAYOUT),
            "stop_tokens": sorted(self._tokenizer.stops),
            "clock": "time.monotonic_ns",
        }

    def generate(self, request: Request) -> Generation:
        """The generation of one request. A stop token is counted among the tokens and is no part of the text."""
        if self._model is None:
            raise RuntimeError("the engine was stopped; start a new one")
        torch.set_num_threads(self.settings.threads)
        prompt = self._tokenizer.prompt(request.messages)
        limit = self._limit(request, len(prompt))
        constraint = None if request.schema is None else self._grammars.constraint(request.schema)

        started = time.monotonic_ns()
        self._prefill(prompt[:-1])
        prefilled = time.monotonic_ns()
        # The prompt's last token goes into the first step: every token of the generation comes from a step.
        turn = _Turn(
            self._model,
            self._cache,
            drafter_of(self.settings),
            Sampler(request.temperature, request.seed),
            constraint,
            self._tokenizer.stops,
            prompt,
            limit,
            self.settings.draft_tokens,
        )
        steps = []
        while not turn.finish:
            steps.append(turn.step())

        ended = turn.tokens[-1] in self._tokenizer.stops
        return Generation(
            text=self._tokenizer.decode(turn.tokens[:-1] if ended else turn.tokens),
            tokens=tuple(turn.tokens),
            prompt_tokens=len(prompt),
            steps=tuple(steps),
            prefill_ns=prefilled - started,
            finish=turn.finish,
        )

    def stop(self) -> None:
        """Nothing; memory and threads are given back."""
        self._model = None
        del self._cache, self._grammars
        self._kept = []
        torch.set_num_threads(self._threads_before)

    def _limit(self, request: Request, prompt_tokens: int) -> int:
        """Tokens that the generation may have: max_tokens, or fewer where the context ends before."""
        room = self.settings.context - prompt_tokens
        if request.max_tokens < 1:
            raise RequestError(f"max_tokens = {request.max_tokens}: expected 1 or more")
        if room < 1:
            raise RequestError(
                f"prompt of {prompt_tokens} tokens leaves no room in a context of {self.settings.context}; "
                "shorten the conversation or raise context"
            )
        return min(request.max_tokens, room)

    def _prefill(self, tokens: Sequence[int]) -> None:
        """Nothing; exactly `tokens` stand in the cache."""
        same = 0
        while same < min(len(tokens), len(self._kept)) and tokens[same] == self._kept[same]:
            same += 1
        start = same - same % BLOCK
        del self._kept[start:]
        self._cache.rollback(start)
        for first in range(start, len(tokens), BLOCK):
            block = tokens[first : first + BLOCK]
            self._model.prefill(block, self._cache)
            if len(block) == BLOCK:
                self._kept += block


@dataclass
class _Turn:
    """One generation under way."""

    model: Model
    cache: Cache
    drafter: Drafter
    sampler: Sampler
    constraint: Constraint | None
    stops: frozenset[int]
    prompt: Sequence[int]
    limit: int
    draft_tokens: int

    def __post_init__(self):
        self.tokens: list[int] = []
        self.finish = ""
        self._last = self.prompt[-1]
        """The token that the next pass begins with: in the context, not yet in the cache."""
        self._proposal: list[int] = []

    def step(self) -> Step:
        """One pass over the last token and the drafted ones, and what it appended.

        The first step also holds the time in which the drafter takes the prompt in, so that the steps' times are
        all that a drafter costs.
        """
        started = time.monotonic_ns()
        if not self.tokens:
            self._draft(self.prompt)
        begun = time.monotonic_ns()
        drafted = self._proposal
        logits = self.model.forward([self._last, *drafted], self.cache)
        emitted, accepted = self._verify(drafted, logits)
        self.cache.rollback(self.cache.length - len(drafted) + accepted)
        self._last = emitted[-1]
        verified = time.monotonic_ns()
        if not self.finish:
            self._draft(emitted)
        ended = time.monotonic_ns()
        drafting = begun - started + ended - verified
        return Step(started, ended, len(drafted), accepted, len(emitted), drafting)

    def _verify(self, drafted: Sequence[int], logits: np.ndarray) -> tuple[list[int], int]:
        """The tokens that the model chooses, up to the first that was not drafted; and how many were drafted."""
        emitted: list[int] = []
        for row, guess in zip(logits, [*drafted, None], strict=True):
            if self.constraint:
                row = np.where(self.constraint.allowed(), row, -np.inf)
            token = self.sampler.choose(row, len(self.prompt) + len(self.tokens))
            emitted.append(token)
            self.tokens.append(token)
            self.finish = self._finish(token)
            if token != guess:
                return emitted, len(emitted) - 1
            if self.finish:
                break
        return emitted, len(emitted)

    def _finish(self, token: int) -> str:
        """Why the generation ends with `token`, empty where it goes on."""
        if token in self.stops:
            return "stop"
        if self.constraint:
            self.constraint.take(token)
            if self.constraint.complete:
                return "stop"
        return "length" if len(self.tokens) == self.limit else ""

    def _draft(self, tokens: Sequence[int]) -> None:
        """Nothing; `tokens` are in the drafter's context, and the next pass has its proposal."""
        self.drafter.extend(tokens)
        # One token of a step is never drafted, so a longer proposal could not be emitted whole.
        self._proposal = self.drafter.propose(min(self.draft_tokens, self.limit - len(self.tokens) - 1))


def _refuse_unusable(settings: Settings) -> None:
    """Nothing; SettingsError for a value that no engine can be started with."""
    drafter_of(settings)
    if settings.dtype not in DTYPES:
        raise SettingsError(
            f"dtype = {settings.dtype!r}: expected one of {', '.join(DTYPES)}.{nearest(settings.dtype, DTYPES)}"
        )
    if settings.threads < 1:
        raise SettingsError(f"threads = {settings.threads}: expected 1 or more")
    if settings.context < 2:
        raise SettingsError(f"context = {settings.context}: expected 2 or more")
    if settings.extra:
        raise SettingsError(f"{', '.join(settings.extra)}: the embedded engine knows no extra settings; remove them")


def _cpu() -> str:
    """The model of the CPU, as the system names it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()

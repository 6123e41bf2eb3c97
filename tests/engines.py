"""Started engines for tests; the weights are read and dequantized once in a process."""

import functools
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from campaign.engine import weights
from campaign.engine.contract import Settings

HEAVY = ("gguf", "llguidance", "tokenizers", "torch")


def need_engine() -> None:
    """Nothing; skips the test where the model cannot be run."""
    if missing := [name for name in HEAVY if find_spec(name) is None]:
        pytest.skip(f"the embedded engine needs {', '.join(missing)}: run `make engine`")
    if weights.find() is None:
        pytest.skip(f"no weights in {weights.cache_folder()}: run `make engine`")


@functools.cache
def reader_of(file: Path) -> Any:
    """The opened GGUF file of the weights."""
    from gguf import GGUFReader

    return GGUFReader(file)


@functools.cache
def _model_of(reader: Any, dtype: Any, context: int) -> Any:
    from campaign.engine.model import Model

    return Model(reader, dtype, context)


def start(**settings: object) -> Any:
    """A started engine; one thread, so that a busy machine does not make two threads wait for each other.

    It has a cache, a drafter and a grammar of its own, and shares the weights, which nothing changes.
    """
    need_engine()
    from campaign.engine import embedded

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(embedded, "GGUFReader", reader_of)
        patched.setattr(embedded, "Model", _model_of)
        return embedded.EmbeddedEngine(Settings(**{"threads": 1} | settings))

"""What holds for every test."""

import gc

import pytest


def pytest_collection_finish(session: pytest.Session) -> None:
    """Nothing; what was imported and collected stays, so no later collection of garbage looks through it again."""
    gc.collect()
    gc.freeze()

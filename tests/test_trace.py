"""The embedded engine against an independent trace: a recorder inside torch that knows nothing of steps.

It sees every matrix product and every look-up of tokens with a clock of its own. What the engine and the measuring side
say of their steps (how many, when, how wide, what was confirmed) must follow from what the recorder saw.
"""

import json
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pandas as pd
import pytest
from tests.engines import start

from campaign.engine.benchmark.task import QA, READER, Task, Turn, answer_schema
from campaign.engine.contract import Message, Request
from campaign.engine.grading import answer_holds

torch = pytest.importorskip("torch", reason="the embedded engine needs torch: run `make engine`")
from torch.nn import functional  # noqa: E402
from torch.overrides import TorchFunctionMode  # noqa: E402

CODE = "def area(width, height):\n    return width * height\n"
CALL = answer_schema(name="string", count="integer")
REQUESTS = {
    "greedy": Request([Message("user", f"Repeat this code:\n{CODE}")], 16),
    "seeded": Request([Message("user", f"Repeat this code:\n{CODE}")], 16, temperature=0.8, seed=3),
    "under a schema": Request([Message("user", "Which fruit, and how many? Say apples and 12.")], 40, schema=CALL),
}


@dataclass
class Pass:
    """One forward pass as the recorder saw it, in ns of CLOCK_MONOTONIC."""

    began: int
    tokens: list[int]
    ended: int = 0
    choices: list[int] = field(default_factory=list)
    """The token with the highest logit after each of `tokens`; none where no logits were made."""


class Recorder(TorchFunctionMode):
    """Records the passes of a model whose look-up table of tokens is `table`: each begins with a look-up."""

    def __init__(self, table):
        super().__init__()
        self.table = table
        self.passes: list[Pass] = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        result = function(*args, **(kwargs or {}))
        if function is torch.Tensor.__getitem__ and args[0] is self.table:
            self.passes.append(Pass(now, args[1].tolist()))
        elif function is functional.linear:
            current = self.passes[-1]
            current.ended = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            if args[1] is self.table:
                current.choices = result.argmax(dim=-1).tolist()
        return result

    @property
    def prefills(self) -> list[Pass]:
        return [one for one in self.passes if not one.choices]

    @property
    def verifying(self) -> list[Pass]:
        return [one for one in self.passes if one.choices]


@pytest.fixture(scope="module", params=["none", "index"])
def traced(request):
    """By the name of a request: what the engine returned, and what the recorder saw; each from an empty cache."""
    engine = start(drafter=request.param, draft_tokens=2)
    found = {}
    for name, asked in REQUESTS.items():
        engine._kept.clear()
        with Recorder(engine._model._embedding) as recorder:
            found[name] = (engine.generate(asked), recorder)
    engine.stop()
    return found


every_request = pytest.mark.parametrize("name", REQUESTS)


@every_request
def test_one_pass_a_step(traced, name):
    """The recorder saw as many passes with logits as there are steps, and the prompt passed once before them."""
    generation, recorder = traced[name]
    assert len(recorder.verifying) == len(generation.steps)
    assert sum(len(one.tokens) for one in recorder.prefills) == generation.prompt_tokens - 1
    assert recorder.passes == recorder.prefills + recorder.verifying


@every_request
def test_passes_lie_inside_their_steps(traced, name):
    """Each recorded pass lies within its step's times; steps follow each other and do not overlap."""
    generation, recorder = traced[name]
    before = recorder.prefills[-1].ended
    for step, one in zip(generation.steps, recorder.verifying, strict=True):
        assert before <= step.started_ns <= one.began < one.ended <= step.ended_ns
        before = step.ended_ns


@every_request
def test_passes_are_as_wide_as_was_drafted(traced, name):
    """A pass takes the last emitted token and the drafted ones."""
    generation, recorder = traced[name]
    assert [len(one.tokens) - 1 for one in recorder.verifying] == [step.drafted for step in generation.steps]


@every_request
def test_what_was_confirmed_stands_in_the_passes(traced, name):
    """The emitted tokens of the steps put together are the tokens, and confirmed ones are those that were passed."""
    generation, recorder = traced[name]
    place = 0
    for step, one in zip(generation.steps, recorder.verifying, strict=True):
        emitted = list(generation.tokens[place : place + step.emitted])
        assert one.tokens[1 : 1 + step.accepted] == emitted[: step.accepted]
        if step.accepted < step.drafted and step.emitted > step.accepted:
            assert one.tokens[1 + step.accepted] != emitted[step.accepted]
        if place:
            assert one.tokens[0] == generation.tokens[place - 1]
        place += step.emitted
    assert place == len(generation.tokens)


def test_greedy_text_follows_from_the_trace(traced):
    """The logits that the recorder saw give the tokens, and how many drafted ones were confirmed in each step."""
    generation, recorder = traced["greedy"]
    tokens, accepted = [], []
    for one in recorder.verifying:
        drafted = one.tokens[1:]
        agreed = next((n for n, token in enumerate(drafted) if token != one.choices[n]), len(drafted))
        accepted.append(agreed)
        tokens += one.choices[: agreed + 1]
    assert tuple(tokens) == generation.tokens
    assert accepted == [step.accepted for step in generation.steps]


# ---- a measured run

PLAN = """
about = "A small run"

[arms.scan]
label = "scan"
settings = { drafter = "scan", draft_tokens = 2, threads = 1 }

[arms.index]
label = "index"
settings = { drafter = "index", draft_tokens = 2, threads = 1 }

[rows]
order = ["scan", "index"]
draws = 2

[measure]
engine = "embedded"
seed = 7
temperature = 0.2
"""
ASK = Turn("Which fruit, and how many? Say apples and 12.", 30, answer_schema=CALL)
TASK = Task("count", QA, READER, {}, (ASK, ASK), answer_holds({"name": "apples", "count": 12}), (), {})


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The folder of a run of two rows with two draws, and each row's recorder."""
    from campaign.engine.measure import Bench, measure
    from campaign.engine.plan import read_plan

    folder = tmp_path_factory.mktemp("measured")
    (folder / "plan.toml").write_text(PLAN)
    recorders = []

    def started(settings):
        engine = start(drafter=settings.drafter, draft_tokens=2)
        recorders.append(Recorder(engine._model._embedding))
        recorders[-1].__enter__()
        stop = engine.stop

        def stopped():
            recorders[-1].__exit__(None, None, None)
            stop()

        engine.stop = stopped
        return engine

    measure(
        read_plan(folder / "plan.toml", "plan.toml"), folder, Bench(started, (TASK,), folder, lambda: datetime.now(UTC))
    )
    return folder / "data", dict(zip(("r1", "r2"), recorders, strict=True))


def test_kept_steps_are_the_recorded_passes(measured):
    """steps.parquet has one step a recorded pass, in order, the pass within its times and as wide as was drafted."""
    data, recorders = measured
    steps = pd.read_parquet(data / "steps.parquet")
    for row, recorder in recorders.items():
        mine = steps[steps["row"] == row]
        assert len(mine) == len(recorder.verifying)
        before = 0
        for step, one in zip(mine.itertuples(), recorder.verifying, strict=True):
            assert before <= step.started_ns <= one.began < one.ended <= step.ended_ns
            assert len(one.tokens) == step.drafted + 1
            before = step.ended_ns


def test_kept_draws_are_sums_of_the_steps(measured):
    """draws.csv has each draw's number of recorded passes, their tokens, and the sum of the steps' times."""
    data, recorders = measured
    steps = pd.read_parquet(data / "steps.parquet")
    draws = pd.read_csv(data / "draws.csv")
    for draw in draws.itertuples():
        mine = steps[(steps["row"] == draw.row) & (steps["draw"] == draw.draw)]
        assert (draw.verify_steps, draw.tokens) == (len(mine), mine["emitted"].sum())
        assert draw.step_time_ms == pytest.approx((mine["ended_ns"] - mine["started_ns"]).sum() / 1e6, abs=1e-6)
        assert draw.model_time_s * 1000 >= draw.step_time_ms
    for row, recorder in recorders.items():
        assert draws[draws["row"] == row]["verify_steps"].sum() == len(recorder.verifying)


def test_kept_tokens_are_those_of_the_transcript(measured):
    """A row's file holds the steps of each turn, and their tokens are as many as the texts of the turns have."""
    data, _ = measured
    engine = start(drafter="none", draft_tokens=2)
    for path in sorted((data / "rows").iterdir()):
        for task in json.loads(path.read_text())["tasks"]:
            said = [message["content"] for message in task["transcript"] if message["role"] == "assistant"]
            emitted = [sum(step[6] for step in task["steps"] if step[0] == turn) for turn in range(len(said))]
            assert len(said) == len(TASK.turns)
            for text, tokens in zip(said, emitted, strict=True):
                # Drawn tokens may spell a text in more pieces than the tokenizer would.
                assert tokens >= len(engine._tokenizer.encode(text))
    engine.stop()

"""The embedded engine: its texts, its steps, its cache, and what it refuses.

Whatever needs the model is skipped where the extra `engine` or the weights are missing.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cache

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engines import need_engine, reader_of, start

from campaign.engine import weights
from campaign.engine.contract import Generation, Message, Request, RequestError, Settings, SettingsError
from campaign.engine.drafting import drafter_of
from campaign.engine.sampling import Sampler, noise

CODE = """def area(width, height):
    return width * height


def volume(width, height, depth):
    return width * height * depth
"""
LIST = "apples, pears, plums, apples, pears, plums, apples, pears"
PROMPTS = (
    "What is the capital of France?",
    f"Repeat this code:\n{CODE}",
    f"Rename width to w in this code:\n{CODE}",
    f"Go on with this list: {LIST}",
    "Count from 1 to 30.",
    "Translate into French: the cat sat on the mat, and the dog sat on the cat.",
    'Write JSON with the keys "name", "age" and "city" for three people.',
    "Say the word 'echo' ten times.",
    "Schreibe einen Satz über Bäume — mit Umlauten: äöüß.",
    "The cat sat on the mat. The cat sat on the mat. What did the cat do?",
)
GREEDY = 1 + len(PROMPTS)
"""Requests of a run that are greedy: a tool call and all prompts; as many seeded ones follow."""
TOKENS = 16
SEEDED = 0.8
"""Temperature of the seeded runs."""

CALL = {
    "type": "object",
    "properties": {
        "tool": {"enum": ["read_file", "write_file"]},
        "path": {"type": "string", "maxLength": 20},
        "lines": {"type": "integer", "minimum": 1, "maximum": 99},
    },
    "required": ["tool", "path", "lines"],
    "additionalProperties": False,
}
"""The schema of a tool call, bounded so that it ends within a few tokens."""
CALL_REQUEST = Request([Message("user", "Read the first 10 lines of notes.txt with a tool call.")], 60, schema=CALL)


def asked(text: str, max_tokens: int = TOKENS, **keys: object) -> Request:
    """A request of one user message."""
    return Request([Message("user", text)], max_tokens, **keys)


@dataclass(frozen=True)
class Run:
    """One request, what came of it, and the clock around it."""

    request: Request
    generation: Generation
    began_ns: int
    returned_ns: int


@cache
def runs(drafter: str) -> tuple[Run, ...]:
    """A tool call and all prompts, greedy and then seeded, by one engine in float32."""
    engine = start(drafter=drafter)
    requests = [CALL_REQUEST, *[asked(text) for text in PROMPTS]]
    if drafter != "scan":
        # Both drafters take the same steps, so the seeded requests are left to one of them: they take a minute.
        requests += [replace(request, temperature=SEEDED, seed=seed) for seed, request in enumerate(requests)]
    found = []
    for request in requests:
        began = time.monotonic_ns()
        generation = engine.generate(request)
        found.append(Run(request, generation, began, time.monotonic_ns()))
    engine.stop()
    return tuple(found)


@pytest.fixture(scope="module")
def engine() -> Iterator:
    """A started engine with the index drafter."""
    started = start(drafter="index")
    yield started
    started.stop()


@pytest.fixture(scope="module")
def model(engine):
    """The engine's model, in float32."""
    return engine._model


@pytest.fixture(scope="module")
def tokenizer(engine):
    return engine._tokenizer


# ---- sampling


def test_greedy_takes_the_lower_token_of_two_equal():
    """At temperature 0 the highest logit wins, and of equal ones the lower id."""
    assert Sampler().choose(np.array([0.0, 2.0, 2.0], dtype=np.float32), 5) == 1


def test_seed_and_position_alone_decide_the_noise():
    """The same seed and position give the same noise; another seed or position gives another."""
    first = noise(1, 2, 1000)
    assert (noise(1, 2, 1000) == first).all()
    assert not (noise(1, 3, 1000) == first).any() and not (noise(2, 2, 1000) == first).any()


def test_noise_stays_the_same_from_release_to_release():
    """A seed that a row states gives the same tokens on another machine, years later."""
    assert noise(7, 11, 3).tolist() == pytest.approx([-0.14801852811660707, -0.6096014756588101, 1.4367097085970424])


def test_noise_is_finite():
    """No token is chosen or barred by the noise alone."""
    assert np.isfinite(noise(0, 0, 1_000_000)).all()


def test_tokens_are_drawn_with_their_softmax_probability():
    """Over many positions each token comes up as often as the softmax of logits over temperature says."""
    logits = np.array([1.0, 0.0, -1.0, -np.inf], dtype=np.float32)
    sampler = Sampler(temperature=0.7, seed=5)
    drawn = np.bincount([sampler.choose(logits, position) for position in range(20_000)], minlength=4) / 20_000
    weight = np.exp(logits / 0.7)
    # Four standard errors of a share near one half.
    assert drawn == pytest.approx(weight / weight.sum(), abs=0.015)


def test_barred_token_is_never_drawn():
    """A logit of -inf bars its token at any temperature."""
    logits = np.array([-np.inf, 0.0, -np.inf], dtype=np.float32)
    assert {Sampler(temperature=50.0, seed=s).choose(logits, 0) for s in range(200)} == {1}


@pytest.mark.parametrize(
    ("keys", "said"),
    [({"temperature": -1.0}, "temperature = -1.0"), ({"temperature": np.nan}, "nan"), ({"seed": -1}, "seed = -1")],
)
def test_sampling_that_cannot_be_is_refused(keys, said):
    """A temperature or a seed that means nothing is refused with what was found."""
    with pytest.raises(RequestError, match=said):
        Sampler(**keys)


# ---- speculation


@pytest.mark.parametrize(
    ("drafter", "number"),
    [("scan", number) for number in range(GREEDY)] + [("index", number) for number in range(2 * GREEDY)],
)
def test_speculation_leaves_the_text_as_it_is(drafter, number):
    """Greedy, seeded or under a schema: drafted tokens change no token of the generation."""
    plain, drafted = runs("none")[number].generation, runs(drafter)[number].generation
    assert (drafted.tokens, drafted.text, drafted.finish) == (plain.tokens, plain.text, plain.finish)


def test_scan_and_index_take_the_same_steps():
    """Both drafters lead to the same passes: as many, as wide, with as many tokens confirmed."""

    def steps(drafter: str) -> list:
        return [[(s.drafted, s.accepted, s.emitted) for s in run.generation.steps] for run in runs(drafter)[:GREEDY]]

    assert steps("scan") == steps("index")


def test_prompts_try_speculation_both_ways():
    """The prompts of these tests hold steps whose drafts were confirmed whole, in part, and not at all."""
    steps = [step for run in runs("index") for step in run.generation.steps if step.drafted > 1]
    assert any(step.accepted == step.drafted for step in steps)
    assert any(0 < step.accepted < step.drafted for step in steps)
    assert any(step.accepted == 0 for step in steps)


def test_stop_token_inside_a_confirmed_draft_ends_the_turn(engine):
    """An answer that stood in the conversation before is drafted beyond its end, and cut where the turn ends."""
    said = engine.generate(asked("What is the capital of France?")).text
    again = [Message("user", "What is the capital of France?"), Message("assistant", said)]
    found = engine.generate(Request([*again, Message("user", "What is the capital of France?")], TOKENS))
    last = found.steps[-1]
    assert found.finish == "stop" and found.text == said
    assert last.accepted == last.emitted < last.drafted


# ---- steps


@pytest.mark.parametrize("drafter", ["none", "index"])
def test_steps_follow_each_other_inside_the_request(drafter):
    """Each step begins after the one before it ended, none before the prefill is over or after the return."""
    for run in runs(drafter):
        generation = run.generation
        times = [at for step in generation.steps for at in (step.started_ns, step.ended_ns)]
        assert times == sorted(times)
        assert run.began_ns + generation.prefill_ns <= times[0]
        assert times[-1] <= run.returned_ns


@pytest.mark.parametrize("drafter", ["none", "index"])
def test_steps_emit_the_tokens(drafter):
    """The tokens that the steps emitted are the tokens of the generation."""
    for run in runs(drafter):
        assert sum(step.emitted for step in run.generation.steps) == len(run.generation.tokens)


def test_step_emits_what_was_confirmed_and_one_more():
    """Every step but the last emits its confirmed tokens and the bonus token; the last may lack the bonus."""
    for run in runs("index"):
        *steps, last = run.generation.steps
        assert all(step.emitted == step.accepted + 1 for step in steps)
        assert last.emitted in (last.accepted, last.accepted + 1)


def test_no_step_drafts_more_than_it_may():
    """A step drafts at most draft_tokens, confirms at most what it drafted, and a plain engine drafts nothing."""
    assert all(0 <= s.accepted <= s.drafted <= 4 for run in runs("index") for s in run.generation.steps)
    assert all(step.drafted == 0 for run in runs("none") for step in run.generation.steps)


def test_each_step_is_one_pass_over_its_drafted_tokens(engine, monkeypatch):
    """Within each step's times lies exactly one pass, as wide as the last token and the drafted ones."""
    passes = []
    forward = engine._model.forward

    def traced(tokens, cache):
        began = time.monotonic_ns()
        logits = forward(tokens, cache)
        passes.append((began, time.monotonic_ns(), len(tokens)))
        return logits

    monkeypatch.setattr(engine._model, "forward", traced)
    steps = engine.generate(asked(PROMPTS[1])).steps
    assert [width for _, _, width in passes] == [step.drafted + 1 for step in steps]
    for step, (began, ended, _) in zip(steps, passes, strict=True):
        assert step.started_ns <= began < ended <= step.ended_ns


def test_first_step_holds_the_drafters_way_through_the_prompt(engine, monkeypatch):
    """The drafter takes a prompt in within the first step, so that the steps' times hold all that it costs."""
    taken = []

    def traced_drafter(settings):
        drafter = drafter_of(settings)
        extend = drafter.extend

        def traced(tokens):
            began = time.monotonic_ns()
            extend(tokens)
            taken.append((len(tokens), began, time.monotonic_ns()))

        drafter.extend = traced
        return drafter

    monkeypatch.setattr("campaign.engine.embedded.drafter_of", traced_drafter)
    generation = engine.generate(asked("\n".join([CODE] * 12), 8))
    count, began, ended = max(taken)
    assert count > sum(step.emitted for step in generation.steps)
    first = generation.steps[0]
    assert first.started_ns <= began <= ended <= first.ended_ns
    assert first.drafting_ns >= ended - began


def test_drafting_time_is_part_of_the_step():
    """The time that the drafter took lies within its step, and is more than none where it looked."""
    steps = [step for run in runs("scan") for step in run.generation.steps[:-1]]
    assert all(0 < step.drafting_ns < step.ended_ns - step.started_ns for step in steps)


# ---- the model and its cache


def test_model_knows_the_capital_of_france(engine):
    """Weights, tokenizer, template and decoder together give the known answer."""
    found = engine.generate(asked("What is the capital of France?"))
    assert (found.text, found.finish) == ("The capital of France is Paris.", "stop")


def test_rollback_equals_a_fresh_pass(model):
    """After a rollback the next pass gives, bit for bit, what it gives where the tokens never were."""
    fresh, used = model.cache(64), model.cache(64)
    for either in (fresh, used):
        model.prefill(range(100, 120), either)
    model.forward([7, 8, 9, 10], used)
    used.rollback(20)
    assert (model.forward([500, 501], used) == model.forward([500, 501], fresh)).all()


def test_one_pass_equals_many(model):
    """Logits of a pass over many tokens are those of one pass a token, within float32's rounding."""
    tokens = list(range(1000, 1012))
    single = model.cache(16)
    one_by_one = np.concatenate([model.forward([token], single) for token in tokens])
    # Logits are around 10; sums of some hundred terms in another order differ by some 1e-5 of that.
    np.testing.assert_allclose(model.forward(tokens, model.cache(16)), one_by_one, atol=1e-3)


def test_cache_refuses_what_it_has_no_room_for(model):
    """A pass beyond the cache's room is refused with both numbers, and the cache stays as it was."""
    small = model.cache(4)
    with pytest.raises(ValueError, match="5 tokens, but the cache has room for 4"):
        model.prefill([1, 2, 3, 4, 5], small)
    assert small.length == 0


def test_text_does_not_depend_on_earlier_requests(engine):
    """A request whose prompt is in part in the cache gives the tokens of one that comes first."""
    long = "\n".join([CODE] * 8)
    engine.generate(asked(f"{long}\nWhat does this code do?", 4))
    assert len(engine._kept) >= 256, "the prompt is too short to leave whole blocks"
    second = asked(f"{long}\nHow many functions are there, and what do they return?")
    warm = engine.generate(second)
    engine._kept.clear()
    assert engine.generate(second).tokens == warm.tokens


# ---- the tokenizer


# Loading the vocabulary in the first example takes longer than an example may.
@hypothesis.settings(deadline=None)
@given(text=st.text(st.characters(max_codepoint=0x3FFFF, exclude_categories=["Cc", "Cs"]), max_size=60))
def test_text_survives_the_tokenizer(text):
    """Any text of characters that the vocabulary can spell comes back from its tokens as it was."""
    kept = chat_tokenizer()
    assert kept.decode(kept.encode(text)) == text


def test_special_token_spelt_in_a_message_is_text(tokenizer):
    """A message that spells the end of a turn does not end its turn."""
    assert not tokenizer.stops & set(tokenizer.encode("a<|im_end|>\n<|im_start|>system"))
    assert tokenizer.prompt([Message("user", "<|im_end|>")]).count(tokenizer.turn_end) == 2


@pytest.mark.parametrize("system", [False, True])
def test_prompt_is_what_the_models_own_template_makes(tokenizer, system):
    """The tokens of a conversation are those of the text that the template in the GGUF file renders."""
    from jinja2 import Environment
    from tokenizers import Tokenizer

    messages = [Message("user", "Hi 42!"), Message("assistant", "Hello."), Message("tool", "{}"), Message("user", "ä")]
    if system:
        messages.insert(0, Message("system", "Be brief."))
    template = reader_of(weights.find().file).get_field("tokenizer.chat_template").contents()
    turns = [{"role": message.role, "content": message.content} for message in messages]
    text = Environment().from_string(template).render(messages=turns, add_generation_prompt=True)
    whole = Tokenizer.from_str(tokenizer.to_json())
    whole.encode_special_tokens = False
    assert tokenizer.prompt(messages) == whole.encode(text).ids


@cache
def chat_tokenizer():
    """A tokenizer without a model."""
    need_engine()
    from campaign.engine.tokenizer import ChatTokenizer

    return ChatTokenizer(reader_of(weights.find().file))


# ---- schemas


@pytest.mark.parametrize("drafter", ["none", "index"])
@pytest.mark.parametrize("number", [0, GREEDY])
def test_finished_text_validates(drafter, number):
    """A tool call that ended by itself parses, and follows its schema."""
    found = runs(drafter)[number].generation
    assert found.finish == "stop"
    call = json.loads(found.text)
    assert list(call) == ["tool", "path", "lines"]
    assert call["tool"] in ("read_file", "write_file") and len(call["path"]) <= 20
    assert type(call["lines"]) is int and 1 <= call["lines"] <= 99


def test_unfinished_text_is_said_to_be(engine):
    """A tool call that max_tokens cut off has finish length, and does not parse."""
    found = engine.generate(replace(CALL_REQUEST, max_tokens=5))
    assert found.finish == "length" and len(found.tokens) == 5
    with pytest.raises(json.JSONDecodeError):
        json.loads(found.text)


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 3, "maxItems": 3}, list),
        ({"type": "boolean"}, bool),
        ({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]}, dict),
        ({"enum": ["yes", "no", "perhaps"]}, str),
    ],
)
def test_schemas_of_other_kinds_are_followed(engine, schema, kind):
    """Lists, flags, free objects and choices come out as what they are, even when asked for prose."""
    found = engine.generate(asked("Tell me a story.", 60, schema=schema, temperature=1.0, seed=1))
    assert found.finish == "length" or type(json.loads(found.text)) is kind


def test_schema_that_cannot_be_followed_is_refused(engine):
    """A schema with a type that does not exist is refused before anything is generated."""
    with pytest.raises(RequestError, match=r"schema \{.*nothing"):
        engine.generate(asked("Hi", schema={"type": "nothing"}))


# ---- settings and requests


def test_description_holds_every_setting(engine):
    """Every setting, defaults included, the weights' checksum and torch's version are in the description."""
    found = engine.describe()
    assert {field.name for field in fields(Settings)} <= set(found)
    assert found["weights_sha256"] == weights.SMOLLM2.weights.sha256
    assert found["torch"] and found["cpu"]


def test_description_is_plain_data(engine):
    """The description can be written into run.json as it is."""
    assert json.loads(json.dumps(engine.describe())) == engine.describe()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"dtype": "float16"}, "expected one of float32, bfloat16"),
        ({"threads": 0}, "threads = 0"),
        ({"drafter": "idx"}, "expected one of none, scan, index"),
        ({"context": 1}, "context = 1"),
        ({"context": 10_000}, "expected at most 8192"),
        ({"extra": {"beams": 4}}, "beams: the embedded engine knows no extra settings"),
    ],
)
def test_unusable_settings_are_refused(settings, said):
    """Settings that no engine can have are refused with what was expected."""
    with pytest.raises(SettingsError, match=said):
        start(**settings)


def test_prompt_longer_than_the_context_is_refused(engine):
    """A prompt that leaves no room for an answer is refused with both lengths."""
    with pytest.raises(RequestError, match=r"prompt of \d+ tokens leaves no room in a context of 2048"):
        engine.generate(asked("word " * 2100))


def test_end_of_the_context_ends_the_generation(engine, monkeypatch):
    """A generation that reaches the end of the context stops there, with finish length."""
    monkeypatch.setattr(engine, "settings", replace(engine.settings, context=256))
    words = "echo " * (256 - len(engine._tokenizer.prompt([Message("user", "")])) - 8)
    found = engine.generate(asked(words, 100))
    assert found.finish == "length" and found.prompt_tokens + len(found.tokens) == 256


def test_request_for_no_token_is_refused(engine):
    """A request for no token at all is refused."""
    with pytest.raises(RequestError, match="max_tokens = 0"):
        engine.generate(asked("Hi", 0))


def test_stopped_engine_generates_nothing():
    """After stop the engine says that it was stopped."""
    engine = start()
    engine.stop()
    with pytest.raises(RuntimeError, match="the engine was stopped"):
        engine.generate(asked("Hi"))

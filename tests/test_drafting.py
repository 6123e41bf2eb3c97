"""The n-gram drafters: what they propose, that both propose the same, and that none of it needs torch."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.engine.contract import Settings, SettingsError
from campaign.engine.drafting import IndexDrafter, NoDrafter, ScanDrafter, drafter_of

BOTH = pytest.mark.parametrize("kind", [ScanDrafter, IndexDrafter])

# Few different tokens, so that tails return often, overlap themselves, and lengths compete.
TOKENS = st.lists(st.integers(0, 2), max_size=12)
CHANGES = st.lists(st.one_of(TOKENS, st.integers(1, 8)), max_size=12)
"""A list of tokens is appended; a number is how many are rolled back."""
LENGTHS = st.tuples(st.integers(1, 5), st.integers(1, 5)).map(lambda pair: (max(pair), min(pair)))


def proposal(kind, context, limit=4, ngram_max=4, ngram_min=2) -> list[int]:
    """What a new drafter proposes after `context`."""
    drafter = kind(ngram_max, ngram_min)
    drafter.extend(context)
    return drafter.propose(limit)


@given(changes=CHANGES, lengths=LENGTHS, limit=st.integers(0, 6))
def test_both_drafters_propose_the_same(changes, lengths, limit):
    """Scan and index propose the same tokens after every append and every rollback."""
    scan, index = ScanDrafter(*lengths), IndexDrafter(*lengths)
    held = 0
    for change in changes:
        if isinstance(change, int):
            change = min(change, held)
            held -= change
            scan.rollback(change)
            index.rollback(change)
        else:
            held += len(change)
            scan.extend(change)
            index.extend(change)
        assert scan.propose(limit) == index.propose(limit)


@BOTH
@given(context=TOKENS, gone=TOKENS, after=TOKENS)
def test_rolled_back_tokens_leave_no_trace(kind, context, gone, after):
    """A drafter that took tokens and rolled them back proposes what one that never saw them proposes."""
    drafter = kind(4, 2)
    drafter.extend(context)
    drafter.extend(gone)
    drafter.rollback(len(gone))
    drafter.extend(after)
    assert drafter.propose(4) == proposal(kind, context + after)


@BOTH
@given(context=st.lists(st.integers(0, 2), max_size=40), lengths=LENGTHS, limit=st.integers(1, 6))
def test_proposal_is_what_the_definition_says(kind, context, lengths, limit):
    """The longest tail with an earlier place decides, and of its earlier places the latest."""
    ngram_max, ngram_min = lengths
    ends = [
        (length, end)
        for length in range(ngram_min, ngram_max + 1)
        for end in range(length, len(context))
        if context[end - length : end] == context[len(context) - length :]
    ]
    expected = context[max(ends)[1] :][:limit] if ends else []
    assert proposal(kind, context, limit, ngram_max, ngram_min) == expected


@BOTH
def test_longer_tail_goes_before_a_later_place(kind):
    """A tail of three that stood early decides, though its last two tokens stood later with another follower."""
    assert proposal(kind, [1, 2, 3, 7, 9, 2, 3, 8, 1, 2, 3], limit=1) == [7]


@BOTH
def test_latest_earlier_place_goes_first(kind):
    """Of two places of the same tail the later one decides."""
    assert proposal(kind, [1, 2, 7, 1, 2, 8, 1, 2], limit=1) == [8]


@BOTH
def test_place_may_overlap_the_tail(kind):
    """A token that repeats proposes itself as far as the context goes."""
    assert proposal(kind, [5, 5, 5], ngram_max=2) == [5]


@BOTH
def test_nothing_is_proposed_without_an_earlier_place(kind):
    """A context whose tail is new, or shorter than ngram_min, proposes nothing."""
    assert [proposal(kind, context) for context in ([], [1], [1, 2], [1, 2, 3, 2])] == [[], [], [], []]


@BOTH
def test_rollback_of_more_than_there_is_refused(kind):
    """A drafter that holds two tokens cannot roll back three."""
    drafter = kind(4, 2)
    drafter.extend([1, 2])
    with pytest.raises(ValueError, match="rollback of 3 tokens, but the context has 2"):
        drafter.rollback(3)


@pytest.mark.parametrize(("name", "kind"), [("none", NoDrafter), ("scan", ScanDrafter), ("index", IndexDrafter)])
def test_settings_name_the_drafter(name, kind):
    """Each name in Settings leads to its drafter."""
    assert type(drafter_of(Settings(drafter=name))) is kind


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (Settings(drafter="scann"), "expected one of none, scan, index. Did you mean scan?"),
        (Settings(drafter="scan", ngram_max=2, ngram_min=3), "expected 1 <= ngram_min <= ngram_max"),
        (Settings(drafter="index", ngram_min=0), "expected 1 <= ngram_min <= ngram_max"),
        (Settings(drafter="index", draft_tokens=0), 'set drafter = "none" for plain steps'),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, said):
    """A drafter's settings that make no sense are refused with what was expected."""
    with pytest.raises(SettingsError) as refused:
        drafter_of(settings)
    assert said in str(refused.value)


def test_light_modules_ask_for_no_heavy_package():
    """Plan, records, contract, drafting and sampling never ask Python for torch or what comes with it."""
    code = """
import importlib, sys

class Watch:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "gguf", "tokenizers", "llguidance"):
            print("asked for", name)

sys.meta_path.insert(0, Watch)
for name in "contract data drafting plan records sampling tables weights".split():
    importlib.import_module("campaign.engine." + name)
print("done")
"""
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert done.stdout == "done\n", done.stdout + done.stderr

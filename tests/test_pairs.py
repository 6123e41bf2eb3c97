"""Paired timings of kernels: which pairs there are, in which order, and that a wrong answer has no time."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the kernels' benches need torch: run `make engine`")

from campaign.kernels import bench, topk  # noqa: E402
from campaign.kernels.errors import CampaignError  # noqa: E402
from campaign.kernels.masks import candidate_flags, masked_top_k  # noqa: E402
from campaign.kernels.oracle import top_k  # noqa: E402
from campaign.kernels.pairs import Contest, Pair, Work, contests, fresh, on_gpu, pairs  # noqa: E402

BETWEEN = contests(["auto", "rs8"], ["masked_topk"], "served_topk")
US = {"auto": 5.0, "rs8": 6.0, "masked_topk": 7.0, "served_topk": 9.0}


class Machine:
    """Stands in for a GPU: answers as the oracle, but for the kernels in `wrong`, and takes the times of `US`."""

    def __init__(self, wrong: Sequence[str] = ()) -> None:
        self.wrong = wrong
        self.works: list[Work] = []
        self.timed: list[str] = []

    def run(self, work: Work, kernel: str) -> tuple[np.ndarray, Callable[[], Any]]:
        self.works.append(work)
        answer = work.want.copy()
        answer[0, 0] += kernel in self.wrong
        return answer, lambda: kernel

    def time(self, calls: Sequence[Callable[[], Any]]) -> float:
        self.timed.append(calls[0]())
        return US[self.timed[-1]]

    def pairs(self, **options: Any) -> list[Pair]:
        chosen = {"lengths": (600, 900), "rows": 2, "k": 16, "count": 4} | options
        return list(pairs(BETWEEN, self.run, self.time, **chosen))


def test_every_contest_has_its_pairs_at_every_length():
    """As many pairs as asked for, of each kernel, in each kind of layer, at each length."""
    found = Counter((pair.layer, pair.kernel, pair.columns) for pair in Machine().pairs())
    kinds = [("full", "auto"), ("full", "rs8"), ("masked", "masked_topk")]
    assert found == {(*kind, columns): 4 for kind in kinds for columns in (600, 900)}


def test_pair_carries_both_times():
    """A pair has the time of its kernel and that of the other, whichever was timed first."""
    for pair in Machine().pairs():
        assert (pair.kernel_us, pair.against_us, pair.wrong_rows) == (US[pair.kernel], US["served_topk"], 0)


def test_order_inside_a_pair_alternates():
    """Of each kernel's pairs at one length every second one times the other kernel first, as the record says."""
    machine = Machine()
    found = machine.pairs()
    assert machine.timed[::2] == [pair.first for pair in found]
    one = [pair.first for pair in found if (pair.kernel, pair.columns) == ("rs8", 900)]
    assert one == ["served_topk", "rs8", "served_topk", "rs8"]


def test_next_start_begins_with_the_other_kernel():
    """Where starts have an odd number of pairs, both kernels go first equally often over two starts."""
    first = [{pair.first == pair.kernel for pair in Machine().pairs(start=start, count=1)} for start in (1, 2)]
    assert first == [{False}, {True}]


def test_starts_have_rows_of_their_own():
    """A second start times other scores, and its pairs say so."""
    one, other = Machine(), Machine()
    assert {pair.start for pair in one.pairs(start=1)} | {pair.start for pair in other.pairs(start=2)} == {1, 2}
    assert not {work.scores.tobytes() for work in one.works} & {work.scores.tobytes() for work in other.works}


def test_pairs_go_round_the_lengths():
    """The pairs of one length lie spread over the run: no length is timed twice before all were timed once."""
    one = [(pair.pair, pair.columns) for pair in Machine().pairs() if pair.kernel == "auto"]
    assert one == [(number, columns) for number in (1, 2, 3, 4) for columns in (600, 900)]


def test_every_pair_has_fresh_rows():
    """No two pairs of a contest are timed on the same scores, and both kernels of a pair are."""
    machine = Machine()
    machine.pairs(lengths=(600,))
    scores = [work.scores.tobytes() for work in machine.works]
    assert len(set(scores)) == 8  # four pairs of two kinds of layer; the contests of a layer share theirs


def test_seed_decides_the_rows():
    """The same seed gives the same scores, another one others."""
    first, again, other = (fresh([seed, 600, 1], "masked", 2, 600, 16).scores.tobytes() for seed in (1, 1, 2))
    assert first == again != other


def test_wrong_answer_has_no_time():
    """Where either kernel of a pair is wrong neither is timed, and the wrong rows are counted."""
    machine = Machine(wrong=["rs8"])
    found = {pair.kernel: pair for pair in machine.pairs()}
    assert (found["rs8"].kernel_us, found["rs8"].against_us, found["rs8"].wrong_rows) == (None, None, 1)
    assert found["auto"].kernel_us == US["auto"]
    assert "rs8" not in machine.timed


@pytest.fixture
def kernels_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Kernels that answer as the oracles say, on the CPU; the names of those launched, in order."""
    launched: list[str] = []

    def select(name: str) -> Callable[..., None]:
        def launch(scores: Any, lengths: Any, out: Any, **_: Any) -> None:
            launched.append(name)
            out.copy_(torch.from_numpy(top_k(scores.numpy(), out.shape[1], lengths.numpy())))

        return launch

    def mask(scores: Any, candidates: Any, flags: Any) -> None:
        launched.append("mask")
        flags.copy_(torch.from_numpy(candidate_flags(candidates.numpy(), scores.shape[1])))
        scores[flags == 0] = -np.inf

    def fused(scores: Any, lengths: Any, candidates: Any, out: Any, **_: Any) -> None:
        launched.append("masked_topk")
        out.copy_(torch.from_numpy(masked_top_k(scores.numpy(), out.shape[1], lengths.numpy(), candidates.numpy())))

    monkeypatch.setattr(bench, "DEVICE", "cpu")
    monkeypatch.setattr(bench, "ours", lambda: {name: select(name) for name in ("served_topk", "rs8", "auto")})
    monkeypatch.setattr(topk, "mask_candidates", mask)
    monkeypatch.setattr(topk, "masked_topk", fused)
    return launched


@pytest.mark.parametrize(
    ("layer", "kernel", "launched"),
    [
        ("full", "auto", ["auto"]),
        ("masked", "masked_topk", ["masked_topk"]),
        ("masked", "rs8", ["mask", "rs8"]),
    ],
)
def test_call_is_what_a_layer_needs(kernels_on_the_cpu, layer, kernel, launched):
    """A full layer selects, a masked one masks and selects, or F alone does both; the answer is right at every call."""
    work = fresh([1], layer, 2, 20_000, 16)
    answer, call = on_gpu(work, kernel)
    assert (answer.tobytes(), kernels_on_the_cpu) == (work.want.tobytes(), launched)
    call()
    assert (answer.tobytes(), kernels_on_the_cpu) == (work.want.tobytes(), launched * 2)


def test_call_leaves_the_rows_of_the_other_kernel_alone(kernels_on_the_cpu):
    """The masking kernels write into scores of their own: whoever comes next in the pair gets the rows as they were."""
    work = fresh([1], "masked", 2, 20_000, 16)
    before = work.scores.tobytes()
    on_gpu(work, "served_topk")
    assert work.scores.tobytes() == before


def test_masked_answer_is_the_masked_oracles():
    """The right answer of a masked layer is among its candidates."""
    work = fresh([1], "masked", 2, 20_000, 16)
    assert work.want.tobytes() == masked_top_k(work.scores, 16, None, work.candidates).tobytes()


@pytest.mark.parametrize(
    ("contest", "message"),
    [
        (("full", "rs9", "rs8"), r"full layer: no kernel 'rs9'.*Did you mean rs8\?"),
        (("full", "masked_topk", "rs8"), "full layer: no kernel 'masked_topk'; expected one of served_topk, rs8, auto"),
        (("masked", "rs8", "rs8"), "masked layer: rs8 against itself; expected two kernels"),
    ],
)
def test_contest_that_cannot_be_is_refused(contest, message):
    """A kernel that there is not, not in such a layer, or twice."""
    with pytest.raises(CampaignError, match=message):
        Contest(*contest)


def test_row_without_a_choice_is_refused():
    """Where all columns are selected there is nothing to time."""
    with pytest.raises(CampaignError, match="length 16 with k 16: nothing to select"):
        Machine().pairs(lengths=(600, 16))

"""The emulation of the cluster kernels: it selects what the oracle selects, and breaches of its protocol are seen."""

import re
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.kernels import emulation
from campaign.kernels.build import SOURCES
from campaign.kernels.emulated_cluster import Block, Cluster, Mailbox, Words
from campaign.kernels.emulation import (
    ALL,
    COUNTED_VECTORS,
    KERNEL_SIZES,
    UNWRITTEN,
    WIDEST_BITS,
    Range,
    Selection,
    Sizes,
    cluster_of,
    deal,
    emulated_top_k,
    find_crossing,
    key_of,
    within,
)
from campaign.kernels.inputs import INPUT_CLASSES, classes_aimed_at
from campaign.kernels.oracle import sort_keys, top_k
from campaign.kernels.shapes import SHAPES, Shape

ORDERS = ("ieee", "served")
SMALL_SHAPES = (
    Shape(1, 64, 2),
    Shape(1, 64, 0),
    Shape(2, 32, 4),
    Shape(2, 32, 0),
    Shape(4, 32, 1),
    Shape(8, 32, 1),
    Shape(8, 64, 0),
    Shape(16, 32, 1),
)
"""One for each size of cluster, with few threads, that keep their keys and that do not."""

SHALLOW = Sizes(listed=64, listed_together=32, ranked=4)
"""The kernels' histograms with a short list: most rows need more than one round, and digits after it."""
TINY = Sizes(bin_bits=8, group_bits=4, step_bits=21, listed=8, listed_together=4, ranked=2, digit_bits=4, passes=8)
"""Everything smaller: short rows take every path there is."""
EVERY_SIZES = KERNEL_SIZES, SHALLOW, TINY

every_class = pytest.mark.parametrize("name", INPUT_CLASSES | classes_aimed_at(1))
every_order = pytest.mark.parametrize("order", ORDERS)
every_shape = pytest.mark.parametrize("shape", SMALL_SHAPES, ids=str)
every_sizes = pytest.mark.parametrize("sizes", EVERY_SIZES, ids=["kernels", "shallow", "tiny"])


def drawn(name: str, k: int, rows: int, length: int) -> np.ndarray:
    """The scores of the input class `name`, always the same ones."""
    return (INPUT_CLASSES | classes_aimed_at(k))[name](np.random.default_rng(length), rows, length)


def longest(shape: Shape) -> int:
    """A length that fills a shape, with room for a head, and is short enough to emulate."""
    return min(shape.capacity - 3, 600)


def counted(scores: np.ndarray, k: int, shape: Shape, sizes: Sizes = KERNEL_SIZES) -> Block:
    """A block of the cluster that has selected k of a row of scores."""
    keys = key_of(scores.view(np.uint32)[0], "ieee")

    def program(block: Block):
        block.open()
        yield from Selection(block, keys, len(keys), 0, shape, sizes).find(k)

    cluster = cluster_of(shape, sizes, seed=1)
    cluster.run(program)
    return cluster.blocks[-1]


@every_class
def test_emulation_agrees_with_the_oracle(name):
    """On each class, every shape, at the kernels' sizes and at smaller ones, selects what the oracle selects."""
    for number, shape in enumerate(SMALL_SHAPES):
        length = longest(shape)
        scores = drawn(name, 20, 2, length)
        for at, sizes in enumerate(EVERY_SIZES):
            order, lengths = ORDERS[(number + at) % 2], [length, length // 2 - number]
            options = {"shape": shape, "sizes": sizes, "head": (number + at) % 4, "seed": number}
            got = emulated_top_k(scores, 20, lengths, order, **options)
            assert np.array_equal(got, top_k(scores, 20, lengths, order)), (str(shape), sizes, order)


AWKWARD = [sign | bits for sign in (0, 1 << 31) for bits in (0, 1, 0x7F_FFFF, 0x80_0000, 0x7F80_0000, 0x7F80_0001)]


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(data=st.data(), order=st.sampled_from(ORDERS), shape=st.sampled_from(SMALL_SHAPES[:6]))
def test_emulation_agrees_on_any_bits(data, order, shape):
    """Whatever a row's bits, length and head, k and the order of events, the emulation agrees with the oracle."""
    few = data.draw(st.lists(st.sampled_from(AWKWARD) | st.integers(0, 2**32 - 1), min_size=1, max_size=12))
    seed, columns, k = data.draw(st.integers(0, 2**30)), data.draw(st.integers(1, 250)), data.draw(st.integers(1, 60))
    bits = np.random.default_rng(seed).choice(np.array(few, np.uint32), (1, columns))
    lengths, head = [data.draw(st.integers(-1, columns))], data.draw(st.integers(0, 3))
    scores = bits.view(np.float32)
    got = emulated_top_k(scores, k, lengths, order, shape=shape, head=head, seed=seed, sizes=TINY)
    assert got.tolist() == top_k(scores, k, lengths, order).tolist()


@pytest.mark.parametrize("shape", [Shape(1, 512, 2), Shape(2, 512, 1), Shape(4, 512, 1), Shape(2, 1024, 0)], ids=str)
@pytest.mark.parametrize("name", ["normal", "all_equal", "narrow_range", "few_values", "equal_upper_22_bits"])
def test_shapes_that_are_built_agree_with_the_oracle(name, shape):
    """Shapes of the kernels, at their sizes and on rows that nearly fill them, select 512 as the oracle does."""
    assert shape in SHAPES
    scores = drawn(name, 512, 1, 4000)
    assert np.array_equal(emulated_top_k(scores, 512, shape=shape, head=3), top_k(scores, 512))


@every_shape
def test_ragged_rows_agree_with_the_oracle(shape):
    """Rows of length -1, 0, 1, k-1, k, k+1 and more, in a wide call, select among their own live entries."""
    lengths = [-1, 0, 1, 19, 20, 21, 23, 100, 127, 128, 240]
    scores = drawn("few_values", 20, len(lengths), 245)
    got = emulated_top_k(scores, 20, lengths, shape=shape, head=1, sizes=TINY)
    assert got.tolist() == top_k(scores, 20, lengths).tolist()


@pytest.mark.parametrize("shape", SMALL_SHAPES[:5], ids=str)
def test_kth_at_the_edge_of_a_widest_bin_agrees_with_the_oracle(shape):
    """Where the k-th is next to an edge of a widest bin, on either side, and other keys are at its far end."""
    for entry in (1, SHALLOW.side - 1, SHALLOW.side + 1, SHALLOW.bins - 1):
        above, below = SHALLOW.range_of_bin(entry), SHALLOW.range_of_bin(entry - 1)
        rng = np.random.default_rng(entry)
        near = above.least + np.concatenate([rng.integers(0, 1 << 18, 50), rng.integers(-(1 << 18), 0, 50)])
        keys = rng.permutation(np.concatenate([np.full(70, above.most), near, np.full(75, below.least)]))
        bits = np.where(keys >> 31 == 1, keys - (1 << 31), ALL - keys).astype(np.uint32)
        for k in (80, 110, 130):
            scores = bits[None].view(np.float32)
            assert np.array_equal(emulated_top_k(scores, k, shape=shape, sizes=SHALLOW), top_k(scores, k)), (entry, k)


@every_order
@every_shape
def test_bfloat16_agrees_with_the_oracle(shape, order):
    """Rows of bfloat16, whose ties share all bits, select what the oracle selects."""
    scores = (drawn("nan_payloads", 20, 2, 240).view(np.uint32) >> 16).astype(np.uint16)
    got = emulated_top_k(scores, 20, order=order, shape=shape, sizes=SHALLOW)
    assert got.tolist() == top_k(scores, 20, order=order).tolist()


def test_the_order_of_events_changes_nothing():
    """Twenty orders in which blocks run, pushes arrive and entries are listed give one selection."""
    scores = drawn("narrow_range", 20, 1, 500)
    selections = [emulated_top_k(scores, 20, shape=Shape(4, 32, 1), sizes=SHALLOW, seed=seed) for seed in range(20)]
    assert {selection.tobytes() for selection in selections} == {top_k(scores, 20).tobytes()}


@pytest.mark.parametrize("garbage", [0x7FFF_FFFF, 0xFFFF_FFFF, 0])
@every_shape
def test_what_lies_behind_a_row_changes_nothing(shape, garbage):
    """Whatever a row holds at and behind its length, the selection is that of its live entries."""
    scores = drawn("normal", 20, 1, 240)
    want = top_k(scores[:, :200], 20)
    scores.view(np.uint32)[:, 200:] = garbage
    assert emulated_top_k(scores, 20, [200], shape=shape, head=2).tolist() == want.tolist()


def test_row_that_does_not_fit_is_refused():
    """A row that is longer than a shape takes, counted from the boundary before it, is an error."""
    scores = np.zeros((1, 255), np.float32)
    emulated_top_k(scores, 2, shape=Shape(2, 32, 1), head=1)
    with pytest.raises(ValueError, match="257 positions do not fit shape c2_t32_v1"):
        emulated_top_k(scores, 2, shape=Shape(2, 32, 1), head=2)


@every_order
def test_keys_are_those_of_the_oracle(order):
    """The integer steps of the kernels give every kind of score, and many drawn bits, the oracle's key."""
    bits = np.concatenate([np.array(AWKWARD, np.uint32) + np.uint32(step) for step in (0, 1)])
    bits = np.concatenate([bits, np.arange(2**16, dtype=np.uint32) << 16, np.arange(2**16, dtype=np.uint32) << 16 | 1])
    assert np.array_equal(key_of(bits, order), sort_keys(bits.view(np.float32)[None], order)[0])


def constant(name: str, file: str) -> str:
    """What the CUDA sources set a name to."""
    return re.search(rf"\b{name} = (.+?)(, [A-Z_]+ = .*)?;", (SOURCES / file).read_text())[1]


@pytest.mark.parametrize(
    "file, names",
    [
        ("bins.cuh", ["bin_bits", "step_bits"]),
        ("histogram.cuh", ["group_bits", "listed", "ranked", "digit_bits", "passes"]),
    ],
    ids=["bins.cuh", "histogram.cuh"],
)
def test_sizes_are_those_of_the_kernels(file, names):
    """The emulation's sizes are the constants of the CUDA sources."""
    assert {name: getattr(KERNEL_SIZES, name) for name in names} == {
        name: int(constant(name.upper(), file)) for name in names
    }


def test_choices_are_those_of_the_kernels():
    """What is listed, whose groups are summed, and where the innermost bins end: as in the CUDA sources."""
    listable = f"!KEPT ? LISTED : CS > 1 ? {KERNEL_SIZES.listed_together} : RANKED"
    assert constant("LISTABLE", "select.cuh") == listable
    assert constant("SUMMED", "select.cuh") == " && ".join(f"V != {vectors}" for vectors in COUNTED_VECTORS)
    assert constant("NEAREST", "bins.cuh") == "(112u << 23) - STEP"
    assert [KERNEL_SIZES.listable(Shape(*shape)) for shape in ((1, 512, 0), (8, 512, 0), (8, 512, 1), (1, 512, 2))] == [
        KERNEL_SIZES.listed,
        KERNEL_SIZES.listed,
        KERNEL_SIZES.listed_together,
        KERNEL_SIZES.ranked,
    ]


@every_sizes
def test_bins_divide_the_keys(sizes):
    """The bins of the first histogram follow one another from the lowest key to the highest, each with its own keys."""
    ranges = [sizes.range_of_bin(entry) for entry in range(sizes.bins)]
    assert (ranges[0].least, ranges[-1].most) == (0, ALL)
    assert [each.most + 1 for each in ranges[:-1]] == [each.least for each in ranges[1:]]
    for keys in np.array(ranges, np.uint32).T.copy():
        bins = (sizes.scaled_bin(keys) >> sizes.step_bits) + sizes.side
        assert np.array_equal(bins, np.arange(sizes.bins))


@every_sizes
def test_no_part_reaches_beyond_its_bin(sizes):
    """The lowest and the highest part into which a bin of the first histogram is cut are inside it, for every bin."""
    for entry in range(sizes.bins):
        at = sizes.range_of_bin(entry)
        shift = at.shift(sizes.bin_bits)
        low, high = (at.part(key >> shift & sizes.bins - 1, sizes.bin_bits, shift) for key in at)
        assert at.least == low.least <= low.most <= high.most == at.most
        assert (at.least ^ at.most).bit_length() <= WIDEST_BITS


class HalfAPartFurther(Sizes):
    """The innermost bins end half a part farther from zero."""

    nearest = 112 << 23


@pytest.mark.parametrize("wrong", [HalfAPartFurther, partial(Sizes, step_bits=16), partial(Sizes, bin_bits=11)])
def test_bins_whose_parts_reach_beyond_them_are_refused(wrong):
    """Sizes at which a widest bin does not end where its parts do are refused, as by the CUDA sources."""
    with pytest.raises(AssertionError, match="parts reach beyond their bin"):
        wrong()
    assert (SOURCES / "bins.cuh").read_text().count("% WIDEST_PART == 0") == 4


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(data=st.data(), bits=st.sampled_from([4, 8, 12]))
def test_parts_divide_a_range(data, bits):
    """Every key of a range is in the part that its shifted bits name; no other part of the range has the same bits."""
    least, most = sorted(data.draw(st.lists(st.integers(0, ALL), min_size=2, max_size=2)))
    at = Range(least, most)
    shift, key = at.shift(bits), data.draw(st.integers(least, most))
    part = at.part(key >> shift & (1 << bits) - 1, bits, shift)
    assert part.least <= key <= part.most == part.least + (1 << shift) - 1
    assert part.least >> shift == key >> shift and (most >> shift) - (least >> shift) < 1 << bits


@every_sizes
def test_passes_are_as_many_as_the_digits_that_may_be_left(sizes):
    """The memory for digit passes is enough for all the bits in which the keys of a bin may differ."""
    assert (sizes.passes - 1) * sizes.digit_bits < WIDEST_BITS <= sizes.passes * sizes.digit_bits


@pytest.mark.parametrize("more, rounds", [(0, 1), (1, 2)])
@pytest.mark.parametrize("shape", [Shape(1, 64, 2), Shape(1, 64, 0), Shape(8, 32, 1), Shape(8, 64, 0)], ids=str)
def test_bin_that_the_list_holds_takes_one_round(shape, more, rounds):
    """Where the crossing bin is no fuller than the list, there is one histogram; one entry more is cut."""
    full = SHALLOW.listable(shape) + more
    scores = np.concatenate([np.full(60, 2), 1.5 + np.arange(full) * 2**-20, np.ones(300)]).astype(np.float32)[None]
    assert counted(scores, 60 + full // 2, shape, SHALLOW).rounds == rounds


@pytest.mark.parametrize("shape", [Shape(1, 64, 2), Shape(1, 64, 0), Shape(8, 32, 1)], ids=str)
def test_bin_of_which_all_is_needed_is_not_cut(shape):
    """A crossing bin fuller than the list, all of whose entries are chosen, is neither cut nor listed."""
    scores = np.repeat(np.array([2, 1.5, 1], np.float32), 100)[None]
    block = counted(scores, 200, shape, SHALLOW)
    assert (block.rounds, block.lists) == (1, 0)


@pytest.mark.parametrize(
    "shape, bits, rounds",
    [
        (Shape(8, 32, 1), 20, 2),
        (Shape(8, 32, 1), 8, 3),
        (Shape(1, 32, 0), 18, 2),
        (Shape(1, 32, 0), 4, 3),
        (Shape(1, 32, 8), 18, 2),
        (Shape(1, 32, 8), 4, 2),
    ],
)
def test_full_bin_is_cut_again(shape, bits, rounds):
    """A bin fuller than the list is cut by the next 12 bits of its keys, then by the rest, or at once after a look."""
    scores = (0x3F80_0000 + np.random.default_rng(0).integers(0, 1 << bits, (1, 1000), np.uint32)).view(np.float32)
    assert counted(scores, 500, shape, SHALLOW).rounds == rounds


@pytest.mark.parametrize(
    "shape, groups", [(Shape(8, 32, 1), 1), (Shape(8, 64, 0), 1), (Shape(1, 64, 0), 0), (Shape(1, 64, 4), 0)]
)
def test_ties_are_shared_out_without_a_list(shape, groups):
    """Where more entries tie than the list holds, blocks share a histogram, one key, and no entry."""
    block = counted(drawn("all_equal", 500, 1, 1000), 500, shape, SHALLOW)
    assert (block.rounds, block.groups, block.lists) == (2, groups, 0)


@every_shape
def test_ties_that_fill_many_blocks_agree_with_the_oracle(shape):
    """Of a row of ties, the first k are selected, whether they end in the first block or in the last."""
    scores = drawn("all_equal", 20, 1, 250)
    for k in (1, 5, 31, 32, 33, 120, 200, 249):
        assert emulated_top_k(scores, k, shape=shape, sizes=TINY)[0].tolist() == list(range(k))


@pytest.mark.parametrize("other", [0, 1])
@pytest.mark.parametrize("most", [0x7FFF_FFFF, 0xFFFF_FFFF], ids=["highest", "lowest"])
@every_shape
def test_ties_of_the_extreme_keys_agree_with_the_oracle(shape, most, other):
    """Of the NaN that rank highest or lowest, the first are selected, as many as needed, with one neighbour or none."""
    scores = np.full((1, 250), most, np.uint32)
    scores[0, 1::3] -= other
    for k in (1, 120, 249):
        got = emulated_top_k(scores.view(np.float32), k, shape=shape, head=1, sizes=TINY)
        assert np.array_equal(got, top_k(scores.view(np.float32), k))


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(data=st.data(), cluster=st.sampled_from([1, 2, 4, 8, 16]), warps=st.integers(1, 4), vectors=st.integers(0, 3))
def test_every_entry_has_one_thread(data, cluster, warps, vectors):
    """Each entry of a row is at one thread, and a row much shorter than the widest still gives every block some."""
    shape = Shape(cluster, 32 * warps, vectors)
    head = data.draw(st.integers(0, 3))
    widest = data.draw(st.integers(1, min(shape.capacity - 3, 5000)))
    length = data.draw(st.integers(1, widest))
    dealt = deal(shape, head, length, widest)  # it looks for itself whether each entry is there once
    assert dealt.live.sum() == length
    if cluster > 1 and length < widest // 2 and length >= 4 * cluster**2:
        assert dealt.live.any(axis=(1, 2, 3, 4, 5)).all()


def test_within_marks_the_positions_in_a_range():
    """Of four positions, those from `start` up and below `stop` are marked, whatever lies where."""
    for position in range(8):
        for start in range(12):
            for stop in range(12):
                marked = int(within(*(np.array(each) for each in (position, start, stop))))
                assert marked == sum(1 << j for j in range(4) if start <= position + j < stop)


def test_crossing_is_where_the_counts_reach_what_is_needed():
    """The crossing of any counts is the highest entry at which the sum from above reaches what is needed."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        counts = rng.integers(0, 3, (4, int(rng.choice([16, 64, 128, 256]))))
        need, total = int(rng.integers(1, counts.sum() + 1)), counts.sum(axis=0)
        c = find_crossing(counts, need)
        assert total[c.entry + 1 :].sum() == c.above < need <= c.above + c.inside == total[c.entry :].sum()


def faults(name: str = "normal", seeds: int = 20) -> list[str]:
    """What the emulation said to a fault planted by the test, for each of some seeds at which it said anything."""
    scores, said = drawn(name, 20, 1, 400), []
    for seed in range(seeds):
        try:
            emulated_top_k(scores, 20, shape=Shape(4, 32, 1), sizes=SHALLOW, seed=seed)
        except AssertionError as error:
            said.append(str(error))
    return said


def test_no_fault_is_found_where_none_is():
    """The protocol as it is raises nothing."""
    assert faults() == []


def test_read_without_waiting_is_found(monkeypatch):
    """A block that reads without waiting for its mailbox reads words that were not pushed in this round."""
    monkeypatch.setattr(Mailbox, "ended", lambda self, use: lambda: True)
    monkeypatch.setattr(Mailbox, "expect", lambda self, count: None)
    assert any("was not written in use" in text for text in faults())


def test_push_to_a_block_that_has_not_begun_is_found(monkeypatch):
    """A block that does not wait for the others to open their mailboxes pushes to one that is not open."""

    def at_once(self):
        return
        yield

    monkeypatch.setattr(Block, "wait_for_all", at_once)
    assert any("before it opened its mailboxes" in text for text in faults())


def test_bytes_that_never_come_are_found(monkeypatch):
    """A mailbox that expects more than is pushed to it is waited for in vain."""
    expect = Mailbox.expect
    monkeypatch.setattr(Mailbox, "expect", lambda self, count: expect(self, count + 4))
    assert any("wait for what never comes" in text for text in faults())


def test_bytes_that_nobody_expects_are_found(monkeypatch):
    """A mailbox that expects less than is pushed to it gets more, or is read before all of it has come."""
    expect = Mailbox.expect
    monkeypatch.setattr(Mailbox, "expect", lambda self, count: expect(self, max(count - 64, 0)))
    assert len(faults()) == 20


def test_round_that_runs_into_the_next_is_found(monkeypatch):
    """A block that need not wait for the bins of the crossing group is a round ahead of what it reads."""
    ended = Mailbox.ended

    def second_box_never_waits(self, use):
        box = ended(self, use)
        return (lambda: True) if self.phase == use and self in group_boxes else box

    group_boxes: list[Mailbox] = []
    init = Block.__init__

    def remembered(self, *options):
        init(self, *options)
        group_boxes.append(self.group_box)

    monkeypatch.setattr(Block, "__init__", remembered)
    monkeypatch.setattr(Mailbox, "ended", second_box_never_waits)
    assert faults(name="equal_upper_22_bits")


def counts_of(block: Block) -> tuple[Words, Mailbox]:
    """Where a test pushes to."""
    return block.counts[0], block.counts_box


def run(program: Callable, size: int = 2) -> None:
    """Runs a program of a test in a cluster."""
    Cluster(size, counts=4, group=4, listed=4, seed=0).run(program)


def test_push_to_a_block_that_has_ended_is_found():
    """A block that ends without waiting for what is pushed to it is written to after its end."""

    def program(block: Block):
        block.open()
        yield from block.wait_for_all()
        block.push(counts_of, block.rank * 4, np.zeros(4, np.uint32), 0)

    with pytest.raises(AssertionError, match="after it ended"):
        run(program)


def test_word_that_is_pushed_twice_in_a_use_is_found():
    """Two pushes to one place, with no use between them, are an error."""

    def program(block: Block):
        block.open()
        yield from block.wait_for_all()
        for _ in range(2):
            block.push(counts_of, block.rank * 4, np.zeros(4, np.uint32), 0)
        block.counts_box.expect(32)
        yield block.counts_box.ended(0)

    with pytest.raises(AssertionError, match="a word was overwritten in use 0"):
        run(program)


def test_phase_ends_when_the_expected_bytes_have_come():
    """A mailbox's phase ends with the last of its bytes, in whatever order bytes and their announcement come."""
    for early in (True, False):
        box = Mailbox()
        if early:
            box.arrive(12)
        box.expect(16)
        assert not box.ended(0)()
        box.arrive(4 if early else 16)
        assert box.ended(0)()
        assert not box.ended(1)()


def test_phase_of_no_bytes_ends_at_once():
    """A mailbox that expects nothing does not wait."""
    box = Mailbox()
    box.expect(0)
    assert box.ended(0)()


def test_wait_that_another_phase_ends_is_found():
    """A wait for one phase that two later phases would end as well, by their parity, is an error."""
    box = Mailbox()
    for _ in range(3):
        box.expect(0)
    with pytest.raises(AssertionError, match="wait for phase 0 ended by phase 2"):
        box.ended(0)()


def test_place_that_is_written_twice_is_found():
    """The emulation writes each place of a selection once, and says so where it would not."""
    out = np.full(3, UNWRITTEN, np.int32)
    emulation.write(out, np.array([0, 1]), np.array([5, 6]))
    with pytest.raises(AssertionError, match="written twice"):
        emulation.write(out, np.array([1]), np.array([7]))

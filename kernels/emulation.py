"""The top-k kernels step by step on the CPU: what select.cuh does, without a GPU.

Each block takes the steps that the device code takes, in NumPy, on its own share of the row; what blocks tell each
other goes through `emulated_cluster`. Two things are left out: the order in which the warps of one block run, and the
packed bytes in which the device sums counts.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from campaign.kernels.emulated_cluster import Block, Cluster, Mailbox, Program, Words, at_once
from campaign.kernels.oracle import PADDING, Order, widened
from campaign.kernels.shapes import Shape

UNWRITTEN = -7
LANES, VECTOR = 32, 4
STREAMED_VECTORS = 8
"""Vectors of a thread in one group, where a block keeps no keys."""
KEY_BITS = 32
ONE_KEY = 0xFFFF_FFFF
"""Stands for a bin where all entries that were counted have one key."""
NO_KEYS = 0xFFFF_FFFF, 0
"""The least and the most key where there is none."""
NO_INDEX = 0xFFFF_FFFF
"""The lower half of a threshold that no entry of its key reaches, but for the row's first."""
NOT_AN_ENTRY = 0xFFFF_FFFF
"""What stands where a thread has no entry: the largest key, so that it cannot be counted unseen."""


@dataclass(frozen=True)
class Sizes:
    """Sizes that the kernels are compiled with (histogram.cuh, keys.cuh).

    Smaller ones take short rows to the deep paths. The list must hold the entries that a bin of indices can.
    """

    group_alone: int = 128
    """Bins of a group, and groups of a histogram, where one block has the row."""
    group_shared: int = 64
    """The same where the blocks of a cluster tell one another their counts."""
    listed: int = 2048
    """Entries that the list holds."""
    ranked: int = 48
    """Entries that are ranked by comparison."""
    digit_bits: int = 8
    """Bits of a digit of the last passes."""
    passes: int = 6
    """Digit passes for which there is memory."""
    index_bits: int = 20
    """Bits of an index."""
    extremes: int = 4
    """Words that follow a block's counts of groups: the least and the most key of a bin that is cut, then none."""

    def group(self, cluster: int) -> int:
        """Bins of a group, and groups of a histogram, in clusters of so many blocks."""
        return self.group_alone if cluster == 1 else self.group_shared

    def bin_bits(self, cluster: int) -> int:
        """Bits of a histogram's bin: group * group bins."""
        return 2 * (self.group(cluster).bit_length() - 1)

    def counts(self, cluster: int) -> int:
        """Words in which a block counts its part of the row in one round: its groups, and the extremes of a cut bin."""
        return self.group(cluster) + self.extremes


KERNEL_SIZES = Sizes()


def emulated_top_k(
    scores: np.ndarray,
    k: int,
    lengths: Sequence[int] | np.ndarray | None = None,
    order: Order = "ieee",
    *,
    shape: Shape,
    head: int = 0,
    seed: int = 0,
    sizes: Sizes = KERNEL_SIZES,
) -> np.ndarray:
    """What a kernel of `shape` selects: [rows, k] int32, columns ascending, then -1, as in `oracle.top_k`.

    scores, lengths, order: as in `oracle.top_k`. head: scores between a 16-byte boundary and the row, 0 to 3. seed: of
    the order in which blocks run, pushes arrive and entries are listed; any seed must give the same answer.
    """
    rows, columns = scores.shape
    if head + columns > shape.capacity:
        raise ValueError(f"{head + columns:,} positions do not fit shape {shape}")
    bits = bits_of(scores)
    selected = np.full((rows, k), UNWRITTEN, np.int32)
    for row, length in enumerate([columns] * rows if lengths is None else lengths):
        keys = key_of(bits[row, : max(int(length), 0)], order)
        cluster = cluster_of(shape, sizes, seed + row)
        cluster.run(
            lambda block, row=row, keys=keys: _whole_row(block, keys, columns, head, shape, sizes, selected[row])
        )
    return selected


def cluster_of(shape: Shape, sizes: Sizes, seed: int) -> Cluster:
    """The blocks that share a row."""
    counts, group = sizes.counts(shape.cluster), sizes.group(shape.cluster)
    return Cluster(shape.cluster, counts=counts, group=group, listed=sizes.listed, seed=seed)


def _whole_row(
    block: Block, keys: np.ndarray, columns: int, head: int, shape: Shape, sizes: Sizes, out: np.ndarray
) -> Program:
    """A block's part in the selection of one row (topk.cu)."""
    block.open()
    length = len(keys)
    if length <= len(out):
        if block.rank == 0:
            write_all(out, length)
        yield from block.wait_for_all()
        return
    selection = Selection(block, keys, columns, head, shape, sizes)
    found = yield from selection.find(len(out))
    for place, index in selection.chosen(found):
        write(out, place, index)


def bits_of(scores: np.ndarray) -> np.ndarray:
    """The bits of float32 scores, or of the float32 to which bfloat16 bits (uint16) widen."""
    return (widened(scores) if scores.dtype == np.uint16 else scores).view(np.uint32)


def key_of(bits: np.ndarray, order: Order) -> np.ndarray:
    """The keys of scores from their bits, uint32, by the integer steps of keys.cuh."""
    key = bits ^ ((bits.view(np.int32) >> 31).view(np.uint32) | np.uint32(0x8000_0000))
    if order == "served":
        key = np.where(bits - np.uint32(1) < 0x007F_FFFF, np.uint32(0x8000_0000), key)
        key = np.where(bits - np.uint32(0x7F80_0001) < 0x007F_FFFF, np.uint32(0x7FFF_FFFF), key)
    return key


def entry_of(key: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Entries, uint64: the key, then the index inverted, so that of equal keys the lower index is the larger entry."""
    return key.astype(np.uint64) << np.uint64(32) | (~index.astype(np.uint32)).astype(np.uint64)


def write_all(out: np.ndarray, length: int) -> None:
    """Writes a row of no more than k entries: all of them, then -1."""
    write(out, np.arange(len(out)), np.where(np.arange(len(out)) < length, np.arange(len(out)), PADDING))


def write(out: np.ndarray, place: np.ndarray, column: np.ndarray) -> None:
    """Writes columns to places that nothing was written to before."""
    assert (out[place] == UNWRITTEN).all(), "a place is written twice"
    out[place] = column


@dataclass(frozen=True)
class Deal:
    """How a row's positions are dealt out to the threads of a cluster."""

    share: int
    """Positions of a block."""
    stretch: int
    """Positions of a warp."""
    position: np.ndarray
    """[blocks, warps, groups, vectors, lanes, 4]: the positions that the threads look at."""
    live: np.ndarray
    """Of the same shape: which of them are entries."""


@lru_cache(maxsize=32)
def deal(shape: Shape, head: int, length: int, longest: int) -> Deal:
    """The deal of a row of `length` entries that might have been `longest` (divide, load, settle in select.cuh)."""
    dealt = length
    if shape.vectors and not (shape.cluster > 1 and length < longest // 2):
        dealt = longest
    end, warps = head + dealt, shape.threads // LANES
    share = -(-end // (shape.cluster * VECTOR)) * VECTOR
    stretch = -(-share // (warps * VECTOR)) * VECTOR
    vectors = shape.vectors or STREAMED_VECTORS
    of_group = vectors * LANES * VECTOR
    groups = 1 if shape.vectors else -(-stretch // of_group)
    assert stretch <= groups * of_group, f"a warp's {stretch} positions do not fit its threads"

    rank, warp, group, vector, lane = np.ix_(*map(np.arange, (shape.cluster, warps, groups, vectors, LANES)))
    first = rank * share + warp * stretch
    start = np.maximum(head, first)
    stop = np.minimum(np.minimum(first + stretch, (rank + 1) * share), head + min(length, dealt))
    at = first + lane * VECTOR + group * of_group + vector * (LANES * VECTOR)
    live = within(at, start, stop)[..., None] >> np.arange(VECTOR) & 1 == 1
    position = at[..., None] + np.arange(VECTOR)
    # The order of the axes is the order of a row, on which the places of chosen entries rest.
    assert np.array_equal(position[live], np.arange(head, head + length)), "not every entry has one thread"
    return Deal(share, stretch, position, live)


def within(position: np.ndarray, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
    """Which of the four positions from `position` up lie in [start, stop), as bits."""
    below = np.where(stop - position >= 4, 15, np.where(stop <= position, 0, (1 << np.clip(stop - position, 0, 4)) - 1))
    above = below & 15 << np.clip(start - position, 0, 4)
    return np.where(start <= position, below, np.where(start - position >= 4, 0, above))


@dataclass(frozen=True)
class Range:
    """A range of entries, all those that begin with the same bits: [low, low + 2**free_bits)."""

    low: int
    free_bits: int

    def has(self, entries: np.ndarray) -> np.ndarray:
        """Which of `entries` are in the range."""
        return (entries ^ np.uint64(self.low)) >> np.uint64(self.free_bits) == 0

    @property
    def low_key(self) -> int:
        """The lowest key in the range."""
        return self.low >> KEY_BITS

    @property
    def key_span(self) -> int:
        """How much larger than low_key a key in the range may be."""
        return (1 << self.free_bits - KEY_BITS) - 1 if self.free_bits > KEY_BITS else 0

    def next_shift(self, bits: int) -> int:
        """Where the next digit of at most `bits` bits begins: no digit holds bits of both the key and the index."""
        return max(self.free_bits - bits, KEY_BITS if self.free_bits > KEY_BITS else 0)

    def entered_index(self, index_bits: int) -> "Range":
        """The range without the upper bits of the inverted index, which are ones; as it is where keys still differ."""
        if self.free_bits != KEY_BITS:
            return self
        return Range(self.low | (1 << KEY_BITS) - (1 << index_bits), index_bits)

    def cut(self, digit: int, shift: int) -> "Range":
        """The part of the range whose next bits, down to `shift`, are `digit`."""
        return Range(self.low | digit << shift, shift)


class Crossing(NamedTuple):
    """Where counts, summed from the highest entry down, reach what is needed."""

    entry: int
    above: int
    """In higher entries, all blocks."""
    inside: int
    """In the entry, all blocks."""
    inside_before: int = 0
    """In the entry, blocks of lower rank."""
    own: int = 0
    """In the entry, this block."""


def find_crossing(counts: np.ndarray, need: int) -> Crossing:
    """The crossing of [blocks, entries] counts, found by a warp; its lanes share the entries, highest first."""
    entries = counts.shape[1]
    lanes = min(LANES, entries // 2)
    sums = counts.sum(axis=0, dtype=np.int64)[::-1].reshape(lanes, entries // lanes)
    own = sums.sum(axis=1)
    above = np.cumsum(own) - own
    (found,) = np.nonzero((above < need) & (above + own >= need))
    assert len(found) == 1, f"the counts reach {need} in {len(found)} lanes"
    lane = int(found[0])
    above_entry = above[lane] + np.cumsum(sums[lane]) - sums[lane]
    (at,) = np.nonzero((above_entry < need) & (above_entry + sums[lane] >= need))
    assert len(at) == 1, f"the counts reach {need} at {len(at)} entries of a lane"
    j = int(at[0])
    return Crossing(entries - 1 - lane * (entries // lanes) - j, int(above_entry[j]), int(sums[lane, j]))


class Found(NamedTuple):
    """What a block found."""

    threshold: int
    """This block's entries from here up are chosen."""
    inside_before: int
    """Chosen entries of the crossing bin in blocks of lower rank, but for the listed ones."""
    listed_before: int
    """Listed entries of blocks of lower rank."""
    listed_own: int
    """Listed entries of this block."""


class Selection:
    """One block's part in one selection among `keys`, of which more are live than are needed (select.cuh)."""

    def __init__(self, block: Block, keys: np.ndarray, longest: int, head: int, shape: Shape, sizes: Sizes) -> None:
        self.block, self.shape, self.sizes = block, shape, sizes
        dealt = deal(shape, head, len(keys), longest)
        self.live = dealt.live[block.rank]
        self.index = dealt.position[block.rank] - head
        self.keys = np.full(self.live.shape, NOT_AN_ENTRY, np.uint32)
        self.keys[self.live] = keys[self.index[self.live]]
        self.entries = entry_of(self.keys, self.index)
        self.stretch, self.first = dealt.stretch, block.rank * dealt.share - head
        self.bin_bits, self.group = sizes.bin_bits(shape.cluster), sizes.group(shape.cluster)
        self.above_before = 0
        """Entries above the crossing bin in blocks of lower rank."""
        self.marks = np.zeros(self.live.shape, bool)
        """Where no keys are kept: the chosen entries, as far as they are known."""
        self.random = np.random.default_rng(block.cluster.random.getrandbits(32))

    @property
    def kept(self) -> bool:
        """Whether threads keep their keys."""
        return self.shape.vectors > 0

    def find(self, need: int) -> Generator[Any, Any, Found]:
        """What of this block's entries is chosen, when `need` of the cluster's are."""
        sizes, entries = self.sizes, self.entries[self.live]
        first = 2 * KEY_BITS - self.bin_bits
        bins = self._bins(entries, first, 2 * KEY_BITS)
        yield from self.block.wait_for_all()
        c = yield from self._cross_histogram(bins, need)
        need, at = need - c.above, Range(0, 2 * KEY_BITS).cut(c.entry, first)
        while c.inside != need and c.inside > sizes.listed and at.free_bits > KEY_BITS:
            inside = entries[at.has(entries)]
            shift = at.next_shift(self.bin_bits)
            c = yield from self._cross_histogram(self._bins(inside, shift, at.free_bits), need, inside, c.inside)
            if c.entry == ONE_KEY:
                at = Range(c.above << KEY_BITS, KEY_BITS)
                break
            need, at = need - c.above, at.cut(c.entry, shift)
        if c.inside == need:
            self._mark_from(at.low)
            return Found(at.low, c.inside_before, 0, 0)
        if at.free_bits == KEY_BITS:
            return self._find_ties(at, need, c.inside_before, c.own)
        if self.shape.cluster == 1 and self.kept:
            return Found(nth_largest(entries[at.has(entries)], need, at, sizes), 0, 0, 0)
        mine = self._mark_and_list(at)
        assert len(mine) == c.own
        listed = yield from self._share_list(mine, c)
        return Found(nth_largest(listed, need, at, sizes), 0, c.inside_before, len(mine))

    def _find_ties(self, at: Range, need: int, before: int, own: int) -> Found:
        """The `need` of lowest index, of entries with one key: `before` in blocks of lower rank, `own` in this one."""
        chosen_before = min(before, need)
        if before >= need or before + own <= need:  # none of this block's, or all
            threshold = at.low | NO_INDEX if before >= need else at.low
            self._mark_from(threshold)
            return Found(threshold, chosen_before, 0, 0)
        need -= before
        entries = self.entries[self.live]
        if own > self.sizes.listed:
            at = at.entered_index(self.sizes.index_bits)
            shift = at.next_shift(self.bin_bits)
            bins = self._bins(entries[at.has(entries)], shift, at.free_bits).reshape(self.group, self.group)
            coarse = find_crossing(bins.sum(axis=1)[None], need)
            fine = find_crossing(bins[coarse.entry][None], need - coarse.above)
            at = at.cut(coarse.entry * self.group + fine.entry, shift)
            need, own = need - coarse.above - fine.above, fine.inside
            if own == need:
                self._mark_from(at.low)
                return Found(at.low, chosen_before, 0, 0)
        if self.kept:
            return Found(nth_largest(entries[at.has(entries)], need, at, self.sizes), chosen_before, 0, 0)
        mine = self._mark_and_list(at)
        assert len(mine) == own
        self.block.listed.keep(0, mine, self.block.lists)
        return Found(nth_largest(mine, need, at, self.sizes), chosen_before, 0, own)

    def _cross_histogram(
        self, bins: np.ndarray, need: int, cut: np.ndarray | None = None, cut_bin: int = 0
    ) -> Generator[Any, Any, Crossing]:
        """The crossing bin of all blocks' histograms together: first its group, by the groups' sums, then the bin.

        Entries above it in blocks of lower rank are added to `above_before`. Where a bin of `cut_bin` entries is being
        cut, `cut` of which are this block's, and all have one key, the entry is ONE_KEY, and `above` the key.
        """
        block, group, rank = self.block, self.group, self.block.rank
        use, block.rounds = block.rounds, block.rounds + 1
        counts, words = block.counts[use & 1], self.sizes.counts(self.shape.cluster)
        ranks = range(self.shape.cluster)
        told = np.zeros(words, np.uint32)
        told[:group] = bins.reshape(group, group).sum(axis=1)
        told[group : group + 2] = NO_KEYS
        if cut is not None and len(cut):
            told[group : group + 2] = cut.min() >> np.uint64(KEY_BITS), cut.max() >> np.uint64(KEY_BITS)
        counts.write(rank * words, told, use)
        told = told if cut_bin else told[:group]
        yield from self._tell(lambda other: (other.counts[use & 1], other.counts_box), rank * words, told, use)
        if cut_bin:
            extremes = [counts.read(r * words + group, 2, use) for r in ranks]
            least, most = int(min(each[0] for each in extremes)), int(max(each[1] for each in extremes))
            if least == most:
                each = [int(counts.read(r * words, group, use).sum()) for r in ranks]
                return Crossing(ONE_KEY, least, cut_bin, sum(each[:rank]), each[rank])
        coarse = find_crossing(np.stack([counts.read(r * words, group, use) for r in ranks]), need)
        use_of_group, block.groups = block.groups, block.groups + 1
        own = bins[coarse.entry * group : (coarse.entry + 1) * group]
        block.group.write(rank * group, own, use_of_group)
        yield from self._tell(lambda other: (other.group, other.group_box), rank * group, own, use_of_group)
        of_group = np.stack([block.group.read(r * group, group, use_of_group) for r in ranks])
        fine = find_crossing(of_group, need - coarse.above)
        # What is added up for the blocks of lower rank is read while the others may have gone on.
        yield at_once
        for r in range(rank):
            self.above_before += int(counts.read(r * words, group, use)[coarse.entry + 1 :].sum())
            self.above_before += int(block.group.read(r * group, group, use_of_group)[fine.entry + 1 :].sum())
        return Crossing(
            entry=coarse.entry * group + fine.entry,
            above=coarse.above + fine.above,
            inside=fine.inside,
            inside_before=int(of_group[:rank, fine.entry].sum()),
            own=int(own[fine.entry]),
        )

    def _tell(self, where: Callable[[Block], tuple[Words, Mailbox]], at: int, words: np.ndarray, use: int) -> Program:
        """Pushes words to each other block, and waits for as many from each of them."""
        others = self.shape.cluster - 1
        if others:
            _, box = where(self.block)
            self.block.push(where, at, words, use)
            box.expect(others * words.nbytes)
            yield box.ended(use)

    def _share_list(self, own: np.ndarray, c: Crossing) -> Generator[Any, Any, np.ndarray]:
        """The listed entries of all blocks, each block's behind those of lower rank."""
        block = self.block
        use, block.lists = block.lists, block.lists + 1
        block.listed.write(c.inside_before, own, use)
        if self.shape.cluster > 1:
            block.list_box.expect((c.inside - len(own)) * own.itemsize)
            block.push(lambda other: (other.listed, other.list_box), c.inside_before, own, use)
            yield block.list_box.ended(use)
        return block.listed.read(0, c.inside, use)

    def _bins(self, entries: np.ndarray, shift: int, free_bits: int) -> np.ndarray:
        """The histogram of entries by their bits from `shift` up to `free_bits`."""
        return np.bincount(_digits(entries, shift, free_bits), minlength=1 << self.bin_bits).astype(np.uint32)

    def _mark_from(self, threshold: int) -> None:
        """Where no keys are kept, marks the entries from the threshold up."""
        if not self.kept:
            self.marks = self._from_threshold(threshold)

    def _mark_and_list(self, at: Range) -> np.ndarray:
        """This block's entries in a range, in any order; where no keys are kept, those above it are marked."""
        if not self.kept:
            self.marks = self.live & (self.entries > np.uint64(at.low)) & ~at.has(self.entries)
        entries = self.entries[self.live]
        return self.random.permutation(entries[at.has(entries)])

    def chosen(self, found: Found) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each warp, the places of its chosen entries in the row's selection, and their indices."""
        if self.kept:
            bits = self._from_threshold(found.threshold)
        else:
            bits = self.marks.copy()
            self._mark_listed(found, bits)
        of_vector = bits.sum(axis=(-2, -1))
        of_lane = bits.sum(axis=-1)
        in_vector = np.cumsum(of_lane, axis=-1) - of_lane
        in_group = np.cumsum(of_vector, axis=-1) - of_vector
        of_group = of_vector.sum(axis=-1)
        in_warp = np.cumsum(of_group, axis=-1) - of_group
        of_warp = of_group.sum(axis=-1)
        lower_ranks = self.block.listed.values[: found.listed_before]
        base = self.above_before + found.inside_before + int((lower_ranks >= np.uint64(found.threshold)).sum())
        base = base + np.cumsum(of_warp) - of_warp
        place = base[:, None, None, None] + in_warp[..., None, None] + in_group[..., None] + in_vector
        place = place[..., None] + np.cumsum(bits, axis=-1) - bits
        return [(place[warp][bits[warp]], self.index[warp][bits[warp]]) for warp in range(len(bits))]

    def _from_threshold(self, threshold: int) -> np.ndarray:
        """Which entries reach the threshold; one whose key is the threshold's counts up to its index."""
        key = threshold >> KEY_BITS
        last = min(~threshold & 0xFFFF_FFFF, 1 << 30)
        first = self.index[..., 0]
        least = np.where(first > last, key + 1 & 0xFFFF_FFFF, key)[..., None]
        bits = (self.keys >= least) & (least >= key)
        straddling = ((first <= last) & (last - first < 3))[..., None]
        bits &= ~(straddling & (np.arange(VECTOR) > (last - first)[..., None]) & (self.keys == key))
        return bits & self.live

    def _mark_listed(self, found: Found, marks: np.ndarray) -> None:
        """Marks this block's listed entries from the threshold up, whose thread follows from their index."""
        own = self.block.listed.values[found.listed_before : found.listed_before + found.listed_own]
        own = own[own >= np.uint64(found.threshold)]
        in_block = (~own.astype(np.uint32)).astype(np.int64) - self.first
        in_warp = in_block % self.stretch
        of_vector = LANES * VECTOR
        in_group = in_warp % (STREAMED_VECTORS * of_vector)
        marks[
            in_block // self.stretch,
            in_warp // (STREAMED_VECTORS * of_vector),
            in_group // of_vector,
            in_group % of_vector // VECTOR,
            in_group % VECTOR,
        ] = True


def nth_largest(entries: np.ndarray, need: int, at: Range, sizes: Sizes) -> int:
    """The need-th largest of the entries of a range: digits until few are left, then the rank of each."""
    count, number = len(entries), 0
    while count > sizes.ranked and count != need:
        assert number < sizes.passes, "more passes than there are digits for"
        at = at.entered_index(sizes.index_bits)
        shift = at.next_shift(sizes.digit_bits)
        digits = np.bincount(_digits(entries[at.has(entries)], shift, at.free_bits), minlength=1 << sizes.digit_bits)
        c = find_crossing(digits[None], need)
        at = at.cut(c.entry, shift)
        need, count, number = need - c.above, c.inside, number + 1
    if count == need:
        return at.low
    ranked = entries[at.has(entries)]
    assert len(ranked) == count <= sizes.ranked
    larger = (ranked[None, :] > ranked[:, None]).sum(axis=1)
    (nth,) = np.flatnonzero(larger == need - 1)
    return int(ranked[nth])


def _digits(entries: np.ndarray, shift: int, free_bits: int) -> np.ndarray:
    """The bits of entries from `shift` up to `free_bits`."""
    return (entries >> np.uint64(shift) & np.uint64((1 << free_bits - shift) - 1)).astype(np.int64)

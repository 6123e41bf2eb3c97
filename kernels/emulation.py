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
from campaign.kernels.oracle import PADDING, UNWRITTEN, Order, widened
from campaign.kernels.shapes import GROUP_POSITIONS, Shape

LANES, VECTOR = 32, 4
STREAMED_VECTORS = GROUP_POSITIONS // (LANES * VECTOR)
"""Vectors of a thread in one group, where a block keeps no keys."""
COUNTED_VECTORS = 1, 2
"""With so few vectors of a thread, groups of bins are counted with each key; else they are summed from the bins."""
KEY_BITS = 32
ALL = 0xFFFF_FFFF
"""As ties: every one. As the entry of a crossing: all entries that were counted have one key."""
NO_KEYS = ALL, 0
"""The least and the most key where there is none."""
SMALLEST_NEAR_BITS = 112 << 23
"""The bits of 2^-15, the smallest score whose power of two has bins of its own."""
WIDEST_BITS = 30
"""Bits in which the keys of a bin of the first histogram differ at most."""


@dataclass(frozen=True)
class Sizes:
    """Sizes that the kernels are compiled with (bins.cuh, histogram.cuh, select.cuh).

    Smaller ones take short rows to the deep paths.
    """

    bin_bits: int = 12
    """Bits of a histogram's bin."""
    group_bits: int = 6
    """Bits of a bin's place in its group."""
    step_bits: int = 17
    """Bits in which the keys of one of the first histogram's inner bins differ."""
    listed: int = 2048
    """Entries that the list holds."""
    listed_together: int = 512
    """Entries that are listed at most by blocks of a cluster that keep their keys."""
    ranked: int = 64
    """Entries that are ranked by comparison; one block that keeps its keys lists no more."""
    digit_bits: int = 8
    """Bits of a digit of the last passes."""
    passes: int = 4
    """Digit passes for which there is memory."""
    extremes: int = 4
    """Words that follow a block's counts of groups: the least and the most key of a range that is cut, then none."""

    def __post_init__(self) -> None:
        for bin_ in (1, self.side - 1, self.side + 1, self.bins - 1):
            assert self.least_in_bin(bin_) % (1 << WIDEST_BITS - self.bin_bits) == 0, "parts reach beyond their bin"

    @property
    def bins(self) -> int:
        """Bins of a histogram."""
        return 1 << self.bin_bits

    @property
    def side(self) -> int:
        """Bins of the first histogram on either side of zero."""
        return self.bins // 2

    @property
    def group(self) -> int:
        """Bins of a group."""
        return 1 << self.group_bits

    @property
    def groups(self) -> int:
        """Groups of a histogram."""
        return self.bins // self.group

    @property
    def counts(self) -> int:
        """Words in which a block counts its part of the row in one round: its groups, and the extremes of its keys."""
        return self.groups + self.extremes

    @property
    def nearest(self) -> int:
        """The bits of a score where the innermost bins end, less the width of a bin."""
        return SMALLEST_NEAR_BITS - (1 << self.step_bits)

    def listable(self, shape: Shape) -> int:
        """How many entries of the crossing bin are listed; a fuller one is cut."""
        if not shape.vectors:
            return self.listed
        return self.listed_together if shape.cluster > 1 else self.ranked

    def scaled_bin(self, keys: np.ndarray) -> np.ndarray:
        """The bins of keys, int32, counted from the middle, where the positive side begins, times 2**step_bits."""
        side = ~(keys.view(np.int32) >> 31)
        magnitude = (keys.view(np.int32) ^ side) & 0x7FFF_FFFF
        steps = np.clip(magnitude - self.nearest, 0, (self.side << self.step_bits) - 1)
        return (steps ^ side) & ~((1 << self.step_bits) - 1)

    def least_in_bin(self, entry: int) -> int:
        """The least key in a bin of the first histogram."""
        beyond = -self.nearest if entry < self.side else self.nearest if entry > self.side else 0
        return 0 if entry == 0 else (1 << KEY_BITS - 1) + (entry - self.side << self.step_bits) + beyond

    def range_of_bin(self, entry: int) -> "Range":
        """The keys of a bin of the first histogram."""
        return Range(self.least_in_bin(entry), ALL if entry == self.bins - 1 else self.least_in_bin(entry + 1) - 1)


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
    return Cluster(shape.cluster, counts=sizes.counts, group=sizes.group, listed=sizes.listed, seed=seed)


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
    return key.astype(np.uint64) << np.uint64(KEY_BITS) | (~index.astype(np.uint32)).astype(np.uint64)


def key_in(entries: np.ndarray) -> np.ndarray:
    """The keys of entries, uint32."""
    return (entries >> np.uint64(KEY_BITS)).astype(np.uint32)


def index_in(entries: np.ndarray) -> np.ndarray:
    """The indices of entries, uint32."""
    return ~entries.astype(np.uint32)


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
    """Positions of a warp, whole groups."""
    position: np.ndarray
    """[blocks, warps, groups, vectors, lanes, 4]: the positions that the threads look at."""
    live: np.ndarray
    """Of the same shape: which of them are entries."""
    start: np.ndarray
    """[blocks, warps]: the first position that may be an entry."""


@lru_cache(maxsize=32)
def deal(shape: Shape, head: int, length: int, longest: int) -> Deal:
    """The deal of a row of `length` entries that might have been `longest` (divide, load, settle in select.cuh)."""
    dealt = length
    if shape.vectors and not (shape.cluster > 1 and length < longest // 2):
        dealt = longest
    end, warps = head + dealt, shape.threads // LANES
    share = -(-end // (shape.cluster * VECTOR)) * VECTOR
    vectors = shape.vectors or STREAMED_VECTORS
    of_group = vectors * LANES * VECTOR
    groups = 1 if shape.vectors else -(-share // (warps * of_group))
    stretch = groups * of_group

    rank, warp, group, vector, lane = np.ix_(*map(np.arange, (shape.cluster, warps, groups, vectors, LANES)))
    first = rank * share + warp * stretch
    start = np.maximum(head, first)
    stop = np.minimum(np.minimum(first + stretch, (rank + 1) * share), head + min(length, dealt))
    at = first + lane * VECTOR + group * of_group + vector * (LANES * VECTOR)
    live = within(at, start, stop)[..., None] >> np.arange(VECTOR) & 1 == 1
    position = at[..., None] + np.arange(VECTOR)
    # The order of the axes is the order of a row, on which the places of chosen entries rest.
    assert np.array_equal(position[live], np.arange(head, head + length)), "not every entry has one thread"
    return Deal(share, stretch, position, live, start[:, :, 0, 0, 0])


def within(position: np.ndarray, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
    """Which of the four positions from `position` up lie in [start, stop), as bits."""
    below = np.where(stop - position >= 4, 15, np.where(stop <= position, 0, (1 << np.clip(stop - position, 0, 4)) - 1))
    above = below & 15 << np.clip(start - position, 0, 4)
    return np.where(start <= position, below, np.where(start - position >= 4, 0, above))


class Range(NamedTuple):
    """The keys from `least` to `most`."""

    least: int
    most: int

    def has(self, keys: np.ndarray) -> np.ndarray:
        """Which keys are in the range."""
        return keys - np.uint32(self.least) <= self.most - self.least

    def shift(self, bits: int) -> int:
        """How far keys are shifted right so that the last `bits` of what is left tell parts of the range apart."""
        return max((self.least ^ self.most).bit_length() - bits, 0)

    def part(self, part: int, bits: int, shift: int) -> "Range":
        """The part whose keys, shifted, end with `part`."""
        least = (self.least >> shift >> bits << bits | part) << shift
        return Range(least, least + (1 << shift) - 1)


class Crossing(NamedTuple):
    """Where counts, summed from the highest entry down, reach what is needed."""

    entry: int
    above: int
    """In higher entries, all blocks."""
    inside: int
    """In the entry, all blocks."""
    inside_before: int = 0
    """In the entry, blocks of lower rank."""


def crossing_in(counts: np.ndarray, above: int, need: int) -> Crossing:
    """The crossing of a lane's own counts, with `above` counted in higher lanes."""
    higher = above + np.cumsum(counts[::-1])[::-1] - counts
    (at,) = np.nonzero((higher < need) & (higher + counts >= need))
    assert len(at) == 1, f"the counts reach {need} at {len(at)} entries of a lane"
    return Crossing(int(at[0]), int(higher[at[0]]), int(counts[at[0]]))


def find_crossing(counts: np.ndarray, need: int) -> Crossing:
    """The crossing of [blocks, entries] counts, found by a warp; its lanes share the entries, lane 0 the highest."""
    entries = counts.shape[1]
    each = max(entries // LANES, 2)
    return _crossing_of_lanes(counts.sum(axis=0, dtype=np.int64).reshape(-1, each), 0, need)


def _crossing_of_lanes(counts: np.ndarray, above: int, need: int) -> Crossing:
    """The crossing of [lanes, entries] counts, of which the last lane has the highest."""
    own = counts.sum(axis=1)
    higher = above + np.cumsum(own[::-1])[::-1] - own
    (found,) = np.nonzero((higher < need) & (higher + own >= need))
    assert len(found) == 1, f"the counts reach {need} in {len(found)} lanes"
    lane = int(found[0])
    c = crossing_in(counts[lane], int(higher[lane]), need)
    return c._replace(entry=lane * counts.shape[1] + c.entry)


def cross_alone(bins: np.ndarray, need: int, warps: int, extremes: tuple[int, int] | None) -> Crossing:
    """The crossing bin of one block's histogram, found by the warp in whose share of the bins it lies.

    extremes: the least and the most key that was counted, where a range is being cut that is not known to have two. If
    they are one, the entry is ALL, and `above` the key.
    """
    if extremes and extremes[0] == extremes[1]:
        return Crossing(ALL, extremes[0], 0)
    shares = bins.astype(np.int64).reshape(warps, LANES, -1)
    of_warp = shares.sum(axis=(1, 2))
    higher = np.cumsum(of_warp[::-1])[::-1] - of_warp
    (found,) = np.nonzero((higher < need) & (higher + of_warp >= need))
    assert len(found) == 1, f"the counts reach {need} in {len(found)} warps"
    warp = int(found[0])
    c = _crossing_of_lanes(shares[warp], int(higher[warp]), need)
    return c._replace(entry=warp * len(bins) // warps + c.entry)


class Threshold(NamedTuple):
    """What is chosen: every entry with a larger key, and of those with this key the first `ties` in index order."""

    key: int
    ties: int
    """ALL: every one."""


class Found(NamedTuple):
    """What a block found."""

    threshold: Threshold
    tied_before: int = 0
    """Without a list: entries of the crossing bin in blocks of lower rank."""
    listed: int = 0
    """Entries in the list, of all blocks, or 0."""
    listed_at: int = 0
    """Where this block's own begin."""
    listed_own: int = 0
    """How many they are."""
    few: np.ndarray = np.zeros(0, np.uint64)
    """Where keys are kept: the first of the listed entries, which threads keep as well."""


class Selection:
    """One block's part in one selection among `keys`, of which more are live than are needed (select.cuh)."""

    def __init__(self, block: Block, keys: np.ndarray, longest: int, head: int, shape: Shape, sizes: Sizes) -> None:
        self.block, self.shape, self.sizes = block, shape, sizes
        dealt = deal(shape, head, len(keys), longest)
        self.share, self.stretch = dealt.share, dealt.stretch
        self.head, self.end = head, head + len(keys)
        self.start = dealt.start[block.rank] - head
        """[warps]: the index at which each warp's entries begin."""
        self.live = dealt.live[block.rank]
        self.index = dealt.position[block.rank] - head
        self.keys = np.zeros(self.live.shape, np.uint32)
        """The key of each position; one without an entry has 0, the lowest there is."""
        self.keys[self.live] = keys[self.index[self.live]]
        self.above_before = 0
        """Entries above the crossing bin in blocks of lower rank."""
        self.random = np.random.default_rng(block.cluster.random.getrandbits(32))

    @property
    def kept(self) -> bool:
        """Whether threads keep their keys."""
        return self.shape.vectors > 0

    @property
    def alone(self) -> bool:
        """Whether this is one block that keeps its keys."""
        return self.kept and self.shape.cluster == 1

    def idle_before(self, rank: int) -> int:
        """Positions of blocks of lower rank that hold no entry, but are counted as if they held the lowest key."""
        return rank * self.keys.size - (max(min(rank * self.share, self.end), self.head) - self.head)

    def find(self, need: int) -> Generator[Any, Any, Found]:
        """What is chosen, when `need` of the cluster's entries are."""
        sizes, block = self.sizes, self.block
        scaled = sizes.scaled_bin(self.keys.ravel())
        bins = np.bincount((scaled >> sizes.step_bits) + sizes.side, minlength=sizes.bins)
        groups = np.bincount((scaled >> sizes.step_bits + sizes.group_bits) + sizes.groups // 2, minlength=sizes.groups)
        yield from block.wait_for_all()
        c = yield from self._cross(bins, groups, need, self._next_round(), None)
        need, at = need - c.above, sizes.range_of_bin(c.entry)
        if c.entry == 0:
            inside = c.inside - self.idle_before(self.shape.cluster)
            c = c._replace(inside=inside, inside_before=c.inside_before - self.idle_before(block.rank))
        while c.inside != need and c.inside > sizes.listable(self.shape) and at.least != at.most:
            c, at, need = yield from self._cut(at, need, self._next_round())
        if c.inside == need or at.least == at.most:
            threshold = Threshold(at.least, ALL if c.inside == need else need)
            if not self.kept and threshold.ties == ALL:
                self.marks = self._marked_from(threshold.key)
            elif not self.kept:
                self._mark_ties(threshold, c.inside_before)
            return Found(threshold, c.inside_before)
        own = self._mark_and_list(at, c.inside_before)
        yield from self._share_list(c.inside_before, own, c.inside)
        listed = block.listed.read(0, c.inside, block.lists - 1)
        threshold = find_threshold(listed, need, at, sizes, sizes.listable(self.shape))
        few = listed[: sizes.ranked if self.kept else 0]
        return Found(threshold, 0, c.inside, c.inside_before, len(own), few)

    def _cut(self, at: Range, need: int, use: int) -> Generator[Any, Any, tuple[Crossing, Range, int]]:
        """Cuts a range by its next bits to the bin in which the need-th of its entries lies, or to one key.

        Returns the crossing, the range of the bin, and what is needed of it.
        """
        bin_bits = self.sizes.bin_bits
        extremes = None
        if self.alone:  # it looks first, and cuts between the least key and the most
            at = Range(*_extremes(self._keys_in(at)))
            if at.least == at.most:
                return Crossing(ALL, at.least, 0), at, need
        shift = at.shift(bin_bits)
        keys = self._keys_in(at)
        if not self.alone:
            extremes = _extremes(keys)
        entry = (keys >> np.uint32(shift) & np.uint32(self.sizes.bins - 1)).astype(np.int64)
        bins = np.bincount(entry, minlength=self.sizes.bins)
        groups = np.bincount(entry >> self.sizes.group_bits, minlength=self.sizes.groups)
        c = yield from self._cross(bins, groups, need, use, extremes)
        if c.entry == ALL:
            return c, Range(c.above, c.above), need
        return c, at.part(c.entry, bin_bits, shift), need - c.above

    def _keys_in(self, at: Range) -> np.ndarray:
        """This block's keys in a range; only in one of the lowest key are positions without an entry told apart."""
        inside = at.has(self.keys)
        return self.keys[inside if at.least else inside & self.live]

    def _next_round(self) -> int:
        """The number of the round that begins."""
        self.block.rounds += 1
        return self.block.rounds - 1

    def _cross(
        self, bins: np.ndarray, groups: np.ndarray, need: int, use: int, extremes: tuple[int, int] | None
    ) -> Generator[Any, Any, Crossing]:
        """The crossing bin of the histograms of all blocks. groups: as counted with each key."""
        if self.shape.cluster == 1:
            return cross_alone(bins, need, self.shape.threads // LANES, extremes)
        if self.shape.vectors not in COUNTED_VECTORS:
            groups = bins.reshape(self.sizes.groups, self.sizes.group).sum(axis=1)
        return (yield from self._cross_together(bins, groups, need, use, extremes))

    def _cross_together(
        self, bins: np.ndarray, groups: np.ndarray, need: int, use: int, extremes: tuple[int, int] | None
    ) -> Generator[Any, Any, Crossing]:
        """The crossing bin of all blocks' histograms: first its group, by the groups' counts, then the bin.

        Entries above it in blocks of lower rank are added to `above_before`. Where a range is being cut, `extremes` are
        those of this block's keys; if all blocks' keys are one, the entry is ALL, and `above` the key.
        """
        block, group, rank, sizes = self.block, self.sizes.group, self.block.rank, self.sizes
        counts, words, ranks = block.counts[use & 1], sizes.counts, range(self.shape.cluster)
        told = np.zeros(words, np.uint32)
        told[: sizes.groups] = groups
        told[sizes.groups : sizes.groups + 2] = extremes or NO_KEYS
        counts.write(rank * words, told, use)
        told = told if extremes else told[: sizes.groups]
        yield from self._tell(lambda other: (other.counts[use & 1], other.counts_box), rank * words, told, use)
        if extremes:
            every = [counts.read(r * words + sizes.groups, 2, use) for r in ranks]
            least, most = int(min(each[0] for each in every)), int(max(each[1] for each in every))
            if least == most:
                before = sum(int(counts.read(r * words, sizes.groups, use).sum()) for r in range(rank))
                return Crossing(ALL, least, 0, before)
        coarse = find_crossing(np.stack([counts.read(r * words, sizes.groups, use) for r in ranks]), need)
        use_of_group, block.groups = block.groups, block.groups + 1
        own = bins[coarse.entry * group : (coarse.entry + 1) * group].astype(np.uint32)
        block.group.write(rank * group, own, use_of_group)
        yield from self._tell(lambda other: (other.group, other.group_box), rank * group, own, use_of_group)
        of_group = np.stack([block.group.read(r * group, group, use_of_group) for r in ranks])
        fine = find_crossing(of_group, need - coarse.above)
        # What is added up for the blocks of lower rank is read while the others may have gone on.
        yield at_once
        for r in range(rank):
            self.above_before += int(counts.read(r * words, sizes.groups, use)[coarse.entry + 1 :].sum())
            self.above_before += int(block.group.read(r * group, group, use_of_group)[fine.entry + 1 :].sum())
        return Crossing(
            entry=coarse.entry * group + fine.entry,
            above=coarse.above + fine.above,
            inside=fine.inside,
            inside_before=int(of_group[:rank, fine.entry].sum()),
        )

    def _tell(self, where: Callable[[Block], tuple[Words, Mailbox]], at: int, words: np.ndarray, use: int) -> Program:
        """Pushes words to each other block, and waits for as many from each of them."""
        _, box = where(self.block)
        self.block.push(where, at, words, use)
        box.expect((self.shape.cluster - 1) * words.nbytes)
        yield box.ended(use)

    def _share_list(self, at: int, own: np.ndarray, count: int) -> Program:
        """Pushes this block's listed entries, which begin at place `at`, and waits for those of the others."""
        block = self.block
        use, block.lists = block.lists, block.lists + 1
        block.listed.write(at, own, use)
        if self.shape.cluster == 1:
            assert len(own) == count, f"{len(own)} entries listed, {count} counted"
            return
        block.list_box.expect((count - len(own)) * own.itemsize)
        block.push(lambda other: (other.listed, other.list_box), at, own, use)
        yield block.list_box.ended(use)

    def _marked_from(self, least: int) -> np.ndarray:
        """The entries whose keys are `least` or larger."""
        bits = self.keys >= least
        return bits if least else bits & self.live

    def _marked_above(self, most: int) -> np.ndarray:
        """The entries whose keys are larger than `most`."""
        return self.keys > most

    def _tied(self, key: int) -> np.ndarray:
        """The entries with this key."""
        return self._marked_from(key) & ~self._marked_above(key)

    def _mark_ties(self, threshold: Threshold, tied_before: int) -> None:
        """Marks what is chosen where `tied_before` entries of blocks of lower rank have the threshold's key.

        Whether the row is read again for it, or shared memory holds the marks of ties too, is all the same here.
        """
        ties = self._tied(threshold.key)
        before = _lower(_of_warp(ties)) + tied_before
        self.marks = self._marked_above(threshold.key) | _first(ties, threshold.ties - before)

    def _mark_and_list(self, at: Range, first: int) -> np.ndarray:
        """This block's entries in a range, in any order; those above it are counted, or marked."""
        above = self._marked_above(at.most)
        inside = self._marked_from(at.least) & ~above
        if self.kept:
            self.of_warp = _of_warp(above)
        else:
            self.marks = above
        return self.random.permutation(entry_of(self.keys[inside], self.index[inside]))

    def _listed_before(self, found: Found, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of the listed entries before each index, those above the threshold's key, and those that have it."""
        few, threshold = found.few[: found.listed], found.threshold
        rest = self.block.listed.read(len(few), found.listed - len(few), self.block.lists - 1)
        entries = np.concatenate([few, rest])
        before = index_in(entries) < index[:, None]
        key = key_in(entries)
        return (before & (key > threshold.key)).sum(axis=1), (before & (key == threshold.key)).sum(axis=1)

    def chosen(self, found: Found) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each warp, the places of its chosen entries in the row's selection, and their indices."""
        bits, base = (self._chosen_of_kept if self.kept else self._chosen_of_marked)(found)
        place = _spread(base + self.above_before) + _places(bits)
        return [(place[warp][bits[warp]], self.index[warp][bits[warp]]) for warp in range(len(bits))]

    def _chosen_of_kept(self, found: Found) -> tuple[np.ndarray, np.ndarray]:
        """Which of this block's entries are chosen, and the place of each warp's first, where keys are kept."""
        key, count = found.threshold
        bits = self._marked_from(key)
        if count == ALL:
            above, tied = self._chosen_before(found, bits)
        else:
            ties = self._tied(key)
            bits = bits & ~ties
            above, tied = self._chosen_before(found, bits)
            if not found.listed:
                tied = tied + _lower(_of_warp(ties))
            bits = bits | _first(ties, count - tied)
        return bits, above + np.minimum(tied, count)

    def _chosen_before(self, found: Found, bits: np.ndarray) -> tuple[np.ndarray, np.ndarray | int]:
        """What is chosen before each warp, and what has the threshold's key.

        Left out are entries above the crossing bin in blocks of lower rank and, without a list, ties of lower warps.
        """
        if found.listed:
            above, tied = self._listed_before(found, self.start)
            return above + _lower(self.of_warp), tied
        return _lower(_of_warp(bits)), found.tied_before

    def _chosen_of_marked(self, found: Found) -> tuple[np.ndarray, np.ndarray]:
        """Which of this block's entries are chosen, and the place of each warp's first, where marks say it."""
        threshold = found.threshold
        before = min(found.tied_before, threshold.ties)
        if found.listed:
            first = max(self.head, self.block.rank * self.share) - self.head
            (above,), (tied,) = self._listed_before(found, np.array([first]))
            before = above + min(tied, threshold.ties)
            if threshold.ties == ALL:
                self._mark_listed(found)
            else:
                self._mark_ties(threshold, tied)
        return self.marks, _lower(_of_warp(self.marks)) + before

    def _mark_listed(self, found: Found) -> None:
        """Marks this block's listed entries from the threshold's key up, whose thread follows from their index."""
        own = self.block.listed.read(found.listed_at, found.listed_own, self.block.lists - 1)
        own = own[key_in(own) >= found.threshold.key]
        in_block = index_in(own).astype(np.int64) + self.head - self.block.rank * self.share
        in_warp = in_block % self.stretch
        of_vector = LANES * VECTOR
        in_group = in_warp % GROUP_POSITIONS
        self.marks[
            in_block // self.stretch,
            in_warp // GROUP_POSITIONS,
            in_group // of_vector,
            in_group % of_vector // VECTOR,
            in_group % VECTOR,
        ] = True


def _extremes(keys: np.ndarray) -> tuple[int, int]:
    """The least and the most of some keys."""
    return (int(keys.min()), int(keys.max())) if len(keys) else NO_KEYS


def _of_warp(bits: np.ndarray) -> np.ndarray:
    """How many bits each warp has; the axes are those of a Deal, without the blocks."""
    return bits.reshape(len(bits), -1).sum(axis=1)


def _lower(of_warp: np.ndarray) -> np.ndarray:
    """For each warp, the sum over those before it."""
    return np.cumsum(of_warp) - of_warp


def _spread(of_warp: np.ndarray) -> np.ndarray:
    """A value of each warp, for all of its positions."""
    return of_warp[:, None, None, None, None]


def _places(bits: np.ndarray) -> np.ndarray:
    """How many bits of its warp come before each position."""
    of_warp = bits.reshape(len(bits), -1)
    return (np.cumsum(of_warp, axis=1) - of_warp).reshape(bits.shape)


def _first(bits: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Those bits with fewer than a warp's `count` before them."""
    return bits & (_places(bits) < _spread(count))


def find_threshold(listed: np.ndarray, need: int, at: Range, sizes: Sizes, listable: int) -> Threshold:
    """The threshold that the `need` best of the listed entries reach, all of which have keys in a range.

    The keys' next digits until few entries are left, and the rank of each of these by comparison with the others.
    """
    few, left, number = listed, len(listed), 0
    if listable > sizes.ranked and left > sizes.ranked:
        keys = key_in(listed)
        while left > sizes.ranked and left != need and at.least != at.most:
            assert number < sizes.passes, "more passes than there is memory for"
            shift = at.shift(sizes.digit_bits)
            digits = keys[at.has(keys)] >> np.uint32(shift) & np.uint32((1 << sizes.digit_bits) - 1)
            c = find_crossing(np.bincount(digits, minlength=1 << sizes.digit_bits)[None], need)
            at = at.part(c.entry, sizes.digit_bits, shift)
            need, left, number = need - c.above, c.inside, number + 1
        if left == need:
            return Threshold(at.least, ALL)
        if at.least == at.most:
            return Threshold(at.least, need)
        few = listed[at.has(keys)]
    assert len(few) == left <= sizes.ranked, f"{len(few)} entries to be ranked, {left} counted, room for {sizes.ranked}"
    larger = (few[None, :] > few[:, None]).sum(axis=1)
    (nth,) = np.flatnonzero(larger == need - 1)
    keys = key_in(few)
    key = int(keys[nth])
    return Threshold(key, need - int((keys > key).sum()) if (keys == key).sum() > 1 else ALL)

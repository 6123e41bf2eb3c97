"""F, the masked top-k kernel, step by step on the CPU: what masked.cu does, without a GPU."""

from collections.abc import Sequence

import numpy as np

from campaign.kernels.emulated_cluster import Block, Program
from campaign.kernels.emulation import (
    KERNEL_SIZES,
    UNWRITTEN,
    VECTOR,
    Selection,
    Sizes,
    bits_of,
    cluster_of,
    key_of,
    write,
    write_all,
)
from campaign.kernels.masks import BLOCK, blocks_of
from campaign.kernels.oracle import Order
from campaign.kernels.shapes import Shape

NEGATIVE_INFINITY = 0xFF80_0000
KEY_OF_NEGATIVE_INFINITY = 0x007F_FFFF
WORD = 32


def emulated_masked_top_k(
    scores: np.ndarray,
    k: int,
    lengths: Sequence[int] | np.ndarray | None,
    candidates: np.ndarray,
    order: Order = "ieee",
    *,
    shape: Shape,
    head: int = 0,
    seed: int = 0,
    sizes: Sizes = KERNEL_SIZES,
) -> tuple[np.ndarray, np.ndarray]:
    """What F selects, [rows, k] int32 as in `masks.masked_top_k`, and in which rows it read the whole row, [rows] bool.

    shape: how the gathered blocks are dealt out. head, seed, sizes: as in `emulation.emulated_top_k`.
    """
    rows, columns = scores.shape
    bits = bits_of(scores)
    selected = np.full((rows, k), UNWRITTEN, np.int32)
    whole = np.zeros((rows, shape.cluster), bool)
    for row, length in enumerate([columns] * rows if lengths is None else lengths):
        call = _Row(bits[row], candidates[row], min(max(int(length), 0), columns), order, head, shape, sizes)
        cluster = cluster_of(shape, sizes, seed + row)
        cluster.run(lambda block, row=row, call=call: call.program(block, selected[row], whole[row]))
    assert (whole == whole[:, :1]).all(), "the blocks of a cluster took different paths"
    return selected, whole[:, 0]


class _Row:
    """One row of a call."""

    def __init__(
        self,
        bits: np.ndarray,
        candidates: np.ndarray,
        length: int,
        order: Order,
        head: int,
        shape: Shape,
        sizes: Sizes,
    ) -> None:
        self.bits, self.candidates, self.length = bits, candidates, length
        self.order, self.head, self.shape, self.sizes = order, head, shape, sizes

    def program(self, block: Block, out: np.ndarray, whole: np.ndarray) -> Program:
        """A block's part in the selection."""
        block.open()
        length, columns = self.length, len(self.bits)
        if length <= len(out):
            if block.rank == 0:
                write_all(out, length)
            yield from block.wait_for_all()
            return
        words, outside = self._read_candidates()
        blocks = self._list_blocks(words)
        gathered = len(blocks) * BLOCK
        if length % BLOCK and _has(words, length // BLOCK):
            gathered -= BLOCK - length % BLOCK
        last_alone = outside and length == columns and not _has(words, (columns - 1) // BLOCK)

        if gathered > len(out) and not last_alone:
            position = np.arange(gathered)
            column = blocks[position // BLOCK] * BLOCK + position % BLOCK
            selection = Selection(block, key_of(self.bits[column], self.order), gathered, 0, self.shape, self.sizes)
            found = yield from selection.find(len(out))
            if found.threshold.key > KEY_OF_NEGATIVE_INFINITY:
                for place, index in selection.chosen(found):
                    write(out, place, column[index])
                return
            # A block whose last round was short may be here before another has the counts of that round.
            yield from block.meet()
        whole[block.rank] = True
        kept = _kept(words, length, columns - 1 if last_alone else -1, self.head)
        bits = np.where(kept, self.bits[:length], np.uint32(NEGATIVE_INFINITY))
        reading = self.shape._replace(vectors=0)
        selection = Selection(block, key_of(bits, self.order), length, self.head, reading, self.sizes)
        found = yield from selection.find(len(out))
        for place, index in selection.chosen(found):
            write(out, place, index)

    def _read_candidates(self) -> tuple[np.ndarray, bool]:
        """A bit for each kept block below the length, in words, and whether an id is past the last block."""
        words = np.zeros(-(-len(self.bits) // (WORD * BLOCK)), np.uint32)
        ids = self.candidates[(self.candidates >= 0) & (self.candidates < blocks_of(self.length))]
        np.bitwise_or.at(words, ids // WORD, np.uint32(1) << (ids % WORD).astype(np.uint32))
        return words, bool((self.candidates >= blocks_of(len(self.bits))).any())

    def _list_blocks(self, words: np.ndarray) -> np.ndarray:
        """The ids of set bits, ascending: each thread writes those of its words behind those of lower threads."""
        each = -(-len(words) // self.shape.threads)
        own = [words[thread * each : (thread + 1) * each] for thread in range(self.shape.threads)]
        counts = [int(np.bitwise_count(mine).sum()) for mine in own]
        blocks = np.full(sum(counts), UNWRITTEN)
        for thread, mine in enumerate(own):
            place = sum(counts[:thread])
            for number, word in enumerate(mine.tolist(), thread * each):
                for bit in range(WORD):
                    if word >> bit & 1:
                        blocks[place] = number * WORD + bit
                        place += 1
        assert len(blocks) <= min(len(self.candidates), blocks_of(len(self.bits))), "more blocks than the list holds"
        return blocks


def _has(words: np.ndarray, block: int) -> bool:
    """Whether a block's bit is set."""
    return bool(int(words[block // WORD]) >> block % WORD & 1)


def _kept(words: np.ndarray, length: int, last: int, head: int) -> np.ndarray:
    """Which columns are kept: those of kept blocks, and the column `last`.

    A vector of four positions is asked for by the block of its first column, but where it lies in two blocks, has the
    column `last`, or sticks out of the row.
    """
    column = np.arange(length)
    first = (column + head) // VECTOR * VECTOR - head
    each = (first < 0) | (first + VECTOR > length) | (first % BLOCK > BLOCK - VECTOR)
    each |= (last - first >= 0) & (last - first < VECTOR)
    block = np.where(each, column, first) // BLOCK
    return (words[block // WORD] >> (block % WORD).astype(np.uint32) & 1 == 1) | (column == last)

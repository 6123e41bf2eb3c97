"""A cluster of blocks on the CPU: mailboxes, pushes in flight, and blocks that run in a random order (cluster.cuh).

Each block is a generator that yields what it waits for. Which block goes on, and which push arrives, is drawn from a
seed, so that a block may run as far ahead of the others as the protocol lets it. What the protocol must rule out raises
AssertionError: a push to a block that has not begun or has ended, a word that is read before it arrived or after it was
overwritten, more bytes than were expected, and a wait that nothing ends.
"""

import random
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

Condition = Callable[[], bool]
"""What a block waits for; yielded by its program."""

Program = Generator[Condition, None, Any]


def at_once() -> bool:
    """Nothing is waited for, but others may go on first."""
    return True


class Mailbox:
    """A barrier whose phase ends once its block has said how many bytes to expect and they have arrived."""

    def __init__(self) -> None:
        self.phase = 0
        """Phases that have ended."""
        self.said = False
        """Whether the bytes of this phase are known."""
        self.missing = 0
        """Bytes expected less bytes arrived; below 0 while more arrived than were announced so far."""

    def expect(self, count: int) -> None:
        """Says how many bytes the phase brings, once a phase."""
        assert not self.said, "the bytes of one phase were expected twice"
        self.said = True
        self.missing += count
        self._end_phase()

    def arrive(self, count: int) -> None:
        """Takes note of bytes that have arrived."""
        self.missing -= count
        self._end_phase()

    def ended(self, use: int) -> Condition:
        """Whether the phase of this use, counted from 0, has ended. As on the device, only its parity is looked at."""
        parity = use & 1

        def condition() -> bool:
            over = self.phase & 1 != parity
            assert not over or self.phase == use + 1, f"wait for phase {use} ended by phase {self.phase - 1}"
            return over

        return condition

    def _end_phase(self) -> None:
        assert not (self.said and self.missing < 0), f"{-self.missing} bytes more than were expected"
        if self.said and self.missing == 0:
            self.phase, self.said = self.phase + 1, False


class Words:
    """A block's shared array; each word knows the use in which it was last written."""

    def __init__(self, length: int, dtype: type[np.unsignedinteger]) -> None:
        self.values = np.zeros(length, dtype)
        self.uses = np.full(length, -1)

    def write(self, at: int, values: np.ndarray, use: int) -> None:
        """Writes `values` from place `at` on; within a use each word is written once."""
        place = slice(at, at + len(values))
        assert len(self.uses[place]) == len(values), f"place {at + len(values)} of an array of {len(self.uses)}"
        assert (self.uses[place] < use).all(), f"a word was overwritten in use {use}"
        self.values[place] = values
        self.uses[place] = use

    def read(self, at: int, length: int, use: int) -> np.ndarray:
        """`length` words from place `at` on, all of them written in this use."""
        place = slice(at, at + length)
        assert (self.uses[place] == use).all(), f"a word was read that was not written in use {use}"
        return self.values[place].copy()


class Block:
    """What a block of a cluster shares with the others."""

    def __init__(self, cluster: "Cluster", rank: int, counts: int, group: int, listed: int) -> None:
        self.cluster, self.rank = cluster, rank
        self.rounds = self.groups = self.lists = 0
        """How often each of the mailboxes was used."""
        self.opened = self.ended = self.has_waited = False
        self.barriers = 0
        self.counts = tuple(Words(cluster.size * counts, np.uint32) for _ in range(2))
        self.group = Words(cluster.size * group, np.uint32)
        self.listed = Words(listed, np.uint64)
        self.counts_box, self.group_box, self.list_box = Mailbox(), Mailbox(), Mailbox()

    def open(self) -> None:
        """Makes the mailboxes ready for pushes, and arrives at the cluster's barrier."""
        self.opened = True

    def wait_for_all(self) -> Program:
        """Waits until every block has opened its mailboxes; only the first time in a kernel."""
        if not self.has_waited:
            yield lambda: all(block.opened for block in self.cluster.blocks)
        self.has_waited = True

    def meet(self) -> Program:
        """Waits until every block has come as far."""
        self.barriers += 1
        yield lambda: all(block.barriers >= self.barriers for block in self.cluster.blocks)

    def push(self, where: Callable[["Block"], tuple[Words, Mailbox]], at: int, values: np.ndarray, use: int) -> None:
        """Sends `values` to place `at` of an array of each other block, which counts them in a mailbox."""
        for block in self.cluster.blocks:
            if block is not self:
                self.cluster.send(block, *where(block), at, values.copy(), use)


class Cluster:
    """The blocks that share a row, and what is on its way between them."""

    def __init__(self, size: int, *, counts: int, group: int, listed: int, seed: int) -> None:
        self.size = size
        self.random = random.Random(seed)
        self.in_flight: list[tuple[Block, Words, Mailbox, int, np.ndarray, int]] = []
        self.blocks = [Block(self, rank, counts, group, listed) for rank in range(size)]

    def send(self, *push: Any) -> None:
        """Puts a push on its way, in two pieces that arrive when they will."""
        block, words, box, at, values, use = push
        cut = self.random.randint(0, len(values))
        for begin, piece in ((0, values[:cut]), (cut, values[cut:])):
            if len(piece):
                self.in_flight.append((block, words, box, at + begin, piece, use))

    def run(self, program: Callable[[Block], Program]) -> None:
        """Runs the program in every block to its end, in an order drawn from the seed."""
        going: dict[Block, Program] = {block: program(block) for block in self.blocks}
        waits: dict[Block, Condition] = dict.fromkeys(self.blocks, at_once)
        haste = self.random.choice((0.1, 0.5, 0.9))  # how likely a push arrives before a block goes on
        while going or self.in_flight:
            if self.in_flight and self.random.random() < haste:
                self._deliver()
                continue
            ready = [block for block in going if waits[block]()]
            if ready:
                block = self.random.choice(ready)
                try:
                    waits[block] = next(going[block])
                except StopIteration:
                    block.ended = True
                    del going[block]
            elif self.in_flight:
                self._deliver()
            else:
                raise AssertionError(f"blocks {[block.rank for block in going]} wait for what never comes")

    def _deliver(self) -> None:
        """Lets one push arrive, any of those on their way."""
        at = int(self.random.random() * len(self.in_flight))
        self.in_flight[at], self.in_flight[-1] = self.in_flight[-1], self.in_flight[at]
        block, words, box, place, values, use = self.in_flight.pop()
        assert block.opened, f"a push to block {block.rank} before it opened its mailboxes"
        assert not block.ended, f"a push to block {block.rank} after it ended"
        words.write(place, values, use)
        box.arrive(values.nbytes)

"""Launch shapes of the top-k kernels: how many blocks and threads share a row, and which shape a call gets."""

from typing import NamedTuple

MOST_COLUMNS = 1 << 20
"""Longer rows are refused: the kernels are checked up to here."""

GROUP_POSITIONS = 1024
"""Positions of a warp's group where no keys are kept: eight vectors of four for each of 32 lanes (part.cuh)."""


class Shape(NamedTuple):
    """How a row is dealt out."""

    cluster: int
    """Blocks of a cluster, which share a row."""
    threads: int
    """Threads of a block."""
    vectors: int
    """Vectors of four scores that a thread keeps in registers; 0: none, the row is read again at every pass."""

    @property
    def capacity(self) -> int:
        """How many positions fit; one that keeps nothing takes any row."""
        return self.cluster * self.threads * self.vectors * 4 if self.vectors else MOST_COLUMNS + 3

    def mark_words(self, positions: int) -> int:
        """32-bit words of shared memory in which a block that keeps nothing marks its entries (select.cuh, divide)."""
        if self.vectors:
            return 0
        warps = self.threads // 32
        share = _up(positions, self.cluster * 4) // self.cluster
        stretch = _up(share, warps * 4) // warps
        return _up(stretch, GROUP_POSITIONS) // GROUP_POSITIONS * self.threads

    def __str__(self) -> str:
        return f"c{self.cluster}_t{self.threads}_v{self.vectors}"


SHAPES = tuple(
    Shape(cluster, threads, vectors)
    for cluster, kept in {
        1: ((512, 2), (1024, 1), (1024, 2), (1024, 4), (1024, 0)),
        2: ((512, 1), (512, 2), (512, 4), (1024, 4), (1024, 8), (1024, 0)),
        4: ((512, 1), (512, 2), (1024, 4), (1024, 0)),
        8: ((512, 1), (512, 2), (512, 4), (1024, 4), (1024, 8), (1024, 0)),
        16: ((512, 1), (512, 2), (512, 4), (1024, 4), (1024, 0)),
    }.items()
    for threads, vectors in kept
)
"""The shapes that topk.cu is built for."""

MASKED_SHAPES = (Shape(1, 1024, 4), Shape(1, 1024, 0), Shape(8, 512, 1), Shape(8, 1024, 0))
"""The shapes that masked.cu is built for; `vectors` is of the gathered row."""

CHOICES = (
    # positions, then for at most 7, 16 and more rows. Measured on an H200: kernels/README.md.
    (4_096, "c1_t512_v2", "c1_t512_v2", "c1_t512_v2"),
    (8_192, "c4_t512_v1", "c4_t512_v1", "c2_t512_v2"),
    (16_384, "c8_t512_v1", "c8_t512_v1", "c2_t512_v4"),
    (32_768, "c8_t512_v2", "c8_t512_v2", "c2_t1024_v4"),
    (65_536, "c16_t512_v2", "c8_t512_v4", "c2_t1024_v8"),
    (131_072, "c16_t512_v4", "c8_t1024_v4", "c2_t1024_v0"),
    (262_144, "c16_t1024_v4", "c8_t1024_v8", "c2_t1024_v0"),
    (MOST_COLUMNS + 3, "c16_t1024_v0", "c8_t1024_v0", "c2_t1024_v0"),
)
"""What `chosen` takes: the quickest shapes for normal data.

Clusters of 16 blocks are for few rows: of those an H200 holds seven at once.
"""

_BY_NAME = {str(shape): shape for shape in SHAPES}


def largest_cluster(capability: tuple[int, int]) -> int:
    """The most blocks of a cluster on a device of that compute capability; Hopper has to be asked for 16."""
    return 16 if capability[0] == 9 else 8


def chosen(rows: int, positions: int, *, largest_cluster: int = 16) -> Shape:
    """The shape for `rows` rows of up to `positions` positions, in clusters of at most `largest_cluster` blocks."""
    for most, few, some, many in CHOICES:
        if positions <= most:
            shape = _BY_NAME[few if rows <= 7 else some if rows <= 16 else many]
            return shape if shape.cluster <= largest_cluster else smallest(largest_cluster, positions)
    raise ValueError(f"a row has at most {MOST_COLUMNS:,} columns, got {positions:,} positions")


def smallest(cluster: int, positions: int, *, threads: int | None = None, of: tuple[Shape, ...] = SHAPES) -> Shape:
    """The shape of `cluster` blocks that keeps a row of `positions` in the fewest vectors, or that keeps nothing.

    threads: only shapes of so many threads a block.
    """
    fit = [
        shape
        for shape in of
        if shape.cluster == cluster and shape.capacity >= positions and threads in (None, shape.threads)
    ]
    return min(fit, key=lambda shape: (shape.capacity, shape.threads))


def _up(value: int, step: int) -> int:
    """`value`, or the next multiple of `step` above it."""
    return -(-value // step) * step

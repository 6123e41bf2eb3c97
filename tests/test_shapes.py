"""Launch shapes: each row has one that takes it, and the marks of its entries have room."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.kernels import shapes
from campaign.kernels.build import SOURCES
from campaign.kernels.emulation import KERNEL_SIZES
from campaign.kernels.shapes import (
    CHOICES,
    GROUP_POSITIONS,
    MASKED_SHAPES,
    MOST_COLUMNS,
    SHAPES,
    Shape,
    chosen,
    smallest,
)

CLUSTERS = (1, 2, 4, 8, 16)
SHARED_BYTES = 232_448
"""What a block of an H200 can have."""
BARRIERS_AND_SUMS = 512
"""Bytes of the small fields of Shared in histogram.cuh, with room."""

BY_NAME = {str(shape): shape for shape in SHAPES}


@pytest.mark.parametrize("positions, names", [(positions, names) for positions, *names in CHOICES])
def test_every_choice_takes_its_rows(positions, names):
    """Each shape that is chosen is built, and takes the longest row that it is chosen for."""
    for name in names:
        assert BY_NAME[name].capacity >= positions, name


def test_choices_reach_the_longest_row():
    """The choices come in ascending length, and the last takes the longest row that may start anywhere."""
    lengths = [positions for positions, *_ in CHOICES]
    assert lengths == sorted(lengths) and lengths[-1] == MOST_COLUMNS + 3


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(rows=st.integers(1, 64), positions=st.integers(1, MOST_COLUMNS + 3), largest=st.sampled_from([8, 16]))
def test_chosen_shape_takes_the_row(rows, positions, largest):
    """Whatever the rows, the shape takes them, in clusters no larger than asked for."""
    shape = chosen(rows, positions, largest_cluster=largest)
    assert shape in SHAPES and shape.capacity >= positions and shape.cluster <= largest


@pytest.mark.parametrize("positions", [line[0] for line in CHOICES])
def test_choice_ends_where_it_says(positions):
    """The longest row of a choice takes it, for 7, 16 and more rows; one position more takes the next."""
    for column, rows in enumerate((7, 16, 17)):
        names = [line[1 + column] for line in CHOICES]
        own = [line[0] for line in CHOICES].index(positions)
        assert str(chosen(rows, positions)) == names[own]
        if own + 1 < len(names):
            assert str(chosen(rows, positions + 1)) == names[own + 1]


def test_eight_blocks_stand_in_for_sixteen(monkeypatch):
    """Where clusters of 16 blocks cannot be had, the smallest shape of eight takes the row; other choices stay."""
    monkeypatch.setattr(
        shapes, "CHOICES", ((8_192, *["c4_t512_v1"] * 3), (MOST_COLUMNS, "c16_t1024_v0", *["c8_t1024_v4"] * 2))
    )
    assert str(chosen(1, 32_768)) == "c16_t1024_v0"
    assert str(chosen(1, 32_768, largest_cluster=8)) == "c8_t512_v2"
    assert str(chosen(1, MOST_COLUMNS, largest_cluster=8)) == "c8_t1024_v0"
    assert str(chosen(8, 32_768, largest_cluster=8)) == "c8_t1024_v4"
    assert chosen(1, 4_096, largest_cluster=8) == chosen(1, 4_096)


def test_row_past_the_longest_is_refused():
    """A row of more positions than any shape takes is an error that says how long a row may be."""
    with pytest.raises(ValueError, match=r"at most 1,048,576 columns, got 1,048,580 positions"):
        chosen(1, MOST_COLUMNS + 4)


@pytest.mark.parametrize("built", [SHAPES, MASKED_SHAPES], ids=["topk", "masked"])
def test_every_cluster_size_takes_every_row(built):
    """For each size of cluster there is one shape that keeps nothing, and so takes what no other does."""
    for cluster in {shape.cluster for shape in built}:
        assert sum(shape.cluster == cluster and not shape.vectors for shape in built) == 1
        assert smallest(cluster, MOST_COLUMNS + 3, of=built).vectors == 0


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(positions=st.integers(1, MOST_COLUMNS + 3), cluster=st.sampled_from(CLUSTERS))
def test_smallest_shape_has_the_least_capacity(positions, cluster):
    """No shape of the cluster that takes the row has a smaller capacity."""
    best = smallest(cluster, positions)
    fit = [shape.capacity for shape in SHAPES if shape.cluster == cluster and shape.capacity >= positions]
    assert best.capacity == min(fit)


def test_smallest_shape_of_1024_threads_has_as_many():
    """served_topk asks for blocks of 1,024 threads, and gets none of 512."""
    assert str(smallest(1, 4_000)) == "c1_t512_v2"
    assert str(smallest(1, 4_000, threads=1024)) == "c1_t1024_v1"


def test_capacity_is_what_the_threads_keep():
    """Eight blocks of 512 threads with two vectors of four keep 32,768 scores."""
    assert Shape(8, 512, 2).capacity == 32_768


def divided(shape: Shape, positions: int) -> int:
    """The groups of a warp, by the very lines of select.cuh."""
    source = (SOURCES / "select.cuh").read_text()
    names = {"CS": shape.cluster, "WARPS": shape.threads // 32, "end": positions, "GROUP_POSITIONS": GROUP_POSITIONS}
    for name, text in (("GROUP_OF_EACH", "constexpr int "), ("share", ""), ("groups", "part."), ("stretch", "")):
        (line,) = re.findall(rf"^\s*{text}{name} = (?:KEPT \? 1 : )?([^;]*);", source, re.MULTILINE)
        line = line.replace("/", "//").replace("RowPart::", "").replace("part.", "")
        names[name] = eval(line, {"__builtins__": {}}, dict(names))
    assert names["stretch"] * names["WARPS"] >= names["share"]
    return names["groups"]


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(
    positions=st.integers(1, MOST_COLUMNS + 3), cluster=st.sampled_from(CLUSTERS), threads=st.sampled_from([512, 1024])
)
def test_marks_are_as_many_as_the_kernel_writes(positions, cluster, threads):
    """A block has a word for each group of each thread, as select.cuh divides the row."""
    shape = Shape(cluster, threads, 0)
    assert shape.mark_words(positions) == divided(shape, positions) * threads


def test_groups_are_those_of_the_kernels():
    """A warp's group has as many positions as in the CUDA sources."""
    source = (SOURCES / "part.cuh").read_text()
    assert "VECTORS = KEPT ? V : 8, " in source and "GROUP_POSITIONS = 128 * VECTORS;" in source
    assert GROUP_POSITIONS == 128 * 8


def test_shape_that_keeps_its_keys_has_no_marks():
    """Where threads keep their keys, no memory is taken for marks."""
    assert Shape(8, 512, 4).mark_words(60_000) == 0


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if not shape.vectors], ids=str)
def test_longest_row_has_room_for_its_marks(shape):
    """The marks of the longest row and what a block shares besides fit the shared memory of an H200's block."""
    sizes, cluster = KERNEL_SIZES, shape.cluster
    words = sizes.bins + cluster * (2 * sizes.counts + sizes.group)
    words += 2 * (sizes.listed + sizes.ranked) + (sizes.passes << sizes.digit_bits)
    assert 4 * (words + shape.mark_words(MOST_COLUMNS + 3)) + BARRIERS_AND_SUMS <= SHARED_BYTES

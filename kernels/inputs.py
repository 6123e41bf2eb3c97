"""Named classes of top-k input: what the published kernels have tripped over, beside what a model produces.

A class is a function of (rng, rows, length) that returns [rows, length] float32, length at least 1; equal seeds give
equal bytes. The awkward classes come first. Lengths, ragged rows and garbage behind a row's live entries are the
caller's to vary: they are the shape of a call, not its values.
"""

from collections.abc import Callable

import numpy as np

InputClass = Callable[[np.random.Generator, int, int], np.ndarray]

INPUT_CLASSES: dict[str, InputClass] = {}
"""The classes that are the same for every k, by name."""

# float32 bit patterns.
SIGN = 0x8000_0000
POSITIVE_INFINITY = 0x7F80_0000
QUIET_NAN = 0x7FC0_0000
ONE = 0x3F80_0000
SMALLEST_NORMAL = 0x0080_0000
ZERO_BAND = (0, 1, SMALLEST_NORMAL - 1, SMALLEST_NORMAL)
"""Zero, the smallest and the largest subnormal, the smallest normal; each comes with either sign."""
INNER_EDGE, OUTER_EDGE = 0x3800_0000, 0x47FC_0000
"""2^-15 and 129,024: the bins of the kernels' first histogram are narrow between them, and wide beyond."""


def _input_class(make: InputClass) -> InputClass:
    """`make`, which INPUT_CLASSES then holds under its own name."""
    INPUT_CLASSES[make.__name__] = make
    return make


def _from_bits(bits: np.ndarray) -> np.ndarray:
    """The float32 that have these `bits`."""
    return bits.astype(np.uint32).view(np.float32)


def _bits(scores: np.ndarray) -> np.ndarray:
    """The bits of float32 `scores`."""
    return scores.view(np.uint32)


def _shuffled_ranks(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """0 … length-1 in each row, in an order of its own."""
    return rng.permuted(np.tile(np.arange(length), (rows, 1)), axis=1)


@_input_class
def all_equal(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """One value everywhere: every entry ties."""
    return np.full((rows, length), 1.25, np.float32)


@_input_class
def positive_zeros(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """+0 everywhere."""
    return np.zeros((rows, length), np.float32)


@_input_class
def signed_zeros(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """+0 and -0 in equal parts: equal as numbers, two ranks as keys."""
    return rng.choice(np.array([0.0, -0.0], np.float32), (rows, length))


@_input_class
def positive_subnormals(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Positive subnormals, of which the served order makes one tie."""
    return _from_bits(rng.integers(1, SMALLEST_NORMAL, (rows, length)))


@_input_class
def negative_subnormals(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Negative subnormals, which both orders tell apart."""
    return _from_bits(SIGN | rng.integers(1, SMALLEST_NORMAL, (rows, length)))


@_input_class
def zero_band(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Both zeros, and the extreme subnormals and smallest normals of either sign."""
    signs = rng.choice(np.array([0, SIGN]), (rows, length))
    return _from_bits(signs | rng.choice(np.array(ZERO_BAND), (rows, length)))


@_input_class
def all_negative_infinity(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """-inf everywhere: live entries all the same, so indices and no padding are due."""
    return np.full((rows, length), -np.inf, np.float32)


@_input_class
def all_positive_infinity(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """+inf everywhere."""
    return np.full((rows, length), np.inf, np.float32)


@_input_class
def one_positive_infinity(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """A normal row with a single +inf."""
    return np.where(_shuffled_ranks(rng, rows, length) == 0, np.float32(np.inf), normal(rng, rows, length))


@_input_class
def infinities(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """-inf and +inf, a fifth of the entries each, among normal scores."""
    draw = rng.random((rows, length))
    scores = normal(rng, rows, length)
    scores[draw < 0.2] = -np.inf
    scores[draw > 0.8] = np.inf
    return scores


@_input_class
def negative_infinity_90(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Normal scores of which a mask has set 90 % to -inf."""
    return _masked(rng, normal(rng, rows, length), 0.90)


@_input_class
def negative_infinity_99(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Normal scores of which a mask has set 99 % to -inf."""
    return _masked(rng, normal(rng, rows, length), 0.99)


def _masked(rng: np.random.Generator, scores: np.ndarray, share: float) -> np.ndarray:
    """`scores` with about `share` of the entries at -inf."""
    return np.where(rng.random(scores.shape) < share, np.float32(-np.inf), scores)


@_input_class
def largest_finite(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """The largest finite float32 with either sign: next to the infinities, and what some kernels pad with."""
    largest = np.finfo(np.float32).max
    return rng.choice(np.array([largest, -largest], np.float32), (rows, length))


@_input_class
def positive_nan(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Normal scores with about 1 % +NaN."""
    return _with_nan(rng, normal(rng, rows, length), QUIET_NAN)


@_input_class
def negative_nan(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Normal scores with about 1 % -NaN."""
    return _with_nan(rng, normal(rng, rows, length), SIGN | QUIET_NAN)


def _with_nan(rng: np.random.Generator, scores: np.ndarray, nan: int) -> np.ndarray:
    """`scores` with about 1 % of the entries, and one a row at least, at the bits `nan`."""
    hit = (rng.random(scores.shape) < 0.01) | (_shuffled_ranks(rng, *scores.shape) == 0)
    return _from_bits(np.where(hit, nan, _bits(scores)))


@_input_class
def nan_payloads(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Normal scores with about 30 % NaN of either sign and any payload, quiet and signalling."""
    signs = rng.choice(np.array([0, SIGN]), (rows, length))
    nans = signs | rng.integers(POSITIVE_INFINITY + 1, SIGN, (rows, length))
    return _from_bits(np.where(rng.random((rows, length)) < 0.3, nans, _bits(normal(rng, rows, length))))


@_input_class
def all_nan(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """The same +NaN everywhere."""
    return _from_bits(np.full((rows, length), QUIET_NAN))


@_input_class
def all_largest_nan(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """The +NaN of largest payload everywhere: the largest key there is, so none can be one larger."""
    return _from_bits(np.full((rows, length), SIGN - 1))


@_input_class
def lowest_keys(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """The -NaN of largest payload everywhere, or in every other row at half of the entries: no key is lower."""
    return _from_bits(0xFFFF_FFFF - rng.integers(0, 2, (rows, length)) * (np.arange(rows)[:, None] % 2))


@_input_class
def any_bits(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Every bit pattern equally likely."""
    return _from_bits(rng.integers(0, 2**32, (rows, length)))


@_input_class
def two_values(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Two values in equal parts."""
    return rng.choice(np.array([1.0, 2.0], np.float32), (rows, length))


@_input_class
def few_values(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """The whole numbers from -3 to 3: many ties at any k."""
    return rng.integers(-3, 4, (rows, length)).astype(np.float32)


@_input_class
def repeated_blocks(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """One block of normal scores, eight times over: each eighth of the row holds the same keys."""
    block = normal(rng, rows, -(-length // 8))
    return np.tile(block, 8)[:, :length].copy()


@_input_class
def ascending(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Normal scores, each at least the one before it: the best come last."""
    return np.sort(normal(rng, rows, length), axis=1)


@_input_class
def descending(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Normal scores, each at most the one before it: the best come first."""
    return -ascending(rng, rows, length)


@_input_class
def one_spike(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """One score far above an otherwise equal row."""
    return np.where(_shuffled_ranks(rng, rows, length) == 0, np.float32(1e30), np.float32(-1.0))


@_input_class
def best_in_first_eighth(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Normal scores, raised by 50 in the first eighth of the row: one block of a cluster of 8 holds the best."""
    scores = normal(rng, rows, length)
    scores[:, : -(-length // 8)] += 50
    return scores


@_input_class
def best_in_last_eighth(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Normal scores, raised by 50 in the last eighth of the row."""
    return best_in_first_eighth(rng, rows, length)[:, ::-1].copy()


@_input_class
def equal_upper_12_bits(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Scores that share their upper 12 bits: a first histogram of 4,096 bins sees one bin."""
    return _from_bits(ONE + rng.integers(0, 1 << 20, (rows, length)))


@_input_class
def equal_upper_22_bits(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Scores that share their upper 22 bits: only the last 10 bits tell them apart."""
    return _from_bits(ONE + rng.integers(0, 1 << 10, (rows, length)))


@_input_class
def narrow_range(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Uniform scores from 100 to 100.01: some 1,300 neighbouring float32, so a long row has many ties."""
    return rng.uniform(100, 100.01, (rows, length)).astype(np.float32)


@_input_class
def bfloat16_values(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Normal scores cut to what bfloat16 holds: ties share all 32 bits."""
    return _from_bits(_bits(normal(rng, rows, length)) & 0xFFFF_0000)


@_input_class
def fp8_values(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Normal scores cut to three bits of mantissa, as fp8 (e4m3) holds."""
    return _from_bits(_bits(normal(rng, rows, length)) & 0xFFF0_0000)


@_input_class
def bin_edges(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Scores around an edge of the first histogram's widest bins, some far above it, and the rest far below."""
    negative, inner = rng.random((2, rows, 1)) < 0.5
    shares = length ** np.sort(rng.random((rows, 3)), axis=1)  # so that a k of any size may fall near the edge
    rank = _shuffled_ranks(rng, rows, length)
    step = rng.integers(0, 1 << 18, (rows, length)) >> rng.integers(0, 2, (rows, length)) * rng.integers(
        0, 16, (rows, 1)
    )
    edge = np.where(inner, INNER_EDGE, OUTER_EDGE)
    outward = (rank < shares[:, 1:2]) != negative
    near = edge + np.where(outward, step, -step)
    farther, nearer = np.where(inner, edge + (1 << 25), POSITIVE_INFINITY), np.where(inner, 0, edge - (1 << 25))
    is_far = (rank < shares[:, :1]) | (rank >= shares[:, 2:])
    return _from_bits(np.where(is_far, np.where(outward, farther, nearer), near) + SIGN * negative)


@_input_class
def relu(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Normal scores around -1.5 with +0 in place of what is below: most of the row is zero."""
    return np.maximum(normal(rng, rows, length) - np.float32(1.5), np.float32(0))


@_input_class
def uniform(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Uniform scores from 0 to 1."""
    return rng.random((rows, length), np.float32)


@_input_class
def indexer_like(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Sums over 64 heads of weight × relu(query · key), queries and keys normal: made up here, no model's scores."""
    heads, width = 64, 128
    keys = rng.standard_normal((length, width), np.float32)
    scores = np.empty((rows, length), np.float32)
    for row in range(rows):
        queries, weights = rng.standard_normal((width, heads), np.float32), rng.random(heads, np.float32)
        for start in range(0, length, 65_536):
            part = slice(start, start + 65_536)
            scores[row, part] = np.maximum(keys[part] @ queries, 0) @ weights
    return scores


@_input_class
def normal(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Normal scores of mean 0 and deviation 1."""
    return rng.standard_normal((rows, length), np.float32)


def classes_aimed_at(k: int) -> dict[str, InputClass]:
    """The classes that put what is awkward at the k-th entry of a row longer than k, by name."""

    def ties_at_kth(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
        """Of normal scores far below, k // 2 entries raised to 2 and up to 2k raised to 1."""
        rank = _shuffled_ranks(rng, rows, length)
        scores = normal(rng, rows, length) - 100
        scores[rank < k // 2 + 2 * k] = 1
        scores[rank < k // 2] = 2
        return scores

    def kth_near_zero(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
        """Ones at k // 2 entries, and zeros and extreme subnormals of either sign at all others."""
        signs = rng.choice(np.array([0, SIGN]), (rows, length))
        near_zero = _from_bits(signs | rng.choice(np.array(ZERO_BAND[:-1]), (rows, length)))
        return np.where(_shuffled_ranks(rng, rows, length) < k // 2, np.float32(1), near_zero)

    def k_less_one_finite(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
        """Finite scores at k - 1 entries and -inf at all others: one -inf is selected."""
        return _only_finite(rng, rows, length, k - 1)

    def k_finite(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
        """Finite scores at k entries and -inf at all others: no -inf is selected."""
        return _only_finite(rng, rows, length, k)

    def k_less_one_infinite(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
        """A normal row with +inf at k - 1 entries: one finite score is selected."""
        return np.where(_shuffled_ranks(rng, rows, length) < k - 1, np.float32(np.inf), normal(rng, rows, length))

    def k_infinite(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
        """A normal row with +inf at k entries: no finite score is selected."""
        return np.where(_shuffled_ranks(rng, rows, length) < k, np.float32(np.inf), normal(rng, rows, length))

    aimed = (ties_at_kth, kth_near_zero, k_less_one_finite, k_finite, k_less_one_infinite, k_infinite)
    return {make.__name__: make for make in aimed}


def _only_finite(rng: np.random.Generator, rows: int, length: int, count: int) -> np.ndarray:
    """Normal scores at `count` scattered entries of each row and -inf at all others."""
    return np.where(_shuffled_ranks(rng, rows, length) < count, normal(rng, rows, length), np.float32(-np.inf))

"""How the bench's record calls kernels: ours, and ours after the two masking kernels."""

OWN = ("served_topk", "rs8", "auto")
"""Those of this package that select among all columns."""
MASKED = "masked_topk"
"""The masked F; the record adds its cluster size: `masked_topk c8`."""
MASKED_FIRST = "mask + "
"""What stands before a selection's name where the two masking kernels come first."""


def is_own(kernel: str) -> bool:
    """Whether a record's `kernel` is of this package, alone or after the masking kernels."""
    return kernel.removeprefix(MASKED_FIRST).split()[0] in {*OWN, MASKED}

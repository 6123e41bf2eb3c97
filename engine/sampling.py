"""Choosing a token from its logits, the same one whether or not it was drafted.

The noise of a position comes from (seed, position) alone, by a counter-based generator. So a drafted token is
confirmed exactly when it is the token that a plain step would have chosen there, and speculation leaves the
text as it is at every temperature.
"""

import math

import numpy as np

from campaign.engine.contract import RequestError


class Sampler:
    """The way in which one request chooses its tokens."""

    def __init__(self, temperature: float = 0.0, seed: int = 0):
        if not (math.isfinite(temperature) and temperature >= 0):
            raise RequestError(f"temperature = {temperature}: expected a finite number >= 0")
        if not 0 <= seed < 2**64:
            raise RequestError(f"seed = {seed}: expected 0 <= seed < 2**64")
        self.temperature = temperature
        self.seed = seed

    def choose(self, logits: np.ndarray, position: int) -> int:
        """The token for the context's place `position`.

        logits: [vocabulary], float; -inf bars a token. Greedy takes the highest, ties go to the lower id.
        Above temperature 0 each token is drawn with its softmax probability (Gumbel's maximum).
        """
        if self.temperature == 0:
            return int(np.argmax(logits))
        scores = logits.astype(np.float64) / self.temperature + noise(self.seed, position, len(logits))
        return int(np.argmax(scores))


def noise(seed: int, position: int, count: int) -> np.ndarray:
    """Standard Gumbel noise, [count] float64, that (seed, position) alone decide.

    Made from the generator's raw bits, which NumPy keeps the same from release to release.
    """
    raw = np.random.Philox(key=np.array([seed, position], dtype=np.uint64)).random_raw(count)
    # Half a step above the multiples of 2**-52, exact in 53 bits: neither 0 nor 1, so both logarithms are finite.
    uniform = ((raw >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    return -np.log(-np.log(uniform))

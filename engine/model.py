"""A Llama-style decoder in plain torch: logits for every token of a pass, over a cache that can be rolled back."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from gguf import GGUFReader, dequantize
from torch import Tensor
from torch.nn import functional

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
"""What the weights are computed in, by the name in Settings."""


@dataclass(frozen=True)
class Shape:
    """The sizes of a model, from the header of its GGUF file."""

    layers: int
    width: int
    feed_forward: int
    heads: int
    kv_heads: int
    head_width: int
    context: int
    """Tokens that the model was taught to look back on."""
    rope_base: float
    norm_epsilon: float

    @classmethod
    def of(cls, reader: GGUFReader) -> "Shape":
        """The sizes that `reader` states."""

        def value(key: str):
            return reader.get_field(key).contents()

        if value("general.architecture") != "llama":
            raise ValueError(f"architecture {value('general.architecture')}: expected llama")
        width, heads = value("llama.embedding_length"), value("llama.attention.head_count")
        return cls(
            layers=value("llama.block_count"),
            width=width,
            feed_forward=value("llama.feed_forward_length"),
            heads=heads,
            kv_heads=value("llama.attention.head_count_kv"),
            head_width=width // heads,
            context=value("llama.context_length"),
            rope_base=value("llama.rope.freq_base"),
            norm_epsilon=value("llama.attention.layer_norm_rms_epsilon"),
        )


class Cache:
    """Keys and values of the tokens that were passed so far: [layers, kv heads, tokens, head width]."""

    def __init__(self, shape: Shape, tokens: int, dtype: torch.dtype):
        size = (shape.layers, shape.kv_heads, tokens, shape.head_width)
        self.keys = torch.zeros(size, dtype=dtype)
        self.values = torch.zeros(size, dtype=dtype)
        self.room = tokens
        self.length = 0
        """Tokens whose keys and values stand; the next pass begins after them."""

    def rollback(self, length: int) -> None:
        """Nothing; only the first `length` tokens stand."""
        if not 0 <= length <= self.length:
            raise ValueError(f"rollback to {length} tokens, but the cache holds {self.length}")
        self.length = length


@dataclass(frozen=True)
class Layer:
    """The weights of one decoder layer; matrices are [outputs, inputs]."""

    attention_norm: Tensor
    query_key_value: Tensor
    """Rows of q, k and v, one below the other, so that one product makes all three."""
    attention_out: Tensor
    feed_forward_norm: Tensor
    gate_up: Tensor
    feed_forward_down: Tensor


class Model:
    """The decoder, with its weights dequantized into one dtype."""

    def __init__(self, reader: GGUFReader, dtype: torch.dtype = torch.float32, context: int = 2048):
        self.shape = Shape.of(reader)
        self.dtype = dtype
        tensors = {tensor.name: tensor for tensor in reader.tensors}

        def weight(*names: str) -> Tensor:
            parts = [dequantize(tensors[name].data, tensors[name].tensor_type) for name in names]
            # np.concatenate copies, so nothing keeps the file open and torch may write.
            return torch.from_numpy(np.concatenate(parts)).to(dtype)

        self._embedding = weight("token_embd.weight")
        """[vocabulary, width]; the same matrix turns the last layer's output into logits."""
        self._norm = weight("output_norm.weight")
        self._layers = [
            Layer(
                attention_norm=weight(f"blk.{n}.attn_norm.weight"),
                query_key_value=weight(*(f"blk.{n}.attn_{which}.weight" for which in "qkv")),
                attention_out=weight(f"blk.{n}.attn_output.weight"),
                feed_forward_norm=weight(f"blk.{n}.ffn_norm.weight"),
                gate_up=weight(f"blk.{n}.ffn_gate.weight", f"blk.{n}.ffn_up.weight"),
                feed_forward_down=weight(f"blk.{n}.ffn_down.weight"),
            )
            for n in range(self.shape.layers)
        ]
        self._turns = _turns(self.shape, context)

    def cache(self, tokens: int) -> Cache:
        """An empty cache with room for `tokens`."""
        return Cache(self.shape, tokens, self.dtype)

    @torch.inference_mode()
    def prefill(self, tokens: Sequence[int], cache: Cache) -> None:
        """Nothing; `tokens` stand in the cache. No logits are made."""
        self._hidden(tokens, cache)

    @torch.inference_mode()
    def forward(self, tokens: Sequence[int], cache: Cache) -> np.ndarray:
        """Logits after each of `tokens`, [tokens, vocabulary] float32; the tokens stand in the cache."""
        hidden = _normed(self._hidden(tokens, cache), self._norm, self.shape.norm_epsilon)
        return functional.linear(hidden, self._embedding).float().numpy()

    def _hidden(self, tokens: Sequence[int], cache: Cache) -> Tensor:
        """The last layer's output, [tokens, width]. The cache's length moves only when all layers are through."""
        shape = self.shape
        start, count = cache.length, len(tokens)
        end = start + count
        if end > cache.room:
            raise ValueError(f"{end} tokens, but the cache has room for {cache.room}")
        turns = self._turns[start:end].unsqueeze(1)
        mask = _mask(start, count, shape.heads // shape.kv_heads, self.dtype)
        split = [shape.heads * shape.head_width, *[shape.kv_heads * shape.head_width] * 2]
        x = self._embedding[torch.tensor(tokens)]
        for layer, all_keys, all_values in zip(self._layers, cache.keys, cache.values, strict=True):
            h = _normed(x, layer.attention_norm, shape.norm_epsilon)
            q, k, v = functional.linear(h, layer.query_key_value).split(split, dim=1)
            q = _turned(q.view(count, shape.heads, shape.head_width), turns)
            k = _turned(k.view(count, shape.kv_heads, shape.head_width), turns)
            all_keys[:, start:end] = k.transpose(0, 1)
            all_values[:, start:end] = v.view(count, shape.kv_heads, shape.head_width).transpose(0, 1)
            attended = _attended(q, all_keys[:, :end], all_values[:, :end], mask)
            x = x + functional.linear(attended, layer.attention_out)
            h = _normed(x, layer.feed_forward_norm, shape.norm_epsilon)
            gate, up = functional.linear(h, layer.gate_up).chunk(2, dim=1)
            x = x + functional.linear(functional.silu(gate) * up, layer.feed_forward_down)
        cache.length = end
        return x


def _attended(q: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
    """What each token takes from the tokens up to itself, [tokens, heads x head width].

    q: [tokens, heads, head width]; keys, values: [kv heads, tokens so far, head width]. The heads that share a
    key go through one product, as rows below each other: [kv heads, heads a kv head x tokens, ...].
    """
    count, heads, width = q.shape
    kv_heads = keys.shape[0]
    rows = q.view(count, kv_heads, heads // kv_heads, width).permute(1, 2, 0, 3).reshape(kv_heads, -1, width)
    scores = (rows @ keys.transpose(1, 2)) * width**-0.5
    if mask is not None:
        scores = scores + mask
    shares = torch.softmax(scores, dim=-1, dtype=torch.float32).to(values.dtype)
    return (shares @ values).view(kv_heads, heads // kv_heads, count, width).permute(2, 0, 1, 3).reshape(count, -1)


def _mask(start: int, count: int, repeats: int, dtype: torch.dtype) -> Tensor | None:
    """0 where a token may look and -inf after it, [repeats x count, start + count]; None for one token."""
    if count == 1:
        return None
    mask = torch.full((count, start + count), float("-inf"), dtype=dtype).triu(start + 1)
    return mask.repeat(repeats, 1)


def _normed(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """`x` over the root of its mean square, in float32, times `weight`."""
    wide = x.float()
    scale = torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + epsilon)
    return (wide * scale).to(x.dtype) * weight


def _turns(shape: Shape, context: int) -> Tensor:
    """The turn of each pair of numbers at each position, [context, head width / 2] complex64."""
    exponents = torch.arange(0, shape.head_width, 2, dtype=torch.float64) / shape.head_width
    angles = torch.outer(torch.arange(context, dtype=torch.float64), shape.rope_base**-exponents)
    return torch.polar(torch.ones_like(angles), angles).to(torch.complex64)


def _turned(x: Tensor, turns: Tensor) -> Tensor:
    """`x` with its rotary position: [tokens, heads, head width].

    GGUF stores the rows of q and k so that the two numbers of a pair stand side by side; the usual layout has
    them half a head apart. Products of q and k are the same in both.
    """
    pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * turns).flatten(-2).to(x.dtype)

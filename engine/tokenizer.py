"""SmolLM2's tokenizer: from text to token ids and back, and a conversation as the model was taught to read it.

Built from the vocabulary and the merges that the GGUF file holds.
"""

from collections.abc import Sequence

from gguf import GGUFReader
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from campaign.engine.contract import Message

DEFAULT_SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
"""What the model's own template puts first where a conversation has no system message."""
TURN_START = "<|im_start|>"
TURN_END = "<|im_end|>"
TEXT_END = "<|endoftext|>"

CONTROL = 3
"""The type that GGUF gives a token with a meaning of its own, such as the end of a turn."""


class ChatTokenizer:
    """Token ids of plain text and of conversations."""

    def __init__(self, reader: GGUFReader):
        def contents(key: str) -> list:
            return reader.get_field(f"tokenizer.ggml.{key}").contents()

        tokens = contents("tokens")
        special = [token for token, kind in zip(tokens, contents("token_type"), strict=True) if kind == CONTROL]
        merges = [tuple(merge.split(" ")) for merge in contents("merges")]
        vocabulary = {token: number for number, token in enumerate(tokens)}
        self._tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
        # GGUF's name of this rule is "smollm": each digit stands alone, the rest is cut as GPT-2 does.
        self._tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        )
        self._tokenizer.decoder = decoders.ByteLevel()
        self._tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
        # A special token that is spelt out in a text is text: no message can end its own turn.
        self._tokenizer.encode_special_tokens = True
        self.size = len(tokens)
        self.turn_start = vocabulary[TURN_START]
        self.turn_end = vocabulary[TURN_END]
        self.stops = frozenset({self.turn_end, vocabulary[TEXT_END]})
        """Tokens that end a generation and are no part of its text."""

    def encode(self, text: str) -> list[int]:
        """The tokens of `text`, none of them special.

        As with the model's own tokenizer, bytes that the vocabulary lacks are left out: those of some control
        characters, and of characters from U+40000 on.
        """
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of `tokens` without the special ones; bytes that are no character yet become U+FFFD."""
        return self._tokenizer.decode(list(tokens), skip_special_tokens=True)

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """The conversation and the beginning of the assistant's turn, as the template in the GGUF file has it."""
        turns = [(message.role, message.content) for message in messages]
        if not turns or turns[0][0] != "system":
            turns.insert(0, ("system", DEFAULT_SYSTEM))
        tokens: list[int] = []
        for role, content in turns:
            tokens += [self.turn_start, *self.encode(f"{role}\n{content}"), self.turn_end, *self.encode("\n")]
        return [*tokens, self.turn_start, *self.encode("assistant\n")]

    def to_json(self) -> str:
        """The tokenizer as the text of a tokenizer.json."""
        return self._tokenizer.to_str()

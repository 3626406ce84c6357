"""A tokenizer of transformers with a token for each byte, which needs no file."""

from __future__ import annotations

END = "<|end|>"
TEMPLATE = (
    "{% for each in messages %}<|begin|>{{ each['role'] }}\n{{ each['content'] }}<|end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|begin|>assistant\n{% endif %}"
)


def byte_tokenizer():
    """Return a tokenizer that writes and reads every text alike, with a chat template."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    bytewise = Tokenizer(models.BPE({letter: place for place, letter in enumerate(letters)}, []))
    bytewise.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytewise.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(
        tokenizer_object=bytewise,
        eos_token=END,
        pad_token="<|pad|>",
        additional_special_tokens=["<|begin|>"],
        clean_up_tokenization_spaces=False,
    )
    made.chat_template = TEMPLATE
    return made

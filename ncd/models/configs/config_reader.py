"""Reads a ``config.json`` as a published model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from ncd.lang.errors import ParseError, UnknownNameError, shown
from ncd.models.configs.config_fields import Fields
from ncd.models.configs.deepseek_config import read_deepseek
from ncd.models.configs.language_configs import (
    read_bert,
    read_gemma,
    read_gpt2,
    read_llama,
    read_mixtral,
)
from ncd.models.configs.mamba_config import read_mamba
from ncd.models.configs.published import Published
from ncd.models.configs.t5_config import read_t5
from ncd.models.configs.vision_config import read_vit
from ncd.models.configs.whisper_config import read_whisper

LONGEST = 60_000  # letters
READERS: Mapping[str, Callable[[Fields, str], Published]] = {
    "bert": read_bert,
    "deepseek_v2": read_deepseek,
    "deepseek_v3": read_deepseek,
    "gemma": read_gemma,
    "gemma2": read_gemma,
    "gemma3_text": read_gemma,
    "gpt2": read_gpt2,
    "llama": read_llama,
    "mamba": read_mamba,
    "mistral": read_llama,
    "mixtral": read_mixtral,
    "qwen2": read_llama,
    "qwen3": read_llama,
    "t5": read_t5,
    "vit": read_vit,
    "whisper": read_whisper,
}


def is_config(text: str) -> bool:
    """Returns whether a text is the ``config.json`` of a model, and not a term.

    >>> is_config('{"model_type": "llama"}'), is_config('{"op": "Id"}')
    (True, False)
    """
    return text.lstrip().startswith("{") and '"model_type"' in text[:LONGEST]


def read_config(text: str) -> Published:
    """Returns the model that a ``config.json`` describes.

    Args:
        text: The text of the file, as the library ``transformers`` writes it.

    Raises:
        ParseError: For text that is no JSON object.
        UnknownNameError: For a type of model that is not known here.
        SizeError: For a field with a value that it cannot have.

    Source: ``PretrainedConfig`` of the library ``transformers``.

    >>> import ncd
    >>> found = read_config('{"model_type": "gpt2"}')
    >>> found.title, ncd.cost(found.system(**found.sizes)).parameters
    ('GPT-2', 124439808)
    """
    if len(text) > LONGEST:
        raise ParseError(f"the text has {len(text)} letters", cure=f"{LONGEST} at most")
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"this is no JSON: {error}", where="config.json", cure="{…}") from None
    if not isinstance(values, dict):
        raise ParseError("this is no JSON object", where="config.json", cure="{…}")
    kind = str(values.get("model_type", ""))
    if kind not in READERS:
        known = ", ".join(READERS)  # a file's own word is no slip of the keys: none is the nearest
        fact = f"model_type {shown(kind)} is not read here"
        raise UnknownNameError(fact, where="config.json", cure=f"one of {known}")
    return READERS[kind](Fields(values), kind)

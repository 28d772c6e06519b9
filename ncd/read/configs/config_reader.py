"""Reads a ``config.json`` as a published model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from difflib import SequenceMatcher
from typing import Any

from ncd.errors import NCDError, ParseError, UnknownNameError, plain_message, short_repr
from ncd.read.configs.config_fields import Fields, PublishedModel
from ncd.read.configs.decoder_configs import FAMILIES, read_decoder
from ncd.read.configs.encoder_configs import (
    BARTS,
    ENCODERS,
    TITLES,
    read_bart,
    read_bert,
    read_deberta,
    read_gpt2,
    read_t5,
    read_whisper,
)
from ncd.read.configs.latent_and_state_configs import read_deepseek, read_mamba
from ncd.read.configs.vision_configs import VISION

LONGEST = 60_000  # letters
MOST, LEAST = 5, 3  # names in a message; fields by which a type is recognised
WIDTHS = ("hidden_size", "d_model", "n_embd", "dim", "embed_dim", "hidden_sizes", "text_config")
ASIDE = re.compile(  # names of fields that change no size and no shape
    "token|dropout|pdrop|dtype|version|cache|initializer|_id$|architectures|auto_map|output_|loss|"
    "coef|_std$|pretraining|implementation|name_or_path|classifier|problem|label|return_|chunk|"
    "prune|checkpoint|model_type|noise|tie_word|quantization|is_|add_"
)
READERS: Mapping[str, Callable[[Fields, str], PublishedModel]] = {
    **dict.fromkeys(FAMILIES, read_decoder),
    **dict.fromkeys(ENCODERS, read_bert),
    "deberta-v2": read_deberta,
    "deepseek_v2": read_deepseek,
    "deepseek_v3": read_deepseek,
    "gpt2": read_gpt2,
    "mamba": read_mamba,
    **dict.fromkeys(BARTS, read_bart),
    **dict.fromkeys(TITLES, read_t5),
    **VISION,
    "whisper": read_whisper,
}


def is_config(text: str) -> bool:
    """Returns whether a text is the ``config.json`` of a model, and not a term.

    >>> is_config('{"model_type": "llama"}'), is_config('{"op": "Id"}')
    (True, False)
    """
    return text.lstrip().startswith("{") and '"model_type"' in text[:LONGEST]


def read_config(text: str) -> PublishedModel:
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
        said = plain_message(str(error))
        raise ParseError(f"this is no JSON: {said}", where="config.json", cure="{…}") from None
    if not isinstance(values, dict):
        raise ParseError("this is no JSON object", where="config.json", cure="{…}")
    kind = str(values.get("model_type", ""))
    inner = values.get("text_config")
    if kind not in READERS and isinstance(inner, dict):  # a model of pictures and text, or sounds
        kind = str(inner.get("model_type", kind))
    kind = kind if kind in READERS else kind.removesuffix("_text")
    if kind not in READERS:
        raise _unknown_type_error(kind, values)
    return READERS[kind](Fields(values), kind)


def _unknown_type_error(kind: str, values: Mapping[str, Any]) -> NCDError:
    """Returns the error for a type that is not known: the nearest one, and what that leaves out."""
    fact = f"model_type {short_repr(kind)} is not read here"
    names = sorted(READERS, key=lambda name: -_likeness(name, kind))[:MOST]
    usual = f"one of the {len(READERS)} types that are, such as {', '.join(names)}"
    if not any(values.get(name) for name in WIDTHS):  # other types have a width of their own
        fact = f"{fact}, and the configuration has no {WIDTHS[0]}"
        return UnknownNameError(fact, where="config.json", cure=usual)
    found = [(name, left) for name in READERS if (left := _left_out(name, values)) is not None]
    if not found:
        return UnknownNameError(fact, where="config.json", cure=usual)
    name, left = min(found, key=lambda each: (len(each[1]), -_likeness(each[0], kind)))
    named = ", ".join(left[:MOST]) + (f" and {len(left) - MOST} more" if len(left) > MOST else "")
    near = f"{fact}; the nearest type is {name}"
    said = f"{near}, which does not know {named}" if left else f"{near}, which knows its fields"
    return UnknownNameError(said, where="config.json", cure=f'"model_type": "{name}"')


def _left_out(name: str, values: Mapping[str, Any]) -> list[str] | None:
    """Returns the fields that a type does not know; None if it is not of this type at all."""
    fields = Fields(values)
    try:
        READERS[name](fields, name)
    except NCDError:
        return None
    left = [key for key in values if key not in fields.read_names and not ASIDE.search(key)]
    known = [key for key in fields.read_names.intersection(values) if values[key] is not None]
    few = len(known) < max(LEAST, len(left))  # of a type that has all sizes by default
    return None if few or "vocab_size" in left else left  # a model of words is none of pictures


def _likeness(a: str, b: str) -> float:
    return SequenceMatcher(None, a, b).ratio()

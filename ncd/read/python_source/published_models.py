"""Models of the library ``transformers`` that a source takes: boxes with known results."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor
from torch.utils._pytree import tree_leaves

from ncd.read.python_source.interpreter import (
    AssumedSettings,
    Interpreter,
    NamedResults,
    PlainObject,
    UnknownValue,
)
from ncd.read.python_source.other_files import (
    ExternalModule,
    assumed_setting,
    box_result,
    imported_from,
)
from ncd.read.python_source.structured_inputs import see_inside

LIBRARY = "transformers"
MAKES = r"(?:\.from_pretrained|\.from_config|\._from_config)?"
HEADS = (
    "LMHeadModel|ForCausalLM|ForMaskedLM|ForSequenceClassification|ForImageClassification|"
    "ForTokenClassification|ForQuestionAnswering|Model"
)
MODEL = re.compile(rf"(?:{LIBRARY}\.)?(([A-Z]\w*?)({HEADS})){MAKES}")
CONFIG = re.compile(rf"(?:{LIBRARY}\.)?\w+Config(?:\.from_pretrained)?")
POOLED_FAMILIES = (  # families that also give one row for each sample
    *("Auto", "Bert", "Roberta", "XLMRoberta", "Albert", "Camembert", "Ernie", "MPNet", "BigBird"),
    *("ViT", "DeiT", "Dinov2"),
)
OTHER_FAMILIES = (
    *("DistilBert", "Electra", "Deberta", "DebertaV2", "ModernBert", "GPT2", "GPTNeo", "GPTNeoX"),
    *("OPT", "Bloom", "Llama", "Mistral", "Gemma", "Gemma2", "Qwen2", "Qwen3", "Phi", "Phi3"),
)
UNPOOLED_NAMES = re.compile(
    r"distil|electra|deberta|modernbert|gpt|opt-|bloom|llama|mistral|gemma|qwen|phi"
)
WIDTHS: tuple[tuple[str, int], ...] = (  # of models, by what stands in their names
    (r"bert-tiny", 128),
    (r"bert-mini", 256),
    (r"bert-(small|medium)", 512),
    (r"minilm|xsmall|(vit|deit|dinov2)-small", 384),
    (r"electra-small", 256),
    (r"(vit|deit)-tiny", 192),
    (r"gpt2-xl", 1600),
    (r"gpt2-medium", 1024),
    (r"gpt2-large|vit-huge", 1280),
    (r"albert-xxlarge", 4096),
    (r"albert-xlarge", 2048),
    (r"giant", 1536),
    (r"llama.*-[78]b|mistral-7b", 4096),
    (r"opt-350m", 1024),
    (r"large", 1024),
    (r"base|distil|gpt2$|opt-125m|deberta-v3-small|bert-wwm|finbert|scibert|biobert|roberta$", 768),
)
USUAL_WIDTH = 768
WIDTH_NAMES = ("hidden_size", "dim", "d_model", "n_embd")  # of a setting
VOCABULARIES: tuple[tuple[str, int], ...] = (  # sizes of tables of words
    (r"bert-base-cased|bert-large-cased", 28996),
    (r"multilingual-cased", 119547),
    (r"xlm-roberta", 250002),
    (r"roberta", 50265),
    (r"gpt2", 50257),
    (r"albert", 30000),
    (r"deberta-v3", 128100),
    (r"opt-", 50272),
    (r"llama-2|mistral", 32000),
    (r"", 30522),
)
PATCH = re.compile(r"patch(\d+)|dinov2-\w+")
LABELS = 2  # of a classifier that is not told how many there are


def published_part(
    machine: Interpreter, function: UnknownValue, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """Returns a model of the library, or the settings of one; None for anything else.

    Args:
        machine: The interpretation.
        function: What is called, such as ``BertModel.from_pretrained``.
        args: What it is called on: the name of a model, or its settings.
        named: Those by name.
    """
    if not _is_of_library(machine, function.name):
        return None
    if CONFIG.fullmatch(function.name):
        return _settings(_name(args, named), named)
    found = MODEL.fullmatch(function.name)
    if found is None or found[2] not in (*POOLED_FAMILIES, *OTHER_FAMILIES):
        return None
    with machine.building_module():
        return LibraryModel(machine, UnknownValue(found[1], function.reason), args, named)


def _is_of_library(machine: Interpreter, name: str) -> bool:
    head = name.partition(".")[0]
    return imported_from(machine.text).get(head, "").partition(".")[0] == LIBRARY


def _name(args: Sequence[Any], named: dict[str, Any]) -> str:
    """Returns the name of a model in lower case; empty if it is not known."""
    first = next(iter(args), named.get("pretrained_model_name_or_path", ""))
    return first.lower() if isinstance(first, str) else ""


def _settings(name: str, named: dict[str, Any]) -> AssumedSettings:
    """Returns the settings of a model of a name, with those that are given."""
    given = {key: one for key, one in named.items() if type(one) in (int, float, bool, str)}
    width = width_in_settings(given) or width_of_name(name) or USUAL_WIDTH
    found = AssumedSettings("config")
    vocabulary = next(size for words, size in VOCABULARIES if re.search(words, name))
    large = "large" in name
    found.own |= {
        **{"vocab_size": vocabulary, "num_labels": LABELS},
        **{"num_hidden_layers": 24 if large else 12, "num_attention_heads": 16 if large else 12},
        **{"hidden_dropout_prob": 0.1, **given},
        **dict.fromkeys(WIDTH_NAMES, width),
    }
    return found


def width_in_settings(settings: Mapping[str, Any]) -> int:
    """Returns the width in some settings, which each family names in its way; 0 for none.

    >>> width_in_settings({"n_embd": 32, "n_layer": 2})
    32
    """
    return next((n for name in WIDTH_NAMES if type(n := settings.get(name)) is int), 0)


def width_of_name(name: str) -> int:
    """Returns the width of a published model; 0 if its name does not tell it.

    >>> [width_of_name(name) for name in ("bert-base-uncased", "roberta-large", "my-model")]
    [768, 1024, 0]
    """
    return next((width for words, width in WIDTHS if re.search(words, name)), 0)


class LibraryModel(ExternalModule):
    """A model of the library: a box whose results have the names and shapes that it gives."""

    def attribute(self, name: str) -> Any:
        return self.config if name == "config" else super().attribute(name)

    @property
    def config(self) -> AssumedSettings:
        """Its settings: those with which it is made, or those of a model of its name."""
        machine, _, args, named = self.__dict__["made_of"]
        kept: AssumedSettings | None = self.__dict__.get("kept_settings")
        if kept is None:
            given = next((x for x in (*args, *named.values()) if isinstance(x, PlainObject)), None)
            if isinstance(given, AssumedSettings) and not width_in_settings(given.own):
                assumed_setting(machine, given, WIDTH_NAMES[0])
            kept = _settings(_name(args, named), {**(given.own if given else {}), **named})
            self.__dict__["kept_settings"] = kept
        return kept

    @property
    def width(self) -> int:
        """The features of each row of its result."""
        return int(self.config.own[WIDTH_NAMES[0]])

    @property
    def is_known(self) -> bool:
        """Whether its name or its settings tell its width."""
        _, _, args, named = self.__dict__["made_of"]
        given = any(isinstance(x, PlainObject) for x in (*args, *named.values()))
        return given or bool(width_of_name(_name(args, named)))

    def forward(self, *args: Any, **named: Any) -> Any:
        machine, value, *_ = self.__dict__["made_of"]
        arrays = [x for x in tree_leaves((args, named)) if isinstance(x, Tensor)]
        shapes = self._shapes(arrays[0], named) if arrays else {}
        if not shapes:
            return super().forward(*args, **named)
        place = self.__dict__["place"]
        see_inside(NamedResults)
        found = NamedResults()
        for name, shape in shapes.items():
            found.own[name] = box_result(machine, value, arrays, shape, place, self.is_known)
        if named.get("output_hidden_states") or self.config.own.get("output_hidden_states"):
            rows = found.own.get("last_hidden_state")
            found.own["hidden_states"] = (rows,) * (self.config.own["num_hidden_layers"] + 1)
        return tuple(found.own.values()) if named.get("return_dict") is False else found

    def _shapes(self, first: Tensor, named: dict[str, Any]) -> dict[str, list[int]]:
        """Returns the shapes of its results by their names; none for what it does not take."""
        _, value, args, words = self.__dict__["made_of"]
        kind = MODEL.fullmatch(value.name)
        rank, own, name = first.dim(), self.config.own, _name(args, words)
        if kind is None or not 1 < rank < 5:
            return {}
        rows = [int(first.shape[0]), self._length(first, name)]
        head = kind[3]
        found: dict[str, list[int]] = {"loss": []} if named.get("labels") is not None else {}
        if head == "Model":
            found["last_hidden_state"] = [*rows, self.width]
            if kind[2] in POOLED_FAMILIES and not UNPOOLED_NAMES.search(name):
                found["pooler_output"] = [rows[0], self.width]
        elif head == "ForQuestionAnswering":
            found |= {"start_logits": rows, "end_logits": rows}
        elif head in ("ForSequenceClassification", "ForImageClassification"):
            found["logits"] = [rows[0], int(own["num_labels"])]
        else:
            last = "num_labels" if head == "ForTokenClassification" else "vocab_size"
            found["logits"] = [*rows, int(own[last])]
        return found

    @staticmethod
    def _length(first: Tensor, name: str) -> int:
        """Returns the rows of a result for a sample: its words, or its patches and one more."""
        if first.dim() < 4:
            return int(first.shape[1])
        found = PATCH.search(name)
        side = int(found[1]) if found and found[1] else 14 if found else 16
        return int(first.shape[2]) // side * (int(first.shape[3]) // side) + 1

    def __deepcopy__(self, memo: Any) -> LibraryModel:
        return LibraryModel(*self.__dict__["made_of"])

"""Models of the library ``transformers`` in a source give what the library gives."""

from __future__ import annotations

import os
from typing import Any

import pytest
import torch
from torch import Tensor

from ncd.read.python_source.published_models import width_of_name
from ncd.read.python_source.source_reader import read_source

os.environ["HF_HUB_OFFLINE"] = "1"
SMALL = {
    **{"vocab_size": 99, "hidden_size": 32, "intermediate_size": 64},
    **{"num_hidden_layers": 2, "num_attention_heads": 4},
}
OWN = {  # families that name their settings in another way
    "DistilBert": {"vocab_size": 99, "dim": 32, "hidden_dim": 64, "n_layers": 2, "n_heads": 4},
    "GPT2": {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4},
}
HEADS = {
    **{"Model": ("Bert", "Roberta", "DistilBert", "Electra", "GPT2")},
    **{"ForSequenceClassification": ("Bert", "DistilBert"), "ForTokenClassification": ("Bert",)},
    **{"ForQuestionAnswering": ("Roberta",), "ForMaskedLM": ("Bert",), "LMHeadModel": ("GPT2",)},
}
CLASSES = [(family, head) for head, families in HEADS.items() for family in families]
NET = """
import torch
from torch import nn
from transformers import {family}Config, {family}{head}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = {family}{head}({family}Config({words}))
    def forward(self, ids):
        out = self.body(ids, attention_mask=torch.ones_like(ids))
        return {results}
Net()(torch.randint(0, 90, (2, 6)))
"""


def _made(family: str, head: str, settings: dict[str, Any]) -> Any:
    import transformers

    transformers.logging.set_verbosity_error()
    config = getattr(transformers, f"{family}Config")(**settings)
    return getattr(transformers, f"{family}{head}")(config).eval()


@pytest.mark.parametrize(("family", "head"), CLASSES)
def test_a_model_has_the_results_of_the_library(family: str, head: str) -> None:
    settings = OWN.get(family, SMALL)
    theirs = _made(family, head, settings)(torch.arange(12).view(2, 6) + 5)
    arrays = {key: x for key, x in theirs.items() if isinstance(x, Tensor)}
    words = ", ".join(f"{key}={value}" for key, value in settings.items())
    results = ", ".join(f"out.{key}, out[{i}]" for i, key in enumerate(arrays))
    text = NET.format(family=family, head=head, words=words, results=f"{results},")
    shapes = read_source(text).shapes
    assert shapes[::2] == shapes[1::2] == tuple(tuple(x.shape) for x in arrays.values())


LOADED = """
import torch
from torch import nn
from transformers import AutoModel, AutoTokenizer
class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.bert = AutoModel.from_pretrained({name})
        self.head = nn.Linear({width}, n)
    def forward(self, input_ids, attention_mask):
        {line}
        return self.head(x)
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
Net(3)(torch.randint(0, 30522, (2, 16)), torch.ones(2, 16))
"""
CALL = "self.bert(input_ids, attention_mask=attention_mask"


@pytest.mark.parametrize(
    ("line", "shape"),
    [
        (f"x = {CALL}).last_hidden_state", (2, 16, 3)),
        (f"x = {CALL})[0][:, 0]", (2, 3)),
        (f"x = {CALL}).pooler_output", (2, 3)),
        (f'x = {CALL})["pooler_output"]', (2, 3)),
        (f"x = {CALL})[1]", (2, 3)),
        (f"_, x = {CALL}, return_dict=False)", (2, 3)),
        (f"x, = {CALL})[:1]", (2, 16, 3)),
        (f"x = {CALL}, output_hidden_states=True).hidden_states[-2].mean(1)", (2, 3)),
        (f"h = {CALL}, output_hidden_states=True)[2]; x = torch.stack(h[-4:]).sum(0)", (2, 16, 3)),
    ],
)  # fmt: skip
def test_results_are_read_in_every_way(line: str, shape: tuple[int, ...]) -> None:
    text = LOADED.format(name='"bert-base-uncased"', width=768, line=line)
    found = read_source(text)
    assert found.shapes == (shape,) and found.failure is None
    assert "AutoModel is a published model: a box with its results." in found.note


def test_the_width_is_that_of_the_name() -> None:
    names = ("roberta-large", "distilbert-base-cased", "gpt2", "prajjwal1/bert-tiny", "mine")
    assert [width_of_name(name) for name in names] == [1024, 768, 768, 128, 0]
    line = f"x = {CALL}).last_hidden_state"
    own = LOADED.format(name='"roberta-large"', width="self.bert.config.hidden_size", line=line)
    assert read_source(own).shapes == ((2, 16, 3),)
    wrong = read_source(LOADED.format(name='"roberta-large"', width=768, line=line))
    assert "1024" in str(wrong.failure)
    unknown = read_source(LOADED.format(name='"my-model"', width=512, line=line))
    assert unknown.shapes == ((2, 16, 3),)  # that of the next layer


def test_statements_and_settings_of_a_model_are_read() -> None:
    head = "import torch\nfrom transformers import AutoConfig, BertModel, ViTModel\n"
    text = 'bert = BertModel.from_pretrained("bert-base-uncased")\n'
    ids = "out = bert(torch.randint(0, 9, (2, 7))).last_hidden_state"
    assert read_source(f"{head}{text}{ids}").shapes == ((2, 7, 768), (2, 768))
    vit = 'model = ViTModel.from_pretrained("google/vit-base-patch16-224")\n'
    picture = "model(torch.randn(2, 3, 224, 224))"
    assert read_source(f"{head}{vit}{picture}").shapes == ((2, 197, 768), (2, 768))
    config = 'c = AutoConfig.from_pretrained("roberta-large")\nnn.Linear(c.hidden_size, 2)'
    assert read_source(f"{head}{config}\n3x1024").shapes == ((3, 2),)

"""Hostile texts of every kind that Yours reads by itself: terms, JSON, configurations, files."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from html import escape
from itertools import product

import ncd
from ncd.write.term_json import IN_HTML, IN_SVG, svg_with_term

ATTACKS = """
__import__("os").system("id")
open("/etc/passwd").read()
eval("1")
exec("import os")
().__class__.__bases__[0].__subclasses__()
"{0.__class__}".format(1)
f"{open('/etc/passwd')}"
lambda: 0
[x for x in range(10**12)]
(y := 3)
*args
**{"a": 1}
9**9**9
10**400
-1
1e999
True
None
...
b"m:4"
"m:999999999999"
"m:4 " * 10**9
"m:4 m:4"
"m:4x4x4x4x4"
"<script>alert(1)</script>:3"
"m:4#v:999999999999"
"\\u202em:4"
"x" * 60000
{}
[[[[[[]]]]]]
print
Axes
self
await x
yield
not not not 1
""".strip().splitlines()
PLACES = (
    "{}",
    "Id({})",
    'Linear("m:4 -> k:3", {})',
    "Linear({}, 'Q')",
    'Axes(m={})(Id("m"))',
    'Id("m:4") >> {}',
    'Block(Id("m:4"), {})',
    'Map("m:4 -> m", {})',
    '@define(m={})\ndef f(x: "m"):\n    return x',
    "@define\ndef f(x: {}):\n    return x",
    '@define\ndef f(x: "m:4"):\n    y = {}\n    return x',
    "einsum({}, x, y)",
    'torch.einsum("ij,jk->ik", {}, torch.randn(2, 3))',
    'rearrange(x, "a b -> b a", a={})',
)
LARGE = (
    "(" * 50_000,
    "Id('m')" + " >> Id('m')" * 6000,
    "Id('m')" + " @ Id('m')" * 6000,
    "-" * 50_000 + "1",
    f"Id({'m' * 59_000!r})",
    f"Id({' '.join(f'a{i}' for i in range(9000))!r})",
    'Repeat((Linear("m:4 -> m", "W"),) * 10**9)',
    'Repeat((Linear("m:4 -> m", "W"),) * 49999)',
    'Scan(Id("n:2, n") >> Id("n, n"), "t:999999999")',
    f"{', '.join('a b' for _ in range(5000))} -> a",
    f"{' '.join('abcdefgh' * 900)} -> a",
    'torch.einsum("ij->i", torch.randn(10**9, 10**9))',
    'torch.einsum("ij->i", torch.randn(999999999, 999999999))',
    f'torch.einsum("{"a" * 9000}->a", x)',
    'Map("m:4 -> m", "' + "(" * 9000 + '")',
    'Map("m:4 -> m", "' + "+".join(["$1"] * 9000) + '")',
    "\0",
    "\ud800",
    "",
)
VALUES = (
    *(None, True, -1, 0, 1e308, 10**30, 10**5, "m", "", [], {}, [[]], "<b>", "__class__"),
    *("x" * 5000, "m:999999999999", 0.5, {"term": "Id", "type": "m"}, ["m"] * 5000),
)
FIELDS = (
    *("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "head_dim"),
    *("num_attention_heads", "num_key_value_heads", "max_position_embeddings", "rope_theta"),
    *("sliding_window", "num_local_experts", "hidden_act"),
)
LLAMA = {
    **{"vocab_size": 99, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2},
    **{"num_attention_heads": 4, "max_position_embeddings": 64},
}


def terms() -> Iterator[str]:
    """Yields hostile texts in the language, and lines of PyTorch, einsum and einops."""
    yield from (place.format(attack) for place, attack in product(PLACES, ATTACKS))
    yield from LARGE


def data() -> Iterator[str]:
    """Yields hostile JSON: a term with another value in each place, and what is nested deep."""
    good = json.loads(ncd.to_json(ncd.catalogue["residual-block"].build()))
    for value in VALUES:
        yield from map(json.dumps, _replaced(good, value))
    yield '{"a":' * 20_000 + "1" + "}" * 20_000
    yield '{"term": "Block", "body": ' * 900 + '{"term": "Id", "type": "m"}' + "}" * 900
    yield '{"term": "Id", "type": NaN}'
    yield '{"term": "Id", "type": ' + "9" * 50_000 + "}"
    yield '{"term": "Beside", "parts": [' + ",".join(['{"term":"Id","type":"m"}'] * 2000) + "]}"


def _replaced(value: object, other: object) -> Iterator[object]:
    """Yields an object with one of its parts replaced, for each of the first parts."""
    yield other
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from ({**value, key: new} for new in _replaced(part, other))
    if isinstance(value, list):
        for i, part in enumerate(value[:2]):
            yield from ([*value[:i], new, *value[i + 1 :]] for new in _replaced(part, other))


def configurations() -> Iterator[str]:
    """Yields hostile configurations of published models."""
    for kind in ("llama", "mixtral", "gemma2", "t5", "<b>", "__class__", "x" * 5000):
        for name, value in product(FIELDS, VALUES[: 19 if kind == "llama" else 6]):
            yield json.dumps({"model_type": kind, **LLAMA, name: value})
    yield '{"model_type": "llama", "hidden_size": ' + "9" * 50_000 + "}"
    yield '{"model_type": ' * 9000


def files() -> Iterator[str]:
    """Yields hostile SVG and HTML files: with hostile JSON as their term, and broken ones."""
    for i, text in enumerate(data()):
        if i % 2:
            yield f"<svg>{IN_SVG[0]}{escape(text)}{IN_SVG[1]}</svg>"
        else:
            yield f"<!doctype html>{IN_HTML[0]}{text}{IN_HTML[1]}<p>"
    yield '<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;">]><svg>&c;</svg>'
    yield '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><metadata>&b;</metadata>'
    yield "<metadata>" * 5000
    yield f"{IN_HTML[0]}" * 1000 + "</script>"
    yield f"<svg>{IN_SVG[0]}{'&amp;' * 9000}{IN_SVG[1]}"
    yield "<svg onload='alert(1)'><script>alert(1)</script></svg>"


KINDS = {"text": terms, "json": data, "config": configurations, "file": files}


def mutations(count: int) -> Iterator[str]:
    """Yields good texts of every kind with a few random mistakes, always the same ones."""
    draw = random.Random(0)
    term = ncd.catalogue["scaled-dot-product-attention"].build()
    good = (
        ncd.spell(ncd.catalogue["multi-head-attention"].build()),
        ncd.spell(term, "lines"),
        ncd.to_json(term),
        json.dumps({"model_type": "llama", **LLAMA}),
        svg_with_term("<svg></svg>", term),
        'torch.einsum("bid,bjd->bij", torch.randn(2, 5, 8), torch.randn(2, 6, 8))',
        'rearrange(x, "b (h w) c -> b h w c", h=4)\n2x16x3',
    )
    for i in range(count):
        text = good[i % len(good)]
        words = text.split()
        for _ in range(draw.randint(1, 4)):
            at, end = draw.randrange(len(text)), draw.randrange(1, 12)
            put = draw.choice([draw.choice(words), chr(draw.randrange(32, 127)), "", "\n", "10**9"])
            text = text[:at] + put + text[at + end :]
        yield text

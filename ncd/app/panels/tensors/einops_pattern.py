"""An einops line applied to six pictures, and the lines that a visitor types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from urllib.parse import quote
from zlib import crc32

import einops
import streamlit as st
import torch
from torch import Tensor

import ncd
from ncd.app.panels.tensors.einops_shape_check import (
    MAX_NUMBERS,
    CheckedLine,
    Shape,
    checked_line,
    run_call,
)
from ncd.app.parts import html_panel
from ncd.app.parts.heatmap import Mosaic, mosaic
from ncd.app.scene import own_entry
from ncd.app.scene.own_entry import reading
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state import knobs
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Choice, TextControl
from ncd.app.state.link_text import compress_text
from ncd.errors import NCDError
from ncd.explain.equation_proof import max_difference
from ncd.site import markup
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs import picture_inputs
from ncd.systems.tensors.einops_patterns import (
    CALLS,
    LONGEST,
    REDUCTIONS,
    TEXTS,
    CallError,
    EinopsCall,
    EinopsLine,
    line_entry,
    shapes,
    term,
)

# --- Links from a line of einops to the page Yours, which has no six pictures but any shape


def yours_page_link(text: str) -> str:
    """Returns a link for a line that is not on the pictures, if Yours can read it.

    >>> "yours?text=" in yours_page_link("b i d, b j d -> b i j"), yours_page_link("b i (")
    (True, '')
    """
    words = "This line is not on the six pictures. Yours draws it, with any shape"
    return f"<p>{words}: {_link(text, 'open it there')}.</p>" if _readable(text) else ""


def shaped_html(text: str, shape: Shape) -> str:
    """Returns a link to the same line on an array of a shape that can be changed."""
    own = f"{text.strip()}\n{'x'.join(map(str, shape))}"
    words = "On an array of your own, or as an einsum"
    return f"<p>{words}: {_link(own, 'in Yours')}.</p>" if _readable(own) else ""


def _readable(text: str) -> bool:
    try:
        reading(text)
    except (NCDError, RecursionError):
        return False
    return True


def _link(text: str, words: str) -> str:
    address = f"{own_entry.CUSTOM_PAGE}?{own_entry.TEXT_KEY}={quote(compress_text(text))}"
    return f'<a href="{address}">{words}</a>'


# --- An einops line applied to six pictures by einops and by its diagram, forward and backward

COLOURS = 3  # red, green and blue


@dataclass(frozen=True)
class PatternResult:
    """Input, output (a number without a picture), and the gradient of the output's sum.

    ``max_differences`` is the largest difference between the diagram's results and einops'.
    """

    input_mosaic: Mosaic
    result: Mosaic | None
    number: float
    gradient: Mosaic
    extremes: tuple[float, float]
    total: float
    max_differences: tuple[float, float]


def batch(b: int, h: int, w: int, c: int) -> Tensor:
    """Returns b pictures, (b, h, w, c) between 0 and 1; after the sixth they repeat."""
    few = [picture_inputs.sample(name).pixels(c, h, w, 0) for name in picture_inputs.SIX[:b]]
    return torch.stack([few[i % len(few)] for i in range(b)]).permute(0, 2, 3, 1).contiguous()


def input_array(name: str, sizes: dict[str, int]) -> Tensor:
    """Returns the array of a name: ``ims``, ``x`` (channels first) or ``y`` (its depth).

    >>> input_array("y", {"b": 2, "h": 4, "w": 6, "c": 3}).shape
    torch.Size([2, 12, 2, 3])
    """
    ims = batch(**sizes)
    if name == "ims":
        return ims
    x = einops.rearrange(ims, "b h w c -> b c h w").contiguous()
    if name == "x":
        return x
    return einops.rearrange(x, "b c (h h1) (w w1) -> b (h1 w1 c) h w", h1=2, w1=2).contiguous()


def outcome(text: str, found: CheckedLine, sizes: dict[str, int], device: str) -> PatternResult:
    """Runs a line with einops and as a term."""
    written = found.parsed_line
    leaf = input_array(written.input_name, sizes).to(device)
    ways = []
    module = ncd.compile(term(text, sizes), device=device)
    for run in (lambda tensor: _einops(written, tensor), module):
        own = leaf.clone().requires_grad_()
        result = run(own)
        ways.append((result.detach(), *torch.autograd.grad(result.sum(), own)))
    (result, gradient), (ours, back) = ways
    colours = colour_axes(found)
    seen, slope = (t[0] if written.uses_first_image else t for t in (leaf, gradient))
    return PatternResult(
        _picture(seen, colours[0]),
        _picture(result, colours[-1]) if result.ndim else None,
        float(result.sum()),
        _picture(slope, colours[0]),
        (float(slope.min()), float(slope.max())),
        float(slope.sum()),
        (max_difference(result, ours), max_difference(gradient, back)),
    )


def _einops(written: EinopsLine, tensor: Tensor) -> Tensor:
    tensor = tensor[0] if written.uses_first_image else tensor
    for call in written.calls:
        tensor = run_call(call, tensor)
    return tensor


def _picture(tensor: Tensor, colours: int | None) -> Mosaic:
    return mosaic(tensor.float().cpu().numpy(), colours)


def colour_axes(found: CheckedLine) -> tuple[int | None, ...]:
    """Returns the position of the colour axis before and after each call, or None if it is merged.

    >>> from ncd.app.panels.tensors.einops_shape_check import checked_line
    >>> sizes = {"b": 2, "h": 4, "w": 6, "c": 3}
    >>> colour_axes(checked_line('rearrange(ims, "b h w c -> c h (b w)")', sizes))
    (3, 0)
    """
    at: int | None = 1
    if found.parsed_line.input_name == "ims":
        at = 2 if found.parsed_line.uses_first_image else 3
    places = [at]
    for call, shape in zip(found.parsed_line.calls, found.shapes, strict=False):
        left, right = call.sides(len(shape))
        parts = left[at][-1:] if at is not None else ()
        at = right.index(parts) if parts and parts in right else None
        places.append(at)
    return tuple(
        at if at is not None and shape[at] == COLOURS else None
        for at, shape in zip(places, found.shapes, strict=True)
    )


# --- what could come out --------------------------------------------------------------------------


def choices(text: str, found: CheckedLine) -> tuple[Shape, ...]:
    """Returns the right shape among three wrong ones, in a fixed pseudo-random order.

    >>> from ncd.app.panels.tensors.einops_shape_check import checked_line
    >>> text = 'reduce(ims, "b h w c -> h w c", "mean")'
    >>> choices(text, checked_line(text, {"b": 6, "h": 8, "w": 9, "c": 3}))
    ((8, 9, 3), (8, 3, 9), (9, 8, 3), (6, 8, 9, 3))
    """
    right = found.shapes[-1]
    every = dict.fromkeys(_plausible(right, found.shapes[-2]))
    wrong = [shape for shape in every if shape != right][:3]
    return tuple(sorted((right, *wrong), key=lambda shape: crc32(f"{shape} {text}".encode())))


def _plausible(right: Shape, before: Shape) -> Iterator[Shape]:
    """Yields likely wrong answers: unchanged, axes exchanged, one too many or too few."""
    if len(right) > 1:
        yield (right[1], right[0], *right[2:])
        yield (*right[:-2], right[-1], right[-2])
    yield before
    yield right[:-1]
    yield (*right, 1)
    yield (1, *right)
    yield (prod(right) + 1,)
    yield (2, *right)


# --- The Pattern panel: an einops line applied to six pictures, after a question about its shape

OWN, ASKING = TextControl("call", longest=300), Choice("asking", ("on", "off"), "off")
# session keys; BESIDE: the example shown while typing
FIELD, BESIDE, SAID = "call field", "call beside", "said shape"
FIT = {"b": 6, "h": 96, "w": 96, "c": 3}
STYLE = """<style>
.einops { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); }
.einops { gap: 0.4rem 1.8rem; align-items: start; }
.einops figure { margin: 0 0 0.6rem; }
.einops img { display: block; max-width: 100%; height: auto; border-radius: 3px; }
.einops img { image-rendering: pixelated; }
.einops img { outline: 1px solid var(--st-border-color); outline-offset: -1px; }
.einops .asked { min-height: 10rem; }
.ways { display: flex; flex-wrap: wrap; gap: 0.4rem 0.5rem; margin: 0 0 1rem; }
.wrong { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0.3rem 0 0.6rem; }
.wrong mark { background: color-mix(in srgb, #e5484d 22%, transparent); color: inherit; }
.wrong mark { border-bottom: 2px solid #e5484d; }
@container (max-width: 600px) { .einops { grid-template-columns: minmax(0, 1fr); } }
</style>"""


def typed_entry(entry: Entry) -> Entry:
    """Returns the entry of the page's line: one that is typed and right is its diagram."""
    settings = knobs.current(entry)
    text = _text(settings["pattern"])
    if text in TEXTS:
        return entry
    try:
        checked_line(text, {name: settings[name] for name in FIT})
    except CallError:
        return entry
    return line_entry(text)


def show_einops_pattern(scene: Scene) -> None:
    """Shows the line and its effect on the pictures."""
    text = _text(scene.settings["pattern"])
    if st.session_state.get(FIELD) != text:
        st.session_state[FIELD] = text
    st.text_input(
        "A line of einops, on `ims`, `ims[0]`, `x` or `y`: write your own",
        key=FIELD,
        max_chars=LONGEST,
        on_change=_store_line,
    )
    sizes = {name: scene.settings[name] for name in FIT}
    count = max(map(prod, shapes(**sizes).values()))
    try:
        html = _too_large(count) if count > MAX_NUMBERS else _line_html(scene, text, sizes)
    except CallError as error:
        html = _error_html(error, text)
    html_panel.render(f"{STYLE}{_examples(text)}{html}", "einops", (ASKING,), _pick)


EINOPS_PATTERN = Panel("Pattern", show_einops_pattern, controls=(OWN, ASKING))


# --- the line -------------------------------------------------------------------------------------


def _text(example: int) -> str:
    """Returns the typed line of this example, or the example."""
    if st.session_state.get(BESIDE, example) != example:
        OWN.put("")
    st.session_state[BESIDE] = example
    return OWN.value or TEXTS[example]


def _store_line() -> None:
    """Stores the typed line, or chooses the example with the same line; a callback."""
    text = str(st.session_state[FIELD]).strip()
    if text in TEXTS:
        knobs.set_values({"pattern": TEXTS.index(text)})
        text = ""
    OWN.put(text)


def _examples(text: str) -> str:
    """Returns the example lines as buttons."""
    buttons = "".join(
        f'<button type="button" class="plain" data-pick="pattern={i}" title="{markup.text(line)}" '
        f'aria-pressed="{str(line == text).lower()}">{name}</button>'
        for i, (name, line) in enumerate(CALLS.items())
    )
    return f'<div class="ways" role="group" aria-label="From the document">{buttons}</div>'


def _pick(value: str) -> None:
    name, _, said = value.partition("=")
    if name == "pattern" and said in map(str, range(len(TEXTS))):
        knobs.set_values({"pattern": int(said)})
        OWN.put("")
    elif name == "shape":
        st.session_state[SAID] = said
    elif name == "fit":
        knobs.set_values(FIT)


# --- what is wrong --------------------------------------------------------------------------------


def _too_large(count: int) -> str:
    fit = " · ".join(f"{name} {n}" for name, n in FIT.items())
    return (
        f'<p role="status">The pictures would be {count:,} numbers, and up to '
        f"{MAX_NUMBERS:,} are shown "
        f'here.</p><p><button type="button" class="plain" data-pick="fit=1">{fit}</button></p>'
    )


def _error_html(error: CallError, text: str) -> str:
    """Returns the line with its error marked, our explanation, and einops' message."""
    cure = f" Try {markup.text(error.cure)}." if error.cure else ""
    fact = f"{error.fact[:1].upper()}{error.fact[1:]}"
    theirs = ""
    if error.message:
        theirs = (
            '<p class="muted">einops itself says:</p>'
            f'<div class="code wrong">{markup.text(error.message)}</div>'
        )
    return (
        f'<div class="code wrong">{_marked_line(text, error)}</div>'
        f'<p role="status"><b>{markup.text(fact)}.</b>{cure}</p>{yours_page_link(text)}{theirs}'
    )


def _marked_line(text: str, error: CallError) -> str:
    parts, at = [], 0
    for start, end in sorted(error.spans):
        if start >= at:
            parts += [
                markup.text(text[at:start]),
                f"<mark>{markup.text(text[start:end])}</mark>",
            ]
            at = end
    return "".join((*parts, markup.text(text[at:])))


# --- what it does ---------------------------------------------------------------------------------


def _line_html(scene: Scene, text: str, sizes: dict[str, int]) -> str:
    """Returns the pictures, and the question or the result; raises CallError."""
    found = checked_line(text, sizes)
    made = cached_value(
        "einops",
        scene.term,
        text,
        scene.device,
        make=lambda: scene.run_in_pool(lambda: outcome(text, found, sizes, scene.device)),
    )
    name = found.parsed_line.input_name + ("[0]" if found.parsed_line.uses_first_image else "")
    left = _figure(
        made.input_mosaic, f"<code>{name}</code>: shape <b>{_shape_text(found.shapes[0])}</b>"
    )
    question = str(crc32(f"{text} {sizes}".encode()))
    mine, _, answered = str(st.session_state.get(SAID, "")).partition(" of ")
    if answered != question and ASKING.value == "on":
        return f'<div class="einops">{left}{_question_html(choices(text, found), question)}</div>'
    answer = _answer(mine if answered == question else "", _shape_text(found.shapes[-1]))
    shaped = shaped_html(text, found.shapes[0])
    return (
        f'<div class="einops">{left}<div class="asked">{answer}{_result(made, found)}</div></div>'
        f"{_ask_again_button()}{shaped}{_steps(found)}{_backwards(made, name)}"
    )


def _shape_text(shape: Shape) -> str:
    return " ".join(map(str, shape)) or "()"


def _figure(seen: Mosaic, title: str) -> str:
    wide, high = seen.size
    return (
        f"<figure><figcaption>{title}</figcaption>"
        f'<img alt="" src="{seen.address}" width="{wide}" height="{high}">'
        f'<figcaption class="muted">{seen.description}</figcaption></figure>'
    )


def _question_html(ways: tuple[Shape, ...], question: str) -> str:
    buttons = "".join(
        f'<button type="button" class="plain" data-pick="shape={_shape_text(way)} of {question}">'
        f"{_shape_text(way)}</button>"
        for way in ways
    )
    return (
        '<div class="asked"><p><b>Which shape comes out?</b></p>'
        f'<div class="ways">{buttons}</div>'
        f'<p><button type="button" class="plain" data-pick="shape= of {question}">Show it</button> '
        f"{ASKING.button('off', 'Always show it')}</p></div>"
    )


def _ask_again_button() -> str:
    """Returns a button that asks the question again."""
    return "" if ASKING.value == "on" else f"<p>{ASKING.button('on', 'Ask me first')}</p>"


def _answer(mine: str, right: str) -> str:
    if not mine:
        return ""
    sign = "✓ Right" if mine == right else f"✗ Not {markup.text(mine)}"
    return f'<p role="status">{sign}: it is <b>{right}</b>.</p>'


def _result(made: PatternResult, found: CheckedLine) -> str:
    title = f"What comes out: shape <b>{_shape_text(found.shapes[-1])}</b>"
    if made.result is None:
        return f"<p>{title}, the number <b>{markup.digits(made.number)}</b></p>"
    return _figure(made.result, title)


def _steps(found: CheckedLine) -> str:
    """Returns every call, with the source of each axis of its result."""
    rows = [
        f"<tr><td><code>{_call_html(call)}</code></td><td>{_lengths(call, before)}</td>"
        f'<td class="number">{_shape_text(after)}</td></tr>'
        for call, before, after in zip(
            found.parsed_line.calls, found.shapes, found.shapes[1:], strict=False
        )
    ]
    return markup.table(("Call", "Each axis", "Shape"), rows, numbers=(2,))


def _call_html(call: EinopsCall) -> str:
    name = f"reduce, {call.operation}" if call.operation in REDUCTIONS else call.operation
    return f"{name}: {markup.text(call.pattern)}"


def _lengths(call: EinopsCall, shape: Shape) -> str:
    """Returns the lengths of the result's axes: (b w) = 6 · 96 = 576."""
    sizes = call.sizes(shape)
    said = []
    for parts in call.sides(len(shape))[1]:
        names = " ".join(markup.text(part.text) for part in parts)
        lengths = [sizes[part] for part in parts]
        if len(parts) == 1:
            said.append(f"{names} = {lengths[0]}" if names != str(lengths[0]) else names)
        elif parts:
            said.append(f"({names}) = {' · '.join(map(str, lengths))} = {prod(lengths)}")
        else:
            said.append("1")
    return ", ".join(said) or "none is left"


def _backwards(made: PatternResult, name: str) -> str:
    """Returns the gradient of the sum of the output, and whether it matches the diagram's."""
    low, high = map(markup.digits, made.extremes)
    each = f"{low}, everywhere" if low == high else f"from {low} to {high}, as below"
    ahead, back = map(markup.digits, made.max_differences)
    told = (
        "<h2>Backwards</h2><p>The gradient of the sum of all that comes out, for each number of "
        f"<code>{name}</code>: <b>{each}</b>. In all that is {_number_text(made.total)}. "
        '<span class="muted">The diagram, run as a term, and einops are '
        f"{ahead} apart in what comes out, and {back} in this gradient.</span></p>"
    )
    if low == high:
        return told
    return f'{told}<div class="einops">{_figure(made.gradient, "The gradient")}</div>'


def _number_text(number: float) -> str:
    return f"{number:,.0f}" if abs(number - round(number)) < 1e-3 else markup.digits(number)

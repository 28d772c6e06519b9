"""Axes, arrays and signatures as text; sizes given to a sketch; knobs and their bounds."""

from __future__ import annotations

from inspect import Parameter, signature

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ncd
from ncd import Array, Axes, Axis, Entry, Id, Knob, Linear, Signature, Type, plain, seq, space
from ncd.language.axes import Dim
from ncd.language.patterns import Binding, match_or_raise
from ncd.language.terms import missing_axes
from tests.support.sampling import sample
from tests.support.strategies import types

ENTRIES = pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)
NAMES = st.sampled_from(["m", "y", "n_0", "2c", "x/s", "λ", "c_12"])
SIZES = st.none() | st.integers(1, 999) | st.tuples(st.integers(1, 99), st.integers(1, 99))
LABELS = st.sampled_from(["", "3 3", "c_{5-λ}", "28²"])
AXIS = st.builds(Axis, NAMES, SIZES, st.booleans(), LABELS)


# --- text ----------------------------------------------------------------------------------------


@given(AXIS)
def test_an_axis_is_what_its_text_says(axis: Axis) -> None:
    assert Axis.parse(axis.spec) == axis
    assert axis.identifier.isidentifier()


@given(types())
def test_a_type_is_what_its_text_says(dom: Type) -> None:
    assert Type.parse(dom.spec) == dom
    assert eval(repr(dom), vars(ncd)) == dom
    assert hash(Type.parse(dom.spec)) == hash(dom)
    signature = Signature(dom, dom[:1] and Type(dom[:1]))
    assert Signature.parse(signature.spec) == signature


def test_arrays_without_axes() -> None:
    assert Type.parse("") == Type()
    assert Type.parse("()") == Type((Array(),))
    assert Array.parse("()").shape == ()
    assert Signature.parse("k, k ->").cod == Type((Array(),))


def test_dimensions_count_from_the_end_so_that_a_batch_may_stand_in_front() -> None:
    array = Array.parse("b:2 x:4x5 c:3")
    assert [array.position(name) for name in "bxc"] == [(-4,), (-3, -2), (-1,)]
    assert (array.shape, array.numel) == ((2, 4, 5, 3), 120)
    assert array.dims == (Dim("b", 0, 2), Dim("x", 1, 4), Dim("x", 2, 5), Dim("c", 0, 3))


def test_an_array_may_hold_whole_numbers() -> None:
    array = Array.parse("y:5#v:100")
    assert (array.names, array.shape, array.below) == (("y",), (5,), Axis("v", 100))
    assert str(array) == "y#v"
    assert array != Array.parse("y:5")
    assert Array.parse("()#2").below == Axis("2", 2)
    term = Axes(y=5, v=100)(Id("y#v"))
    assert term.dom == Type((array,))


def test_a_number_is_its_own_size() -> None:
    assert Type.parse("3, 4 2")[1].shape == (4, 2)
    assert Array.parse("3").spec == "3"


def test_names_that_look_alike_in_torch_are_not_one_axis() -> None:
    array = Array.parse("2c:3 n2c:3 x/s:2 x_s:2 x:2x2 x_h:2")
    assert len({dim.key for dim in array.dims}) == 7


# --- sizes for a sketch --------------------------------------------------------------------------


@given(st.integers(1, 50), st.integers(1, 50), st.integers(1, 50))
def test_sizes_reach_every_place_where_the_name_stands(y: int, m: int, k: int) -> None:
    term = Axes(y=seq(y), m=m, k=k)(Id("y m") >> Linear("m -> k", "Q"))
    assert (term.dom[0].shape, term.cod[0].shape) == ((y, m), (y, k))
    assert term.dom[0][0].sequence
    assert not term.dom[0][1].sequence


def test_a_space_is_two_dimensions_and_one_wire() -> None:
    term = Axes(x=space(4, 6))(Id("x"))
    assert (len(term.dom[0]), term.dom[0].shape) == (1, (4, 6))
    assert term.dom[0][0].size_text == "4×6"


@given(types())
def test_sizes_that_are_there_already_stay(dom: Type) -> None:
    assert Axes()(Id(dom)) == Id(dom)


def test_a_table_of_sizes_serves_many_sketches() -> None:
    sizes = Axes(y=2, m=3)
    assert str(sizes(Id("y")).dom[0].shape) == "(2,)"
    assert str(sizes(Id("m")).dom[0].shape) == "(3,)"


def test_a_size_may_be_a_formula_of_others() -> None:
    term = Axes(k=16, h=4, d="k*h", n_1=64, n_b="n_1/4")(Id("d n_b n_1 k h"))
    assert term.dom[0].shape == (64, 16, 64, 16, 4)
    assert Axes(d=seq("2*k", label="d²"), k=3)(Id("d k")).dom[0][0] == Axis("d", 6, True, "d²")


def test_a_size_follows_through_the_whole_term() -> None:
    term = Axes(m=8, h=2, k=3)(Id("m") >> Linear("m -> d", "Q") >> ncd.Split("d -> h k"))
    assert term.steps[1].cod[0].shape == (6,)


def test_a_label_is_shown_in_place_of_a_name() -> None:
    term = Axes(c=plain(64, label="c_{5-λ}"))(Id("c"))
    assert (term.dom[0][0].label, term.dom.spec) == ("c_{5-λ}", 'c"c_{5-λ}":64')


# --- knobs ---------------------------------------------------------------------------------------


@st.composite
def knobs(draw: st.DrawFn) -> Knob:
    low = draw(st.integers(-20, 20))
    high = low + draw(st.integers(0, 40))
    multiple = draw(st.integers(1, 7))
    least = draw(st.none() | st.integers(-30, low))
    most = draw(st.none() | st.integers(high + multiple, 100))
    return Knob("k", low, high, low, draw(st.integers(1, 7)), least=least, most=most,
                multiple=multiple)  # fmt: skip


def legal(knob: Knob) -> list[int]:
    """What it can be, as far as 150."""
    least = knob.min if knob.least is None else knob.least
    most = 150 if knob.most is None else knob.most
    return [value for value in range(least, most + 1) if value % knob.multiple == 0]


@given(knobs(), st.integers(-100, 100))
def test_the_nearest_value_on_the_slider_and_none_is_nearer(knob: Knob, value: int) -> None:
    allowed = range(knob.min, knob.max + 1, knob.step)
    nearest = knob.nearest(value)
    assert nearest in allowed
    assert abs(nearest - value) == min(abs(other - value) for other in allowed)


@given(knobs(), st.integers(-100, 120))
def test_a_value_is_legal_or_refused_with_the_nearest_that_is(knob: Knob, value: int) -> None:
    if value in legal(knob):
        assert knob.check(value) == value
        return
    with pytest.raises(ncd.SizeError) as caught:
        knob.check(value)
    nearest = caught.value.nearest
    assert str(caught.value).endswith(f"{knob.limits}. Try k = {nearest}.")
    assert knob.check(nearest) == nearest
    assert abs(nearest - value) == min(abs(other - value) for other in legal(knob))


def test_a_size_beyond_the_slider_is_legal() -> None:
    term = ncd.catalogue["multi-head-attention"].build(y=512, m=12288, h=96)
    assert term.dom[0].shape == (512, 12288)
    assert ncd.cost(term).parameters == 4 * 12288 * 96 * 16


# --- the catalogue -------------------------------------------------------------------------------


@ENTRIES
def test_an_entry_builds_at_its_bounds_and_beyond_its_sliders(entry: Entry) -> None:
    legal = [
        (knob.name, value)
        for knob in entry.knobs
        for value in (knob.bounds[0], knob.min, knob.max, knob.legal(10 * knob.max))
    ]
    for name, value in sample(legal, 4, entry.name):
        try:
            entry.build(**entry.with_clamped_indexes(entry.settings({name: value})))
        except ncd.SizeError as error:  # what one size may be can depend on another
            assert error.cure, (name, value)
    for knob in entry.knobs:
        least, most = knob.bounds
        for value in (least - 1, *([] if most is None else [most + 1])):
            with pytest.raises(ncd.SizeError, match=rf"^{knob.name} is {value}, but it "):
                entry.build(**{knob.name: value})


@ENTRIES
def test_a_preset_is_one_of_the_entry_and_has_a_source(entry: Entry) -> None:
    for preset in entry.presets:
        assert entry.preset(preset.name) is preset
        assert preset.source


@pytest.mark.few(25)
@ENTRIES
def test_a_preset_is_built(entry: Entry) -> None:
    for preset in sample(entry.presets, 1, entry.name):
        cost = ncd.cost(entry.build(**preset.knobs))
        assert cost.bytes > 0  # FLOPs only where it multiplies, which sampling and pooling do not


def test_the_presets_are_the_published_sizes() -> None:
    entry = ncd.catalogue["multi-head-attention"]
    weights = {p.name: ncd.cost(entry.build(**p.knobs)).parameters for p in entry.presets}
    assert weights == {  # four square maps each
        "transformer-base": 4 * 512**2,
        "transformer-big": 4 * 1024**2,
        "gpt-2-small": 4 * 768**2,
        "llama-3-8b": 4 * 4096**2,
        "vit-b-16": 4 * 768**2,
    }


def test_an_entry_that_states_its_type_is_held_to_it() -> None:
    def system(m: int) -> ncd.Term:
        return Axes(m=m, k=2)(Linear("m -> k", "Q"))

    knobs = (Knob("m", 1, 9, 3),)
    right = Entry("a", "A", "here", knobs, system, type="m -> k")
    assert right.build(m=4).cod[0].shape == (2,)
    wrong = Entry("a", "A", "here", knobs, system, type="m -> n")
    with pytest.raises(ncd.MismatchError, match=r"^a: it gives \(k\), but its type says \(n\)"):
        wrong.build()


@pytest.mark.catalogue
def test_the_menu_is_the_sections_of_the_catalogue() -> None:
    sections = ncd.catalogue.sections
    assert [e for entries in sections.values() for e in entries] == list(ncd.catalogue.values())
    assert [e.name for e in sections["Images"]][1:3] == ["lenet", "vgg"]
    assert "" not in sections


@ENTRIES
def test_an_entry_says_what_it_is(entry: Entry) -> None:
    assert ncd.catalogue[entry.name] is entry
    assert entry.name == entry.name.lower()
    assert entry.title
    assert entry.source
    assert entry.system.__doc__
    for knob in entry.knobs:
        assert knob.bounds[0] <= knob.min <= knob.default <= knob.max
        assert (knob.check(knob.min), knob.check(knob.max)) == (knob.min, knob.max)
        assert knob.nearest(knob.default) == knob.default
        assert knob.nearest(knob.max) == knob.max
        assert knob.help
    assert entry.settings({}) == {knob.name: knob.default for knob in entry.knobs}


@ENTRIES
def test_a_default_of_the_function_is_that_of_the_knob(entry: Entry) -> None:
    settings, parameters = entry.settings({}), signature(entry.system).parameters
    assert set(settings) <= set(parameters)
    for name, default in settings.items():
        assert parameters[name].default in (default, Parameter.empty)


def test_the_catalogue_is_a_mapping() -> None:
    assert len(ncd.catalogue) == len(list(ncd.catalogue)) == len(ncd.catalogue.values())
    assert "nothing" not in ncd.catalogue
    assert {"multi-head-attention", "scaled-dot-product-attention", "residual-block"} <= set(
        ncd.catalogue
    )


def test_an_index_beyond_its_axis_is_refused_by_its_own_name() -> None:
    with pytest.raises(ncd.SizeError, match=r"^i is 3, .* 2 at most here. Try i = 2"):
        ncd.catalogue["indexes"].build(a=3, i=3)


def test_an_axis_is_a_sequence_where_one_of_its_names_says_so() -> None:
    for one, two in ((True, False), (False, True)):
        binding = Binding()
        binding.unify(Axis("x", sequence=one), Axis("x", 3, sequence=two))
        assert binding["x"] == Axis("x", 3, sequence=True)
        binding.unify(Axis("x"), Axis("x", 3))
        assert binding["x"].sequence


@pytest.mark.parametrize(
    ("array", "pattern", "added"),
    [
        ("k", "m k", ("m", "()")),
        ("k", "k m", ("()", "m")),
        ("k", "a k b", ("a", "b")),
        ("z k", "m k", None),  # it has another axis where m would stand
        ("k z", "k m", None),
        ("a b", "a m b", None),  # in the middle
        ("m k", "m k", None),
    ],
)
def test_axes_that_an_array_lacks_are_added_at_its_ends_alone(
    array: str, pattern: str, added: tuple[str, str] | None
) -> None:
    found = missing_axes(Array.parse(array), Array.parse(pattern))
    assert (found and tuple(map(str, found))) == added


@pytest.mark.parametrize("any_kind", [False, True])
def test_arrays_of_one_kind_meet_and_a_pattern_of_any_kind_takes_whole_numbers(
    any_kind: bool,
) -> None:
    kinds = ("y m", "y m#v")
    met = set()
    for pattern in kinds:
        for array in kinds:
            try:
                match_or_raise(
                    Array.parse(pattern), Array.parse(array), Binding(), any_kind=any_kind
                )
            except ncd.MismatchError:
                continue
            met.add((pattern, array))
    assert met == {*zip(kinds, kinds, strict=True), *([kinds] if any_kind else [])}

"""What a screen reader says of a drawing: its title, and every op in order."""

from __future__ import annotations

import pytest

from ncd import Block, Id, Linear, Repeat, Scan, Softmax, Term, Wire, elaborate
from ncd.drawing.alt_text import describe

W, V, S = Linear("m:2 -> m:2", "W"), Linear("m:2 -> m:2", "V"), Softmax("m")
MAP = "earned linear map W, m to m, gives w"
LAST = "earned linear map V, m to m, gives v"
SHARES = "oftmax along m: the weights sum to 1 over m, gives weights"
PLAIN = "Neural circuit diagram"


@pytest.mark.parametrize(
    ("term", "title", "says"),
    [
        (Id("m:2"), PLAIN, "Nothing is done."),
        (W, PLAIN, f"L{MAP}."),
        (W >> S, PLAIN, f"L{MAP}; s{SHARES}."),
        (Block(W, "A"), "A", f"A: l{MAP}."),
        (Block(W, "A") >> Block(S, "B"), "A and B", f"A: l{MAP}. B: s{SHARES}."),
        (
            Block(W, "A") >> Block(S, "B") >> Block(V, "C"),
            "A to C",
            f"A: l{MAP}. B: s{SHARES}. C: l{LAST}.",
        ),
        (Block(W, "A") >> Block(V, "A"), "A", f"A: l{MAP}. A: l{LAST}."),
        (Block(W, "A $x_1$"), "A x_1", f"A x_1: l{MAP}."),
        (Block(W >> S, " "), PLAIN, f"L{MAP}; s{SHARES}."),
        (W >> Block(S, "B") >> V, "B", f"L{MAP}. B: s{SHARES}. L{LAST}."),
        (
            Block(Block(W, "A") >> Block(S, "B"), "Whole"),
            "Whole",
            f"Whole begins. A: l{MAP}. B: s{SHARES}. End of Whole.",
        ),
        (
            Block(W >> Block(S, "In"), "Out"),
            "Out",
            f"Out begins. L{MAP}. In: s{SHARES}. End of Out.",
        ),
        (
            Repeat((W >> S,) * 3) >> V,
            PLAIN,
            f"Repeated 3 times. L{MAP}; s{SHARES}. End of what is repeated. L{LAST}.",
        ),
        (
            Block(Repeat((Block(W, "A"),) * 2), "Stack"),
            "Stack",
            f"Stack begins. Repeated 2 times. A: l{MAP}. End of what is repeated. End of Stack.",
        ),
    ],
    ids=repr,
)
def test_a_description_names_every_op_in_its_block(term: Term, title: str, says: str) -> None:
    assert describe(elaborate(term)) == (title, f"From (m) to (m). {says}")


def test_names_that_are_said_already_are_not_said_again() -> None:
    circuit = elaborate(W >> S)
    first, last = (cell.outputs[0].id for cell in circuit.cells)
    softmax = "softmax along m: the weights sum to 1 over m"
    plain = f"From (m) to (m). Learned linear map W, m to m; {softmax}."
    assert describe(circuit, {})[1] == plain
    assert describe(circuit, {first: "W"})[1] == plain  # the name of the map itself
    assert describe(circuit, {first: "x", last: "x"})[1] == plain.replace("m;", "m, gives x;")
    assert describe(circuit, {last: "x after W"})[1] == plain


def test_a_loop_over_positions_says_what_is_done_at_each() -> None:
    title, said = describe(elaborate(Scan(Block(Wire("m:2, m:2 -> m, m"), "Step"), "t:3")))
    assert title == "Scan along t"
    step = "Step: wires (m, m) on as (m, m)."
    assert f"At each position of t. {step} End of what is done at each position." in said

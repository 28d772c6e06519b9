"""A question of a lesson as HTML that needs no script: the answer opens at a press."""

from ncd.language.axes import Array, Axis
from ncd.site import markup
from ncd.systems.lessons.computed_questions import Question


def question_html(found: Question) -> str:
    """Returns a question with its answers; the right one, and why others are not, are closed."""
    answers = "".join(f"<li>{_answer(said)}</li>" for said in found.answers)
    pairs = zip(found.answers, found.feedback, strict=True)
    faults = "".join(
        f"<li>{_answer(said)}: {markup.sentence(why)}</li>" for said, why in pairs if why
    )
    return (
        f"<p>{markup.sentence(found.text)}</p><ol class='answers' type='A'>{answers}</ol><details>"
        f"<summary>The answer</summary><p><b>{_answer(found.answer)}</b> "
        f"{markup.sentence(found.explanation)}</p><ul>{faults}</ul></details>"
    )


def _answer(answer: Array | Axis | str) -> str:
    if isinstance(answer, Array):
        return markup.axes_with_sizes(answer)
    return markup.axis(answer) if isinstance(answer, Axis) else markup.sentence(answer)

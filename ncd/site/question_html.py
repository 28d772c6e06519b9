"""A question of a lesson as HTML that needs no script: the answer opens at a press."""

from ncd.language.axes import Array, Axis
from ncd.site import markup
from ncd.site.quiz_facts import without_size_labels
from ncd.systems.lessons.computed_questions import Answer, Question


def question_html(found: Question) -> str:
    """Returns a question with its answers; the right one, and why others are not, are closed."""
    answers = "".join(f"<li>{answer_html(said)}</li>" for said in found.answers)
    pairs = zip(found.answers, found.feedback, strict=True)
    faults = "".join(
        f"<li>{answer_html(said)}: {markup.sentence(why)}</li>" for said, why in pairs if why
    )
    return (
        f"<p>{markup.sentence(found.text)}</p><ol class='answers' type='A'>{answers}</ol><details>"
        f"<summary>The answer</summary><p><b>{answer_html(found.answer)}</b> "
        f"{markup.sentence(found.explanation)}</p><ul>{faults}</ul></details>"
    )


def answer_html(answer: Answer) -> str:
    """Returns an answer as HTML: an array with its sizes, an axis, or a sentence."""
    if isinstance(answer, Array):
        return markup.axes_with_sizes(without_size_labels(answer))
    return markup.axis(answer) if isinstance(answer, Axis) else markup.sentence(answer)

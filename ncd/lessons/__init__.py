"""Lessons: views of the pages in order, each with a line to say, some with a question."""

from ncd.lessons.computed_questions import Question as Question
from ncd.lessons.computed_questions import question as question
from ncd.lessons.lesson import Lesson as Lesson
from ncd.lessons.lesson import View as View
from ncd.lessons.written_lessons import lesson_of as lesson_of

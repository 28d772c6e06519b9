"""Terms as text: the language's own notation, read without evaluating anything, and written."""

from ncd.text.reader import parse as parse
from ncd.text.reading import Reading as Reading
from ncd.text.recognise import is_source as is_source
from ncd.text.recognise import read as read
from ncd.text.text_errors import TextError as TextError
from ncd.text.writer import spell as spell

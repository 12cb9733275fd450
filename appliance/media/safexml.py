"""XML from strangers: a parser that grows nothing and opens nothing."""

from __future__ import annotations

from xml.parsers import expat


class Refused(Exception):
    """The text is nothing that anybody wrote in good faith."""


def _refuse(*_declared: object) -> None:
    raise Refused("it declares a document type")


def parser(separator: str | None = None) -> expat.XMLParserType:
    """A parser that refuses document types: entities could grow without end or name other files."""
    made = expat.ParserCreate(namespace_separator=separator)
    made.StartDoctypeDeclHandler = _refuse
    made.EntityDeclHandler = _refuse
    made.buffer_text = True
    return made


def parse(by: expat.XMLParserType, text: bytes) -> str | None:
    """Let it read a text; the answer is what was wrong, and what was read before that counts."""
    try:
        by.Parse(text, True)
    except (expat.ExpatError, Refused, ValueError, LookupError) as error:
        return str(error)
    return None

"""The one grammar of searches: text to a tree with places, and back to text.

search  = all ("or" all)*           words beside each other must all hold
all     = one+
one     = "-"* ( "(" search ")" | word )
word    = tag | "quoted tag" | beginning* | key:value
"""

from __future__ import annotations

from typing import Never

from appliance.search import tree
from appliance.search.errors import SearchError
from appliance.search.keys import ALIASES, KEYS, TAG_KEYS
from appliance.search.lexer import Token, tokens
from appliance.search.query import Query, Sort
from appliance.search.tree import And, Filter, Node, Or, Tag
from appliance.search.values import BadValue, Word
from appliance.tagging.names import KINDS, name_key


DEEPEST = 20
MOST_TERMS = 100
_FROM_LETTER = "abcdefghijklmnopqrstuvwxyz"


def parse(text: str) -> Query:
    """Understand a search; every text either is one or is refused at a place in it."""
    parser = _Parser(text)
    node = parser.any_of(0)
    if token := parser.peek():
        raise SearchError(
            "A parenthesis is closed that was not opened", "Remove it.", start=token.start, end=token.end
        )
    return Query(text, node, parser.sort)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens(text)
        self._at = 0
        self._terms = 0
        self.sort: Sort | None = None

    def peek(self) -> Token | None:
        """The next token; None at the end."""
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def any_of(self, depth: int) -> Node | None:
        """Alternatives; a branch that says nothing (a lone `sort:`) is none."""
        if depth > DEEPEST:
            self._refuse(
                f"Groups can be nested {DEEPEST} deep", "Use fewer parentheses.", self._tokens[self._at - 1]
            )
        branches, alone = [self._all_of(depth)], True
        while (token := self.peek()) and token.kind == "or":
            self._at += 1
            if branches[-1] is None or (branch := self._all_of(depth)) is None:
                self._refuse("“or” needs something on both sides", 'A tag called or is "or".', token)
            branches.append(branch)
            alone = False
        return branches[0] if alone else tree.joined(Or, [b for b in branches if b is not None])

    def _all_of(self, depth: int) -> Node | None:
        found: list[Node] = []
        while (token := self.peek()) and token.kind not in (")", "or"):
            node = self._one(depth, None)
            if node is not None:
                found.append(node)
        return tree.joined(And, found)

    def _one(self, depth: int, minus: Token | None) -> Node | None:
        token = self.peek()
        if token is None or token.kind in (")", "or") or (minus and minus.end != token.start):
            at = minus or self._tokens[-1]
            self._refuse(
                "A minus stands directly before what it excludes", "Like -fox or -(fox or wolf).", at
            )
        self._at += 1
        if token.kind == "-":
            return self._negated(depth, minus, token)
        if token.kind == "(":
            return self._group(depth, token)
        return self._leaf(token, depth, minus)

    def _negated(self, depth: int, outer: Token | None, token: Token) -> Node | None:
        if outer:
            self._refuse("Two minus signs", "One is enough.", outer, token)
        child = self._one(depth, token)
        return None if child is None else tree.negated(child, token.start)

    def _group(self, depth: int, opened: Token) -> Node:
        node = self.any_of(depth + 1)
        token = self.peek()
        if token is None:
            self._refuse("A parenthesis is not closed", "Add a ) at its end.", opened)
        self._at += 1
        if node is None:
            self._refuse("There is nothing in the parentheses", "Remove them.", opened, token)
        return node

    def _leaf(self, token: Token, depth: int, minus: Token | None) -> Node | None:
        self._terms += 1
        if self._terms > MOST_TERMS:
            self._refuse(f"A search has at most {MOST_TERMS} terms", "Leave something out.", token)
        key = ALIASES.get(token.key, token.key)
        if key in KEYS and not _rating_tag(key, token):
            return self._filter(key, token, depth, minus)
        if key in TAG_KEYS and (token.value or token.quoted):
            return self._tag(token, token.value, key if key in KINDS else None)
        if key in TAG_KEYS:
            self._refuse(f"A name is missing after {key}:", f"Like {key}:name.", token)
        return self._tag(token, token.text, None)

    def _tag(self, token: Token, name: str, kind: str | None) -> Tag:
        prefix = not token.quoted and name.endswith("*")
        bare = name[:-1] if prefix else name
        if "*" in bare and not token.quoted:
            self._refuse(
                "A star can only stand at the end",
                "Like fox*; a name with a star in it goes into quotes.",
                token,
            )
        if not name_key(bare):
            hint = "Type some letters before the star." if prefix else "Type some letters."
            self._refuse("This is not the name of a tag", hint, token)
        return Tag(bare, kind, prefix, token.quoted, token.start, token.end)

    def _filter(self, name: str, token: Token, depth: int, minus: Token | None) -> Filter | None:
        key = KEYS[name]
        try:
            value = key.read(token.value)
        except BadValue:
            title = (
                f"{name}: does not understand “{token.value[:40]}”"
                if token.value
                else f"{name}: needs a value"
            )
            self._refuse(title, key.hint, token)
        if name == "sort":
            self._order(token, value, depth, minus)
            return None
        return Filter(name, token.value, value, token.start, token.end)

    def _order(self, token: Token, value: object, depth: int, minus: Token | None) -> None:
        if depth or (self._alternatives() and not self._ends_search(token, minus)):
            self._refuse(
                "The order belongs to the whole search", "Put sort: at the end, outside of groups.", token
            )
        if self.sort:
            self._refuse("There are two orders", "Keep one of them.", token)
        assert isinstance(value, Word)  # noqa: S101 - what the key reads
        order, _, seed = value.text.partition(":")
        start = minus.start if minus else token.start
        self.sort = Sort(order, int(seed) if seed else None, minus is not None, start, token.end)

    def _alternatives(self) -> bool:
        # Whether the whole search is an "or"; those in groups do not matter.
        depth = 0
        for token in self._tokens:
            depth += {"(": 1, ")": -1}.get(token.kind, 0)
            if token.kind == "or" and not depth:
                return True
        return False

    def _ends_search(self, token: Token, minus: Token | None) -> bool:
        return token is self._tokens[-1] or (minus or token) is self._tokens[0]

    def _refuse(self, title: str, hint: str, first: Token, last: Token | None = None) -> Never:
        raise SearchError(title, hint, start=first.start, end=(last or first).end)


def _rating_tag(key: str, token: Token) -> bool:
    # `rating:4` is about stars; `rating:safe` is a tag of the kind rating.
    return key == "rating" and token.value[:1].casefold() in tuple(_FROM_LETTER)

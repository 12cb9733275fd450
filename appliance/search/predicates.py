"""A search as a condition in SQL over one asset `a`; never NULL, so that NOT means not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

from appliance.core.keyset import LARGEST
from appliance.search import found as names
from appliance.search import values
from appliance.search.found import Found
from appliance.search.keys import FORMATS, PAGES, TYPES
from appliance.search.tree import And, Filter, Node, Not, Or, Tag
from appliance.search.values import Ago, Days, Range, Today, Value, Word


# Probed by key for each asset that a walk meets. OFFSET 0 keeps the planner from turning it round into a
# join over all assets of a tag, which would read all of them for a page of a few.
_PROBE = "EXISTS (SELECT FROM {} OFFSET 0)"
HASHED_FROM = 9
"""From so many members on PostgreSQL looks them up in a hash instead of one after the other."""
# Beyond these years an instant with a zone cannot be counted on.
_FIRST_YEAR, _LAST_YEAR = 1800, 9000
# Its bytes lie in several places, or it looks like another that nobody has decided about.
_DOUBLED = (
    "((SELECT count(*) FROM asset_file f WHERE f.asset_id = a.id) > 1"
    f" OR {_PROBE.format('duplicate_pair p WHERE p.a_id = a.id AND p.shown')}"
    f" OR {_PROBE.format('duplicate_pair p WHERE p.b_id = a.id AND p.shown')})"
)
_MARKS = {
    "favourite": "a.favourite",
    "inbox": "a.state = 'inbox'",
    "kept": "a.state = 'kept'",
    "archived": "a.state = 'archived'",
    "trashed": "a.state = 'trashed'",
    "private": "a.private",
    "missing": "a.missing_since IS NOT NULL",
    "tagged": _PROBE.format("asset_tag x WHERE x.asset_id = a.id"),
    "untagged": "NOT " + _PROBE.format("asset_tag x WHERE x.asset_id = a.id"),
    "rated": "a.rating > 0",
    "unrated": "a.rating = 0",
    "undated": "a.date_source = 'import'",
    "duplicate": _DOUBLED,
    "duplicate-free": f"NOT {_DOUBLED}",
    "broken": _PROBE.format(
        "rendition q WHERE q.asset_id = a.id AND q.name = 'grid-240' AND q.status = 'failed'"
    ),
    "portrait": "a.height > a.width",
    "landscape": "a.width > a.height",
    "square": "a.width = a.height",
    "titled": "coalesce(a.title, '') <> ''",
    "noted": "coalesce(a.note, '') <> ''",
}
_NUMBERS = {
    "rating": "a.rating",
    "width": "a.width",
    "height": "a.height",
    "mpx": "(a.width::numeric * a.height / 1000000)",
    "ratio": "(a.width::numeric / greatest(a.height, 1))",
    "size": "a.size",
    "tags": "(SELECT count(*) FROM asset_tag x WHERE x.asset_id = a.id)",
}


# Whether there is any tag at all is seen at the first one.
_BARE: dict[Value, str] = {
    Range(Fraction(0), Fraction(0)): "untagged",
    Range(high=Fraction(1), with_high=False): "untagged",
    Range(Fraction(0), with_low=False): "tagged",
    Range(Fraction(1)): "tagged",
}


@dataclass(slots=True)
class Arguments:
    """The values of one statement, in the order of its parameters."""

    values: list[object] = field(default_factory=list)

    def __call__(self, value: object, kind: str) -> str:
        """Take a value; the answer is its parameter."""
        self.values.append(value)
        return f"${len(self.values)}::{kind}"


@dataclass(frozen=True, slots=True)
class Compiler:
    """Conditions for one statement."""

    bind: Arguments
    found: Found
    now: datetime
    when: str = "a.effective_at"
    """The column that holds the date; the tags' own where their index is walked."""

    def all_of(self, nodes: tuple[Node, ...]) -> list[str]:
        """One condition for each node."""
        return [self.condition(node) for node in nodes]

    def needed(self, node: Node, *, in_order: bool) -> str:
        """The condition that a part of the whole search means, read in the order of dates or not."""
        match node:
            case Not(Tag() as tag) if in_order and len(ids := self.found.ids(tag)) == 1:
                # Joined by the whole key of the index and left to the planner: where most assets carry the
                # tag, both timelines are merged as they lie.
                own = "t.asset_id" if self.when == "t.effective_at" else "a.id"
                return (
                    f"NOT EXISTS (SELECT FROM asset_tag n WHERE n.tag_id = {self.bind(ids[0], 'bigint')}"
                    f" AND n.effective_at = {self.when} AND n.asset_id = {own})"
                )
            case _:
                return self.condition(node)

    def condition(self, node: Node) -> str:
        """The condition that a node means."""
        match node:
            case And(children):
                return f"({' AND '.join(self.all_of(children))})"
            case Or(children):
                return f"({' OR '.join(self.all_of(children))})"
            case Not(child):
                return f"NOT {self.condition(child)}"
            case Tag():
                return self._tag(node)
            case Filter():
                return f"({self._filter(node)})"

    def _tag(self, tag: Tag) -> str:
        ids = self.found.ids(tag)
        if not ids:
            return "false"
        return _PROBE.format(f"asset_tag x WHERE x.asset_id = a.id AND {self.among('x.tag_id', ids)}")

    def among(self, column: str, ids: list[int]) -> str:
        """Whether a column holds one of these."""
        if len(ids) == 1:
            return f"{column} = {self.bind(ids[0], 'bigint')}"
        # With many, an asset's few tags are looked up among them, not each of them among its tags.
        left = f"{column} + 0" if len(ids) >= HASHED_FROM else column
        return f"{left} = ANY({self.bind(ids, 'bigint[]')})"

    def _filter(self, leaf: Filter) -> str:
        return _READERS.get(leaf.key, Compiler._number)(self, leaf)

    def _number(self, leaf: Filter) -> str:
        if leaf.key == "tags" and leaf.value in _BARE:
            return _MARKS[_BARE[leaf.value]]
        return self._range(_NUMBERS[leaf.key], leaf.value)

    def _range(self, column: str, value: Value) -> str:
        assert isinstance(value, Range)  # noqa: S101 - what these keys read
        parts = []
        if value.low is not None:
            parts.append(f"{column} {'>=' if value.with_low else '>'} {self._amount(value.low)}")
        if value.high is not None:
            parts.append(f"{column} {'<=' if value.with_high else '<'} {self._amount(value.high)}")
        return " AND ".join(parts) or "true"

    def _amount(self, amount: Fraction) -> str:
        if amount.denominator == 1 and amount <= LARGEST:
            return self.bind(int(amount), "bigint")
        return self.bind(Decimal(amount.numerator) / Decimal(amount.denominator), "numeric")

    def _duration(self, leaf: Filter) -> str:
        return f"a.duration_ms IS NOT NULL AND {self._range('a.duration_ms', leaf.value)}"

    def _ratio(self, leaf: Filter) -> str:
        return _MARKS[leaf.value.text] if isinstance(leaf.value, Word) else self._number(leaf)

    def _date(self, leaf: Filter) -> str:
        low, high = self._span(leaf, self.now.replace(tzinfo=None))
        return _between(self.when, low, high, "timestamp", self.bind)

    def _added(self, leaf: Filter) -> str:
        low, high = self._span(leaf, self.now)
        if (low and low.year > _LAST_YEAR) or (high and high.year < _FIRST_YEAR):
            return "false"
        low = None if low and low.year < _FIRST_YEAR else low
        high = None if high and high.year > _LAST_YEAR else high
        return _between("a.added_at", low, high, "timestamptz", self.bind)

    def _span(self, leaf: Filter, now: datetime) -> tuple[datetime | None, datetime | None]:
        assert isinstance(leaf.value, Days | Ago | Today)  # noqa: S101 - what these keys read
        return values.span(leaf.value, now)

    def _type(self, leaf: Filter) -> str:
        word = _text(leaf)
        if word in PAGES:
            return "a.state = 'inside' AND a.kind <> 'video'"
        if word in TYPES:
            return f"a.kind = {self.bind(TYPES[word], 'text')}"
        return f"a.mime = ANY({self.bind(list(FORMATS[word]), 'text[]')})"

    def _is(self, leaf: Filter) -> str:
        return _MARKS[_text(leaf)]

    def _kind(self, leaf: Filter) -> str:
        if (tags := self.found.kinds.get(_text(leaf))) is not None:
            ids = [t.id for t in tags]
            return _PROBE.format(f"asset_tag x WHERE x.asset_id = a.id AND {self.among('x.tag_id', ids)}")
        kind = self.bind(_text(leaf), "text")
        return _PROBE.format(
            f"asset_tag x JOIN tag k ON k.id = x.tag_id WHERE x.asset_id = a.id AND k.kind = {kind}"
        )

    def _source(self, leaf: Filter) -> str:
        return _PROBE.format(
            f"provenance p WHERE p.asset_id = a.id AND p.how = {self.bind(_text(leaf), 'text')}"
        )

    def _folder(self, leaf: Filter) -> str:
        inside = names.within(self.found.folders[_text(leaf)], self.bind)
        return _PROBE.format(f"asset_file f WHERE f.asset_id = a.id AND {inside}")

    def _in_text(self, leaf: Filter) -> str:
        written, name = self.patterns(_text(leaf))
        # The name is what follows the last slash.
        last = self.bind(f"{_no_pattern(_as_bytes(_text(leaf)))}[^/]*$", "text")
        path = "lower(encode(p.path, 'escape'))"
        named = f"provenance p WHERE p.asset_id = a.id AND {path} LIKE {name} AND {path} ~ {last}"
        return (
            f"coalesce(a.title, '') ILIKE {written} OR coalesce(a.note, '') ILIKE {written}"
            f" OR {_PROBE.format(named)}"
        )

    def patterns(self, text: str) -> tuple[str, str]:
        """Patterns for LIKE: for what people wrote, and for paths, which are bytes in escaped form."""
        written = self.bind(f"%{_literally(text)}%", "text")
        return written, self.bind(f"%{_literally(_as_bytes(text))}%", "text")


_READERS: dict[str, Callable[[Compiler, Filter], str]] = {
    "duration": Compiler._duration,  # noqa: SLF001 - its own table
    "ratio": Compiler._ratio,  # noqa: SLF001
    "date": Compiler._date,  # noqa: SLF001
    "added": Compiler._added,  # noqa: SLF001
    "type": Compiler._type,  # noqa: SLF001
    "is": Compiler._is,  # noqa: SLF001
    "kind": Compiler._kind,  # noqa: SLF001
    "source": Compiler._source,  # noqa: SLF001
    "folder": Compiler._folder,  # noqa: SLF001
    "text": Compiler._in_text,  # noqa: SLF001
}


def _text(leaf: Filter) -> str:
    assert isinstance(leaf.value, Word)  # noqa: S101 - what these keys read
    return leaf.value.text


def _between(column: str, low: datetime | None, high: datetime | None, kind: str, bind: Arguments) -> str:
    parts = [f"{column} >= {bind(low, kind)}"] if low else []
    parts += [f"{column} < {bind(high, kind)}"] if high else []
    return " AND ".join(parts) or "true"


def _literally(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _no_pattern(text: str) -> str:
    return "".join(c if c.isalnum() else f"\\{c}" for c in text)


def _as_bytes(text: str) -> str:
    # As PostgreSQL writes bytes with encode(…, 'escape'), ASCII letters folded.
    return "".join(_as_byte(byte) for byte in text.encode())


def _as_byte(byte: int) -> str:
    if byte == ord("\\"):
        return "\\\\"
    return chr(byte).lower() if 0 < byte < 0x80 else f"\\{byte:03o}"

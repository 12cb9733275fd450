"""What the names in a search stand for, once they were looked up."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from appliance.search.tree import Filter, Tag
from appliance.tagging.services import TagView


_ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")


@dataclass(frozen=True, slots=True)
class Folder:
    """Where a folder of a search lies: whole roots, stretches of paths, or a part of any path."""

    roots: tuple[int, ...] = ()
    stretches: tuple[tuple[int, bytes, bytes], ...] = ()
    parts: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """Everything that the names of one search stand for."""

    tags: Mapping[Tag, Sequence[TagView]] = field(default_factory=dict)
    folders: Mapping[str, Folder] = field(default_factory=dict)
    kinds: Mapping[str, Sequence[TagView]] = field(default_factory=dict)
    """All tags of a kind, where they are few."""
    counted: Mapping[Filter, int] = field(default_factory=dict)
    """About how many assets a filter finds, where they are few."""
    library: int = 0
    """About how many assets the timeline has; to weigh what is rare."""

    def ids(self, tag: Tag) -> list[int]:
        """The tags that a name stands for."""
        return [t.id for t in self.tags.get(tag, ())]

    def uses(self, tag: Tag) -> int:
        """About how many assets carry one of them, if none carries two."""
        return sum(max(0, t.uses) for t in self.tags.get(tag, ()))


def locate(text: str, roots: Sequence[tuple[int, bytes]]) -> Folder:
    """Where a folder lies, by its whole path, or by a part of it that stands between slashes."""
    whole: set[int] = set()
    stretches: set[tuple[int, bytes, bytes]] = set()
    parts = set()
    for spelled in _spellings(text):
        name = spelled.rstrip(b"/")
        inner = name.strip(b"/")
        for number, path in roots:
            root = path.rstrip(b"/")
            if (root + b"/").startswith(name + b"/") or (
                inner and not spelled.startswith(b"/") and b"/" + inner + b"/" in root + b"/"
            ):
                whole.add(number)
            elif name.startswith(root + b"/"):
                inside = name[len(root) + 1 :]
                stretches.add((number, inside + b"/", inside + b"0"))
        if inner and not spelled.startswith(b"/"):
            parts.add(b"/" + inner + b"/")
    return Folder(tuple(sorted(whole)), tuple(sorted(stretches)), tuple(sorted(parts)))


def _spellings(text: str) -> set[bytes]:
    # Names that are no UTF-8 are shown, and so searched for, with escapes.
    plain = text.encode()
    return {plain, _ESCAPED.sub(lambda m: bytes([int(m[1], 16)]), plain)}


def within(folder: Folder, bind: Callable[[object, str], str]) -> str:
    """SQL: whether the file `f` lies in a folder."""
    ways = []
    if folder.roots:
        ways.append(f"f.root_id = ANY({bind(list(folder.roots), 'bigint[]')})")
    for number, low, high in folder.stretches:
        ways.append(
            f"(f.root_id = {bind(number, 'bigint')} AND f.path >= {bind(low, 'bytea')}"
            f" AND f.path < {bind(high, 'bytea')})"
        )
    ways += [
        f"(f.root_id IS NOT NULL AND position({bind(part, 'bytea')} IN '\\x2f'::bytea || f.path) > 0)"
        for part in folder.parts
    ]
    return f"({' OR '.join(ways)})" if ways else "false"

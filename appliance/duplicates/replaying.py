"""What would hold if one decision had never been taken: later ones are gone through again without it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from appliance.duplicates.models import Verdict


class Before(msgspec.Struct, frozen=True):
    """What held before a decision: enough to take it back."""

    verdict: str | None
    groups: dict[int, int]
    """Assets of the groups that it touched; one that was in none is missing."""


class Decision(msgspec.Struct, frozen=True):
    """One that stands, as the history remembers it."""

    id: int
    verdict: Verdict
    one: int
    other: int
    before: Before

    @property
    def pair(self) -> frozenset[int]:
        """The two that it is about."""
        return frozenset((self.one, self.other))


def heir(first: Decision, later: Sequence[Decision]) -> Decision | None:
    """The one that was taken over the first, about the same two."""
    after = next((each for each in later if each.pair == first.pair), None)
    return after if after and after.before.verdict == first.verdict else None


class Company:
    """Who is together with whom, as far as anybody was met; who is gone still holds the others together."""

    def __init__(self, stacked: Iterable[tuple[int, int]] = ()) -> None:
        self._sets: dict[int, set[int]] = {}
        self._stacked: dict[int, set[int]] = {}
        for a, b in stacked:
            self._stacked.setdefault(a, set()).add(b)
            self._stacked.setdefault(b, set()).add(a)

    def meet(self, groups: Mapping[int, int], pair: Collection[int] = ()) -> None:
        """Learn of those who are new, as they stand in groups at this moment.

        No decision brought a new one to those who are known: it came in with what was decided about its
        content before. So it is with whom it is stacked, or else with the first of its group.
        """
        known = set(self._sets)
        for members in grouped(groups):
            fresh, old = members - known, members & known
            self._add(fresh)
            if fresh and old:
                tied = {mate for one in fresh for mate in self._stacked.get(one, set()) & old}
                for mate in tied or {min(old)}:
                    self.join(min(fresh), mate)
        for one in set(pair) - set(self._sets):
            self._add({one})

    def _add(self, members: set[int]) -> None:
        together = set(members)
        self._sets.update(dict.fromkeys(members, together))

    def join(self, one: int, other: int) -> None:
        """Put two together, with all who are with either."""
        if self._sets[one] is not self._sets[other]:
            self._add(self._sets[one] | self._sets[other])

    def leave(self, one: int) -> None:
        """Take one out of its company."""
        self._sets[one].discard(one)
        self._add({one})

    def again(self, decision: Decision) -> None:
        """Let a decision do what it does."""
        if decision.verdict is Verdict.ALTERNATE:
            self.join(decision.one, decision.other)
        elif self._sets[decision.one] is self._sets[decision.other]:
            self.leave(decision.other)

    def beside(self, pair: Iterable[int]) -> dict[int, int]:
        """Everybody in the groups of these, as a decision remembers them."""
        sets = {id(found): found for found in (self._sets[one] for one in pair)}
        return {member: min(s) for s in sets.values() if len(s) > 1 for member in s}

    def of(self, there: Collection[int]) -> dict[int, int]:
        """Who of these is together with another one of them."""
        inside = [{one for one in members if one in there} for members in grouped(self.beside(self._sets))]
        return {member: min(s) for s in inside if len(s) > 1 for member in s}

    @property
    def met(self) -> list[int]:
        """Everybody who is known."""
        return list(self._sets)


def grouped(groups: Mapping[int, int]) -> list[set[int]]:
    """The same as sets."""
    found: dict[int, set[int]] = {}
    for member, group in groups.items():
        found.setdefault(group, set()).add(member)
    return list(found.values())


def moved(one: Mapping[int, int], other: Mapping[int, int]) -> set[int]:
    """Who is together with others in the one than in the other, under whatever numbers."""
    return {member for members in _shared(one) ^ _shared(other) for member in members}


def _shared(groups: Mapping[int, int]) -> set[frozenset[int]]:
    return {frozenset(members) for members in grouped(groups) if len(members) > 1}


def without(first: Decision, later: Sequence[Decision], company: Company) -> list[Decision]:
    """Go through what was decided since; those of it that would have found something else, with that.

    `company` learns on the way who would be together.
    """
    company.meet(first.before.groups, first.pair)
    over = heir(first, later)
    changed = []
    for each in later:
        company.meet(each.before.groups, each.pair)
        verdict = first.before.verdict if each is over else each.before.verdict
        found = Before(verdict, company.beside((each.one, each.other)))
        if verdict != each.before.verdict or moved(found.groups, each.before.groups):
            changed.append(msgspec.structs.replace(each, before=found))
        company.again(each)
    return changed

"""What the web process remembers about assets, so that serving a page of pictures asks the database once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from litestar import Request

from appliance.core import clock, db
from appliance.core.errors import NotFound
from appliance.library import queries
from appliance.library.queries import Sendable


if TYPE_CHECKING:
    from asyncpg import Connection


AnyRequest = Request[Any, Any, Any]
# An asset that was made private must not be shown to viewers for longer than this.
BELIEVED_S = 2.0


def sees_everything(request: AnyRequest) -> bool:
    """Whether whoever asks may see what the timeline does not show."""
    person = request.scope.get("state", {}).get("person")
    return person is not None and bool(person.admin)


class Remembered:
    """The last few thousand assets' facts: a page of pictures asks for each of them at once."""

    def __init__(self, limit: int = 20_000) -> None:
        self._limit = limit
        self._facts: OrderedDict[int, tuple[Sendable, float]] = OrderedDict()

    async def of(self, asset_id: int, request: AnyRequest) -> Sendable:
        """Facts of an asset for whoever asks; to viewers, what they may not see does not exist."""
        if self._believed(asset_id, request):
            self._facts.move_to_end(asset_id)
            facts = self._facts[asset_id][0]
        else:
            facts = await self.fresh(asset_id)
        if not (facts.visible or sees_everything(request)):
            raise NotFound("There is no such picture")
        return facts

    def _believed(self, asset_id: int, request: AnyRequest) -> bool:
        known = self._facts.get(asset_id)
        if known is None:
            return False
        return sees_everything(request) or known[1] > clock.monotonic() - BELIEVED_S

    async def fresh(self, asset_id: int) -> Sendable:
        """Facts as they are now."""
        async with db.current().one_statement() as sql:
            found = await queries.sendable(sql, [asset_id])
        if asset_id not in found:
            self.forget(asset_id)
            raise NotFound("There is no such picture")
        self._keep(found)
        return found[asset_id]

    async def learn(self, sql: Connection[Any], asset_ids: Iterable[int], request: AnyRequest) -> None:
        """Read at once what the pictures of a page will ask for one by one."""
        new = [i for i in asset_ids if not self._believed(i, request)]
        if new:
            self._keep(await queries.sendable(sql, new))

    def forget(self, asset_id: int) -> None:
        """Do not believe what was read before."""
        self._facts.pop(asset_id, None)

    def _keep(self, found: dict[int, Sendable]) -> None:
        for asset_id, facts in found.items():
            self._facts[asset_id] = (facts, clock.monotonic())
            self._facts.move_to_end(asset_id)
        while len(self._facts) > self._limit:
            self._facts.popitem(last=False)


remembered = Remembered()

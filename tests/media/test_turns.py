"""The order in which decoders are handed out."""

from __future__ import annotations

import asyncio

import pytest

from appliance.media.turns import Turns


async def settle() -> None:
    """Let every task run until it waits."""
    for _ in range(5):
        await asyncio.sleep(0)


class Crowd:
    """Tasks that note their name when their turn has come and leave when they are told to."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.order: list[str] = []
        self.leave: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def come(self, name: str, *, urgent: bool = False) -> None:
        self.leave[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._hold(name, urgent))
        await settle()

    async def _hold(self, name: str, urgent: bool) -> None:
        async with self.turns.turn(urgent=urgent):
            self.order.append(name)
            await self.leave[name].wait()

    async def go(self, name: str) -> None:
        self.leave[name].set()
        await settle()


async def test_urgent_ones_pass_those_that_came_before() -> None:
    crowd = Crowd(Turns(1))
    for name in ("first", "second", "third"):
        await crowd.come(name)
    await crowd.come("visitor", urgent=True)
    for name in ("first", "visitor", "second", "third"):
        await crowd.go(name)

    assert crowd.order == ["first", "visitor", "second", "third"]


async def test_no_more_places_are_given_than_there_are() -> None:
    crowd = Crowd(Turns(2))
    for name in ("a", "b", "c"):
        await crowd.come(name, urgent=name == "c")

    assert crowd.order == ["a", "b"]
    await crowd.go("b")
    assert crowd.order == ["a", "b", "c"]


@pytest.mark.parametrize("urgent", [True, False])
async def test_one_that_is_cancelled_while_it_waits_blocks_nobody(urgent: bool) -> None:
    crowd = Crowd(Turns(1))
    await crowd.come("a")
    await crowd.come("gone", urgent=urgent)
    await crowd.come("b")
    crowd.tasks["gone"].cancel()
    await settle()
    await crowd.go("a")

    assert crowd.order == ["a", "b"]


async def test_place_of_one_that_is_cancelled_in_the_very_moment_it_gets_it_goes_on() -> None:
    crowd = Crowd(Turns(1))
    await crowd.come("a")
    await crowd.come("gone")
    await crowd.come("b")
    crowd.leave["a"].set()
    crowd.tasks["a"].add_done_callback(lambda _: crowd.tasks["gone"].cancel())
    await settle()

    assert crowd.order[-1] == "b"


async def test_place_is_free_again_after_an_error() -> None:
    turns = Turns(1)
    with pytest.raises(RuntimeError):
        async with turns.turn():
            raise RuntimeError
    async with asyncio.timeout(1), turns.turn():
        pass
    crowd = Crowd(turns)
    await crowd.come("next")
    assert crowd.order == ["next"]

"""What the register refuses, each with one line."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Index, MetaData, text
from sqlalchemy.orm import DeclarativeBase, Mapped

from appliance.core import drains
from appliance.core.columns import Base, ItemColumns, Keyed, RunColumns
from appliance.core.drains import Drain
from appliance.core.facts import Fact
from appliance.media.reasons import Reason
from queues.declare import GRACE, PASS, Lane, Ledger, Register, days, hours, minutes, seconds
from queues.refusals import DeclarationRefused


class Local(DeclarativeBase):
    metadata = MetaData()
    type_annotation_map = Base.type_annotation_map


class Voyage(Keyed, RunColumns, Local):
    __tablename__ = "d_voyage"
    status: Mapped[str]


class Crate(Keyed, ItemColumns, Local):
    __tablename__ = "d_crate"
    __table_args__ = (Index("ix_d_crate_pending", "id", postgresql_where=text("status = 'pending'")),)
    status: Mapped[str]


class Unindexed(Keyed, ItemColumns, Local):
    __tablename__ = "d_unindexed"
    status: Mapped[str]


class Came(Fact):
    pass


async def _nothing(*_: Any) -> Any:
    return []


CRATES = Drain("crates", Crate, _nothing, _nothing)
VOYAGES = Ledger(Voyage, live={"sailing"}, keep=days(1))


@pytest.fixture
def register() -> Register:
    made = Register()
    made.lane("yard", group="quick", slots=1, ceiling=minutes(10), purpose="test")
    return made


def declare(register: Register, **how: Any) -> Any:
    async def scrub(run: Any) -> None:
        """Scrub the deck."""

    body = how.pop("body", scrub)
    arguments = {"lane": register.lanes[0], "limit": seconds(5), "button": True, **how}
    return register.task(**arguments)(body)


async def mute(run: Any) -> None:
    pass


def plain(run: Any) -> None:
    """Not a coroutine function."""


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"limit": None}, "no limit"),
        ({"limit": timedelta(0)}, "no limit"),
        ({"limit": hours(1)}, "above the ceiling"),
        ({"wrap_up": seconds(6)}, "wrap_up"),
        ({"button": False}, "nothing starts it"),
        ({"on": [Came]}, "on= needs drain="),
        ({"drain": CRATES, "ledger": VOYAGES}, "exclude each other"),
        ({"ledger": Ledger(Voyage, live={"sailing"})}, "no keep="),
        ({"ledger": Ledger(Voyage, live={"a", "b"}, keep=days(1))}, "takes="),
        ({"ledger": Ledger(Voyage, live=set(), takes="a", keep=days(1))}, "takes="),
        ({"ledger": Ledger(Voyage, live={"a"}, keep=days(1), stalled="lost")}, "cannot become lost"),
        ({"ledger": Ledger(Crate, live={"a"}, keep=days(1))}, "no run columns"),
        ({"drain": dataclasses.replace(CRATES, model=Voyage)}, "no item columns"),
        ({"drain": dataclasses.replace(CRATES, model=Unindexed)}, "lacks a partial index"),
        ({"cron": "every day"}, "not a cron text"),
        ({"cron": "99 * * * *"}, "not a cron text"),
        ({"cron": "* * * * * */2"}, "five fields"),
        ({"body": mute}, "docstring"),
        ({"body": plain}, "not a coroutine"),
        ({"lane": Lane("yard", "quick", 1, minutes(10), "a copy")}, "not in the register"),
        ({"lane": Lane("moon", "quick", 1, minutes(10), "unknown")}, "not in the register"),
        ({"lane": None}, "not in the register"),
    ],
)
def test_a_wrong_task_is_refused_in_one_line(register: Register, how: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationRefused) as refusal:
        declare(register, **how)

    assert message in refusal.value.title
    assert "\n" not in refusal.value.line()
    assert register.tasks == ()


def test_a_second_task_of_the_same_name_is_refused(register: Register) -> None:
    declare(register)

    with pytest.raises(DeclarationRefused, match="name is taken"):
        declare(register)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"group": "none"}, "no worker group"),
        ({"group": ""}, "no worker group"),
        ({"name": "yard"}, "declared twice"),
        ({"slots": 0}, "no slot"),
    ],
)
def test_a_wrong_lane_is_refused(register: Register, how: dict[str, Any], message: str) -> None:
    arguments = {"name": "dock", "group": "quick", "slots": 1, "ceiling": minutes(1), "purpose": "", **how}

    with pytest.raises(DeclarationRefused, match=message):
        register.lane(arguments.pop("name"), **arguments)


def test_a_run_table_without_owner_is_refused_at_the_seal(register: Register) -> None:
    declare(register, ledger=VOYAGES)

    with pytest.raises(DeclarationRefused, match="d_crate belongs to no task"):
        register.seal([Voyage, Crate])


def test_a_run_table_with_two_owners_is_refused_at_the_seal(register: Register) -> None:
    async def other(run: Any) -> None:
        """Sail elsewhere."""

    declare(register, ledger=VOYAGES)
    declare(register, ledger=VOYAGES, body=other)

    with pytest.raises(DeclarationRefused, match="d_voyage belongs to 2 tasks"):
        register.seal([Voyage])


def test_the_stuck_threshold_is_derived_and_cannot_be_typed(register: Register) -> None:
    task = declare(register, drain=CRATES, on=[Came])

    assert task.stuck_after == seconds(5) + GRACE
    assert task.wake_timeout == seconds(5) + GRACE + PASS
    with pytest.raises(TypeError):
        declare(register, stuck_after=seconds(1))
    with pytest.raises((AttributeError, TypeError)):
        task.stuck_after = seconds(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        task.limit = seconds(1)


def test_names_are_module_and_function(register: Register) -> None:
    assert declare(register).name == "test_declare.scrub"


def test_every_reason_that_a_drain_gives_can_be_said_in_plain_words() -> None:
    assert all(Reason(name).plain for name in (drains.CRASHED, drains.TIMEOUT, drains.UNEXPECTED))

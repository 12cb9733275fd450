"""The gallery: a search and a place in its order, its chunks of rows, its counts and its months."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from litestar import Controller, Request, Response, get
from litestar.params import Parameter

from appliance.core import db
from appliance.core.errors import Invalid, VitrineError
from appliance.library.models import VISIBLE
from appliance.search import grammar, services
from appliance.search.errors import SearchError, TooSlow
from appliance.search.plan import Plan, Scope
from appliance.search.query import EVERYTHING
from appliance.web import emptiness, filters, monthmenu, places
from appliance.web.filters import Box, Sorting
from appliance.web.guards import EVERYBODY
from appliance.web.hypermedia import Screen, fragment, go, kept, nothing, shell_page, wants_fragment
from appliance.web.monthmenu import Month
from appliance.web.pulse import Pulse, pulse
from appliance.web.remembering import remembered
from appliance.web.visitor import DENSITIES, Visitor
from appliance.web.walls import View, Wanted


if TYPE_CHECKING:
    from asyncpg import Connection


KEEP_SECONDS = 60
MONTHS_AT_ONCE = 120
AnyRequest = Request[Any, Any, Any]


def _scope(request: AnyRequest) -> Scope:
    person = Visitor.of(request).person
    return Scope(admin=bool(person and person.admin))


def _screen(plan: Plan) -> Screen:
    trash = any(t.text == "is:trashed" for t in plan.query.terms)
    return Screen("gallery", "Trash", "trash") if trash else Screen("gallery", "Gallery", "gallery")


def _kinds(plan: Plan) -> Mapping[str, str]:
    """Of which kind the most used tag of each name is."""
    return {t.value: tags[0].kind for t in plan.query.terms if (tags := plan.tags_of(t))}


def _grows(view: View, beat: Pulse, *, at_top: bool) -> bool:
    # The wall fills by itself only while all of it is on one page and nobody can have lost a place in it.
    small = at_top and not view.more_older and view.plan.everything and view.plan.by_month
    return small and (beat.busy or view.chunk is None)


class GalleryController(Controller):
    """Pages and fragments of the gallery."""

    opt = EVERYBODY

    @get("/")
    async def index(
        self,
        request: AnyRequest,
        q: str = "",
        at: str = "",
        before: str = "",
        after: str = "",
        known: str = "",
        sort: Sorting | None = None,
    ) -> Response[Any]:
        """The page at a place; for a partial request the wall alone, if it differs from what is known."""
        wanted = Wanted(at, before, after)
        try:
            query = grammar.parse(q)
            if sort is not None:
                return go(places.gallery(query.with_(f"sort:{sort}", instead=("sort",))))
            if query.needs_seed:
                return go(places.gallery(query.seeded(secrets.randbelow(filters.SHUFFLES))))
            async with db.unit_of_work() as uow, services.patience(uow.sql):
                plan = await services.plan(uow.sql, query, _scope(request))
                view = await View(uow.sql, plan, Visitor.of(request), q.strip()).show(wanted)
                if view.chunk is None and not wanted.top:
                    return go(places.gallery(q.strip()))
                return await _page(request, uow.sql, view, at_top=wanted.top, known=known)
        except (SearchError, TooSlow) as error:
            if wants_fragment(request):
                raise
            return await _refused(request, q, error)

    @get("/items")
    async def items(
        self,
        request: AnyRequest,
        q: str = "",
        before: str = "",
        after: str = "",
        to: str = "",
        first: str = Parameter(query="from", default=""),
        edges: str = "",
    ) -> Response[Any]:
        """One chunk of rows; asked for plainly, the page that holds it."""
        if not wants_fragment(request):
            return go(places.gallery(q, at=first, before="" if first else before, after=after))
        async with db.unit_of_work() as uow:
            plan = await services.plan(uow.sql, grammar.parse(q), _scope(request))
            view = View(uow.sql, plan, Visitor.of(request), q.strip())
            if first or to:
                start = view.place(first) if first else view.beyond(view.place(before))
                await view.again(start, view.place(to), edges, request.query_params.get("at", ""))
            else:
                await _only(view, before, after)
            await remembered.learn(uow.sql, [t.id for t in view.tiles], request)
            await view.learn_places()
        return kept(request, fragment("gallery/_chunk.html", far=True, **view.values()), seconds=KEEP_SECONDS)

    @get("/items/new")
    async def new(self, request: AnyRequest, since: int, q: str = "") -> Response[Any]:
        """How many came in since the page was drawn; never moves what is on it."""
        if not wants_fragment(request):
            return go(places.gallery(q))
        since = max(0, min(since, 2**63 - 1))
        async with db.unit_of_work() as uow:
            plan = await services.plan(uow.sql, grammar.parse(q), _scope(request))
            arrived = await services.arrived(uow.sql, plan, since)
        return fragment("gallery/_new_count.html", arrived=arrived, **_new(q, since))

    @get("/items/count")
    async def count(self, request: AnyRequest, q: str = "") -> Response[Any]:
        """How many there are now."""
        if not wants_fragment(request):
            return go(places.gallery(q))
        async with db.unit_of_work() as uow:
            plan = await services.plan(uow.sql, grammar.parse(q), _scope(request))
            values = await _counts(uow.sql, plan, q)
        return fragment("gallery/_count.html", **values)

    @get("/months")
    async def months(self, request: AnyRequest, q: str = "", *, menu: bool = False) -> Response[Any]:
        """The months of a search: for the scrubber, for the menu, or as a page of their own."""
        async with db.unit_of_work() as uow:
            plan = await services.plan(uow.sql, grammar.parse(q), _scope(request))
            found = await services.months(uow.sql, plan) if plan.by_month else None
            years = monthmenu.by_year(found or [], q.strip())
            if wants_fragment(request):
                part = "gallery/_months.html" if menu else "gallery/_scrubber.html"
                return kept(request, fragment(part, years=years), seconds=KEEP_SECONDS)
            screen = Screen("folders", "Months", "gallery")
            values = {"years": years, "search": filters.box(plan.query, _kinds(plan))}
            return await shell_page(request, uow.sql, "gallery/months.html", screen, **values)


def _new(q: str, since: int) -> dict[str, Any]:
    return {"new_url": places.at("/items/new", q, since=str(since)), "top_url": places.gallery(q)}


async def _counts(sql: Connection[Any], plan: Plan, q: str) -> dict[str, Any]:
    total = await services.count(sql, plan)
    whole = total
    if not plan.everything:
        whole = await services.count(sql, await services.plan(sql, EVERYTHING, plan.scope))
    return {
        "total": total,
        "whole": whole,
        "part": plan.worlds == (VISIBLE,) and not plan.everything,
        "count_url": places.at("/items/count", q),
    }


async def _page(
    request: AnyRequest, sql: Connection[Any], view: View, *, at_top: bool, known: str
) -> Response[Any]:
    plan, q = view.plan, view.q
    beat, since = await pulse(sql), await services.newest_id(sql)
    await remembered.learn(sql, [t.id for t in view.tiles], request)
    await view.learn_places()
    counts = await _counts(sql, plan, q)
    mark = f"{since}.{counts['total'].count}.{view.waiting}.{int(beat.busy)}"
    if wants_fragment(request) and known == mark:
        return nothing()
    values = view.values() | counts | _new(q, since) | _menus(request, view)
    values |= {
        "busy": beat.busy,
        "grows": _grows(view, beat, at_top=at_top),
        "grow_url": places.at("/", q, known=mark),
        "search": filters.box(plan.query, _kinds(plan)),
        "years": [],
        "trash_bar": plan.scope.admin and _screen(plan).place == "trash",
    }
    if plan.everything and plan.by_month:
        values["years"] = await _known_months(sql, plan, q)
    if view.chunk is None and not plan.everything:
        values["nothing"] = await emptiness.explain(sql, plan)
    if wants_fragment(request):
        return fragment("gallery/_wall_update.html", **values)
    return await shell_page(request, sql, "gallery/index.html", _screen(plan), **values)


async def _known_months(sql: Connection[Any], plan: Plan, q: str) -> list[tuple[int, list[Month]]]:
    # Of everything they are counted anyway, and a few need no request of their own.
    found = await services.months(sql, plan) or []
    return monthmenu.by_year(found, q) if len(found) <= MONTHS_AT_ONCE else []


def _menus(request: AnyRequest, view: View) -> dict[str, Any]:
    query = view.plan.query
    reversed_url, turned = filters.other_way(query)
    return {
        "month": view.month,
        "months_url": places.at("/months", view.q),
        "menu_url": places.at("/months", view.q, menu="true"),
        "filters": filters.filters(query, admin=view.plan.scope.admin),
        "sorts": filters.sorts(query),
        "sorted_by": filters.sorted_by(query),
        "reversed_url": reversed_url,
        "turned": turned,
        "densities": DENSITIES,
        "density": Visitor.of(request).density,
    }


async def _refused(request: AnyRequest, q: str, error: VitrineError) -> Response[Any]:
    values = {"search": Box(q.strip(), error=True), "refusal": filters.refusal(q, error)}
    async with db.unit_of_work() as uow:
        screen = Screen("gallery", "Search", "gallery")
        response = await shell_page(request, uow.sql, "gallery/refused.html", screen, **values)
    response.status_code = error.status
    return response


async def _only(view: View, before: str, after: str) -> None:
    if bool(before) == bool(after):
        raise Invalid("One of before, after or from is needed")
    if before:
        await view.down(view.place(before))
        view.more_newer = False
    else:
        await view.up(view.place(after))
        view.more_older = False


HANDLERS = (GalleryController,)

"""The frame of the settings, and the sections that hold no secrets: look, keys, what happened, licences."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from litestar import Controller, Request, Response, get, post
from litestar.datastructures import Cookie

from appliance.accounts import people
from appliance.core import db, version
from appliance.core.paths import PROJECT
from appliance.web.entry import form
from appliance.web.guards import EVERYBODY
from appliance.web.hypermedia import Screen, go, shell_page
from appliance.web.visitor import DENSITIES, THEMES, Visitor, remember


AnyRequest = Request[Any, Any, Any]
LOG_LINES = 100


class Section(NamedTuple):
    """One entry of the settings' own navigation."""

    key: str
    path: str
    label: str
    admins: bool = False


SECTIONS = (
    Section("account", "/settings", "Account"),
    Section("sessions", "/settings/sessions", "Sessions"),
    Section("appearance", "/settings/appearance", "Appearance"),
    Section("keyboard", "/settings/keyboard", "Keyboard"),
    Section("app", "/settings/app", "On the phone", admins=True),
    Section("people", "/settings/people", "People", admins=True),
    Section("log", "/settings/log", "Audit log", admins=True),
    Section("about", "/settings/about", "About and licences"),
)
TITLES = {s.key: s.label for s in SECTIONS}


def keys_off(request: AnyRequest) -> bool:
    """Whether this browser asked for no single-key shortcuts."""
    return request.cookies.get("keys") == "off"


async def section(
    request: AnyRequest, template: str, key: str, *, status: int = 200, secret: bool = False, **values: Any
) -> Response[str]:
    """A page of the settings; a `secret` one holds what is shown only once."""
    person = Visitor.of(request).person
    shown = [s for s in SECTIONS if not s.admins or (person is not None and person.admin)]
    async with db.unit_of_work() as uow:
        answer = await shell_page(
            request,
            uow.sql,
            template,
            Screen("settings", f"{TITLES[key]}, settings", "settings"),
            status=status,
            sections=shown,
            section=key,
            said=request.query_params.get("said", ""),
            **values,
        )
    if secret:
        answer.headers["Cache-Control"] = "no-store"
    return answer


class Appearance(msgspec.Struct):
    """The form of the look."""

    theme: str = ""
    density: str = ""


class Keyboard(msgspec.Struct):
    """The form of the keys: a switch that is off sends nothing."""

    keys: str = ""


class SettingsController(Controller):
    """What everybody may set for their own browser, and what stands in the log."""

    path = "/settings"

    @get("/appearance", opt=EVERYBODY)
    async def appearance(self, request: AnyRequest) -> Response[Any]:
        """Theme and size of the pictures."""
        return await section(request, "settings/appearance.html", "appearance", densities=DENSITIES)

    @post("/appearance", opt=EVERYBODY, status_code=200)
    async def keep_appearance(self, request: AnyRequest) -> Response[Any]:
        """Keep the look in cookies of this browser."""
        sent = await form(request, Appearance)
        cookies: list[Cookie] = []
        if sent.theme in THEMES or sent.theme == "auto":
            cookies.append(remember("theme", sent.theme))
        if sent.density in DENSITIES:
            cookies.append(remember("density", sent.density))
        return go("/settings/appearance?said=kept", cookies=cookies)

    @get("/keyboard", opt=EVERYBODY)
    async def keyboard(self, request: AnyRequest) -> Response[Any]:
        """What the keys do, and a switch for those who cannot use them."""
        return await section(request, "settings/keyboard.html", "keyboard", keys_off=keys_off(request))

    @post("/keyboard", opt=EVERYBODY, status_code=200)
    async def keep_keyboard(self, request: AnyRequest) -> Response[Any]:
        """Keep the switch in a cookie of this browser."""
        sent = await form(request, Keyboard)
        return go(
            "/settings/keyboard?said=kept", cookies=[remember("keys", "on" if sent.keys == "on" else "off")]
        )

    @get("/app")
    async def app(self, request: AnyRequest) -> Response[Any]:
        """How a phone gets Vitrine into its share menu."""
        return await section(request, "settings/app.html", "app")

    @get("/log")
    async def log(self, request: AnyRequest, before: int | None = None) -> Response[Any]:
        """Sign-ins, refusals, and what administrators did to accounts."""
        async with db.unit_of_work() as uow:
            lines = await people.log(uow.sql, before=before, limit=LOG_LINES + 1)
        more = lines[LOG_LINES - 1].id if len(lines) > LOG_LINES else None
        return await section(
            request, "settings/log.html", "log", lines=lines[:LOG_LINES], more=more, before=before
        )

    @get("/about", opt=EVERYBODY)
    async def about(self, request: AnyRequest) -> Response[Any]:
        """Version, licence, and what is bundled."""
        return await section(
            request, "settings/about.html", "about", version=version.current(), notice=NOTICE
        )


# Read before rights are given up: the web process may not see the clone.
NOTICE = (PROJECT / "NOTICE").read_text(encoding="utf-8")
HANDLERS = (SettingsController,)

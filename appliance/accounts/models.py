"""Users, sessions, login attempts and the audit log."""

from __future__ import annotations

import enum
from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, Integer, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import BYTEA, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from appliance.core.columns import Base, Keyed, one_of


class Role(enum.StrEnum):
    """What a person may do."""

    ADMIN = "admin"
    VIEWER = "viewer"


class User(Keyed, Base):
    """A person who may sign in; `name_key` is the name casefolded, so that Anna and anna are one."""

    __tablename__ = "user"
    __table_args__ = (UniqueConstraint("name_key"), CheckConstraint(one_of("role", Role), name="role"))

    name: Mapped[str]
    name_key: Mapped[str]
    role: Mapped[str]
    password_hash: Mapped[str]
    made_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    disabled_at: Mapped[datetime | None]


class Session(Keyed, Base):
    """One signed-in browser; the cookie's value is kept only as SHA-256."""

    __tablename__ = "session"
    __table_args__ = (UniqueConstraint("token_sha256"), Index("ix_session_user", "user_id"))

    token_sha256: Mapped[bytes] = mapped_column(BYTEA)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"))
    made_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    seen_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    revoked_at: Mapped[datetime | None]
    address: Mapped[str | None]
    agent: Mapped[str | None]


class LoginThrottle(Base):
    """Failed sign-ins of one account name or one address; the wait grows, nobody is locked out for good."""

    __tablename__ = "login_throttle"

    key: Mapped[str] = mapped_column(primary_key=True)
    failures: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    last_at: Mapped[datetime] = mapped_column(server_default=text("now()"))


class AuditEntry(Keyed, Base):
    """Append-only: who did what that matters for safety."""

    __tablename__ = "audit_entry"
    __table_args__ = (Index("ix_audit_entry_at", text("at DESC")),)

    at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    user_id: Mapped[int | None]
    action: Mapped[str]
    subject: Mapped[str | None]
    address: Mapped[str | None]
    facts: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default=text("'{}'::jsonb"))

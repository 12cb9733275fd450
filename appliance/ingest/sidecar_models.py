"""What files and their sidecars say about assets, apart from what people say."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import BYTEA, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from appliance.core.columns import Base, Keyed


class Sidecar(Keyed, Base):
    """One file that describes another one, as it was last read; it may come before what it is about."""

    __tablename__ = "sidecar"
    __table_args__ = (
        UniqueConstraint("entry_id"),
        CheckConstraint("kind IN ('xmp', 'json', 'txt')", name="kind"),
        # What comes in looks for what was said about it; the end of a walk for what is gone.
        Index("ix_sidecar_about", "root_id", "about"),
    )

    entry_id: Mapped[int] = mapped_column(ForeignKey("root_entry.id", ondelete="CASCADE"))
    root_id: Mapped[int] = mapped_column(ForeignKey("root.id"))
    about: Mapped[bytes] = mapped_column(BYTEA)
    """The path of what it describes, whole or without its extension; see `sidecar_names.key`."""
    kind: Mapped[str]
    sha256: Mapped[bytes] = mapped_column(BYTEA)
    said: Mapped[dict[str, Any]] = mapped_column(JSONB)
    read_at: Mapped[datetime] = mapped_column(server_default=text("now()"))


class AssetWords(Base):
    """What an asset's own file said, and what was put on the asset from that and its sidecars.

    A title, rating or tag follows its source only for as long as it still is what was put there.
    """

    __tablename__ = "asset_words"

    asset_id: Mapped[int] = mapped_column(ForeignKey("asset.id", ondelete="CASCADE"), primary_key=True)
    own: Mapped[dict[str, Any]] = mapped_column(JSONB)
    given: Mapped[dict[str, Any]] = mapped_column(JSONB)

"""Tags, other names for them, and their assignment to assets."""

from __future__ import annotations

import enum
from datetime import datetime

from sqlalchemy import REAL, CheckConstraint, DateTime, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from appliance.core.columns import Base, Keyed, RunColumns, one_of


class TagKind(enum.StrEnum):
    """What a tag speaks of; decides its colour and its place in lists."""

    GENERAL = "general"
    ARTIST = "artist"
    CHARACTER = "character"
    FANDOM = "fandom"
    SERIES = "series"
    META = "meta"
    RATING = "rating"


class By(enum.StrEnum):
    """Who put a tag on an asset."""

    HUMAN = "human"
    MODEL = "model"
    RULE = "rule"
    SOURCE = "source"
    SIDECAR = "sidecar"


class Tag(Keyed, Base):
    """One tag. `name_key` is the name NFC, casefolded, with single underscores for spaces.

    The same name may exist once for each kind and fandom: two characters of different works.
    """

    __tablename__ = "tag"
    __table_args__ = (
        UniqueConstraint("name_key", "kind", "fandom_id", postgresql_nulls_not_distinct=True),
        CheckConstraint(one_of("kind", TagKind), name="kind"),
        CheckConstraint("fandom_id IS NULL OR kind IN ('character', 'series')", name="fandom"),
        # Completion by prefix, in any collation.
        Index("ix_tag_prefix", "name_key", postgresql_ops={"name_key": "text_pattern_ops"}),
        # Names that look like one that does not exist.
        Index(
            "ix_tag_alike", "name_key", postgresql_using="gin", postgresql_ops={"name_key": "gin_trgm_ops"}
        ),
        Index("ix_tag_uses", text("uses DESC"), "id"),
        Index("ix_tag_fandom", "fandom_id", postgresql_where=text("fandom_id IS NOT NULL")),
        {"postgresql_with": {"fillfactor": "80"}},
    )

    name: Mapped[str]
    name_key: Mapped[str]
    kind: Mapped[str] = mapped_column(server_default=text("'general'"))
    fandom_id: Mapped[int | None] = mapped_column(ForeignKey("tag.id"))
    uses: Mapped[int] = mapped_column(server_default=text("0"))
    """Visible assets that carry it; folded from `tag_delta`, up to a minute old."""
    made_at: Mapped[datetime] = mapped_column(server_default=text("now()"))


class TagAlias(Keyed, Base):
    """Another name for a tag; what is typed or imported under it becomes the tag."""

    __tablename__ = "tag_alias"
    __table_args__ = (
        UniqueConstraint("name_key", "kind", "fandom_id", postgresql_nulls_not_distinct=True),
        CheckConstraint(one_of("kind", TagKind), name="kind"),
        Index("ix_tag_alias_prefix", "name_key", postgresql_ops={"name_key": "text_pattern_ops"}),
        Index("ix_tag_alias_tag", "tag_id"),
    )

    name: Mapped[str]
    name_key: Mapped[str]
    kind: Mapped[str]
    fandom_id: Mapped[int | None]
    tag_id: Mapped[int] = mapped_column(ForeignKey("tag.id", ondelete="CASCADE"))
    made_at: Mapped[datetime] = mapped_column(server_default=text("now()"))


class AssetTag(Base):
    """One tag on one asset.

    `effective_at` repeats the asset's, kept equal by a trigger: the assets of one tag can be walked in
    the order of the timeline from any place without reading the others.
    """

    __tablename__ = "asset_tag"
    __table_args__ = (
        CheckConstraint(one_of("by", By), name="by"),
        Index("ix_asset_tag_timeline", "tag_id", text("effective_at DESC"), text("asset_id DESC")),
    )

    asset_id: Mapped[int] = mapped_column(ForeignKey("asset.id", ondelete="CASCADE"), primary_key=True)
    tag_id: Mapped[int] = mapped_column(ForeignKey("tag.id"), primary_key=True)
    effective_at: Mapped[datetime] = mapped_column(DateTime(timezone=False))
    by: Mapped[str] = mapped_column(server_default=text("'human'"))
    model_id: Mapped[int | None]
    score: Mapped[float | None] = mapped_column(REAL)
    user_id: Mapped[int | None]
    added_at: Mapped[datetime] = mapped_column(server_default=text("now()"))


class TagRejection(Base):
    """A tag that a person took off an asset: nothing but a person puts it there again."""

    __tablename__ = "tag_rejection"
    __table_args__ = (Index("ix_tag_rejection_tag", "tag_id"),)

    asset_id: Mapped[int] = mapped_column(ForeignKey("asset.id", ondelete="CASCADE"), primary_key=True)
    tag_id: Mapped[int] = mapped_column(ForeignKey("tag.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[int | None]
    rejected_at: Mapped[datetime] = mapped_column(server_default=text("now()"))


class TagDelta(Keyed, Base):
    """Changes of tag counts since they were folded; triggers append, nobody waits for a hot row."""

    __tablename__ = "tag_delta"

    tag_id: Mapped[int]
    uses: Mapped[int]


class TagFormer(Base):
    """Ids of tags that were merged away, and what they are now: work that was prepared with them goes on."""

    __tablename__ = "tag_former"
    __table_args__ = (Index("ix_tag_former_tag", "tag_id"),)

    former_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tag_id: Mapped[int] = mapped_column(ForeignKey("tag.id", ondelete="CASCADE"))


class TagRecent(Base):
    """When a person last put a tag on something: one row for each tag, however many assets got it."""

    __tablename__ = "tag_recent"
    __table_args__ = (
        Index("ix_tag_recent_user", "user_id", text("used_at DESC")),
        Index("ix_tag_recent_tag", "tag_id"),
    )

    user_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tag_id: Mapped[int] = mapped_column(ForeignKey("tag.id", ondelete="CASCADE"), primary_key=True)
    used_at: Mapped[datetime] = mapped_column(server_default=text("now()"))


class MergeStatus(enum.StrEnum):
    """States of a merge that is too large for a request."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    ERROR = "error"
    CANCELLED = "cancelled"


MERGE_TRANSITIONS: dict[MergeStatus, frozenset[MergeStatus]] = {
    MergeStatus.PENDING: frozenset({MergeStatus.RUNNING, MergeStatus.CANCELLED}),
    MergeStatus.RUNNING: frozenset(
        {MergeStatus.PENDING, MergeStatus.DONE, MergeStatus.ERROR, MergeStatus.CANCELLED}
    ),
    MergeStatus.DONE: frozenset(),
    MergeStatus.ERROR: frozenset(),
    MergeStatus.CANCELLED: frozenset(),
}


class TagMerge(Keyed, RunColumns, Base):
    """One large merge that was asked for; without keys to the tags, since one of them goes."""

    __tablename__ = "tag_merge"
    __table_args__ = (
        CheckConstraint(one_of("status", MergeStatus), name="status"),
        # One merge of a tag at a time, however often the button is pressed.
        Index(
            "uq_tag_merge_source",
            "source_id",
            unique=True,
            postgresql_where=text("status IN ('pending', 'running')"),
        ),
    )

    source_id: Mapped[int]
    target_id: Mapped[int]
    user_id: Mapped[int | None]
    status: Mapped[str] = mapped_column(server_default=text("'pending'"))
    moved: Mapped[int | None]
    shared: Mapped[int | None]

"""Every state machine: its table names every state, and every state can be reached or is the first."""

from __future__ import annotations

import enum

import pytest

from appliance.core.work import RUN_TRANSITIONS, RunStatus
from appliance.ingest.batch_models import (
    BATCH_TRANSITIONS,
    TASK_TRANSITIONS,
    UPLOAD_TRANSITIONS,
    BatchStatus,
    TaskStatus,
    UploadStatus,
)
from appliance.library.models import ASSET_TRANSITIONS, AssetState
from appliance.library.rendition_models import RENDITION_TRANSITIONS, RenditionStatus
from appliance.operations.models import OPERATION_TRANSITIONS, OperationStatus
from appliance.tagging.models import MERGE_TRANSITIONS, MergeStatus


TABLES: list[tuple[type[enum.StrEnum], dict[enum.StrEnum, frozenset[enum.StrEnum]], str]] = [
    (RunStatus, RUN_TRANSITIONS, "pending"),
    (BatchStatus, BATCH_TRANSITIONS, "pending"),
    (TaskStatus, TASK_TRANSITIONS, "pending"),
    (RenditionStatus, RENDITION_TRANSITIONS, "pending"),
    (AssetState, ASSET_TRANSITIONS, "kept"),
    (UploadStatus, UPLOAD_TRANSITIONS, "receiving"),
    (OperationStatus, OPERATION_TRANSITIONS, "pending"),
    (MergeStatus, MERGE_TRANSITIONS, "pending"),
]


@pytest.mark.parametrize(("states", "table", "first"), TABLES, ids=lambda v: getattr(v, "__name__", ""))
def test_walk_reaches_every_state(
    states: type[enum.StrEnum], table: dict[enum.StrEnum, frozenset[enum.StrEnum]], first: str
) -> None:
    assert set(table) == set(states)
    reached, waiting = set(), [states(first)]
    while waiting:
        state = waiting.pop()
        if state not in reached:
            reached.add(state)
            waiting += table[state]
    assert reached == set(states)

"""Every mapped table, imported once: the metadata that migrations are compared with."""

from __future__ import annotations

import appliance.accounts.models
import appliance.core.work
import appliance.duplicates.models
import appliance.ingest.batch_models
import appliance.ingest.models
import appliance.ingest.sidecar_models
import appliance.library.models
import appliance.library.rendition_models
import appliance.library.volume_models
import appliance.operations.models
import appliance.tagging.models  # noqa: F401 - imported for their tables
from appliance.core.columns import Base


METADATA = Base.metadata

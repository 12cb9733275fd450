"""The lanes: what waits for what, how many at once, and how long anything there may take at most."""

from __future__ import annotations

from queues.declare import REGISTER, hours, minutes


MAINTENANCE = REGISTER.lane(
    "maintenance",
    group="quick",
    slots=2,
    ceiling=minutes(10),
    purpose="Sweeps, refills, retention, small clean-ups; never waits behind a backup",
)
DOWNLOAD = REGISTER.lane(
    "download", group="quick", slots=2, ceiling=minutes(20), purpose="Checks of followed sources"
)
TRANSCRIBE = REGISTER.lane(
    "transcribe", group="quick", slots=2, ceiling=minutes(15), purpose="Calls of transcription providers"
)
SCAN = REGISTER.lane(
    "scan", group="heavy", slots=4, ceiling=minutes(70), purpose="Walks of folders, at most one per root"
)
IMPORT = REGISTER.lane(
    "import", group="heavy", slots=None, ceiling=minutes(10), purpose="Files on their way in"
)
THUMBNAIL = REGISTER.lane(
    "thumbnail", group="heavy", slots=None, ceiling=minutes(10), purpose="Pictures that assets still lack"
)
PLAY = REGISTER.lane(
    "play",
    group="heavy",
    slots=1,
    ceiling=hours(2),
    purpose="Videos made playable while somebody waits, one at a time",
)
ML = REGISTER.lane(
    "ml",
    group="heavy",
    slots=1,
    ceiling=minutes(35),
    purpose="Allowlist, centroids, backfills, query vectors",
)
MAINTENANCE_LONG = REGISTER.lane(
    "maintenance_long",
    group="long",
    slots=1,
    ceiling=hours(8),
    purpose="Backups, restores, audits, large vacuums, cascade deletes",
)

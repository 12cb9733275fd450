"""What a refused content means under the name that it has."""

from __future__ import annotations

import os

from appliance.media.reasons import Reason


# Names that announce a picture or a film: when such a file holds something else, that is a failure
# worth listing; any other name with foreign content is just not ours.
MEDIA_NAMES = frozenset(
    b".jpg .jpeg .jpe .jfif .png .apng .gif .webp .avif .heic .heif .hif .jxl .tif .tiff .bmp .jp2 .j2k .jpx"
    b" .cbz .dng .cr2 .cr3 .crw .nef .nrw .arw .sr2 .srf .orf .rw2 .raf .pef .srw"
    b" .x3f .mrw .3fr .iiq .mos .erf .dcr"
    b" .mp4 .m4v .mov .mkv .webm .avi .mpg .mpeg .ts .mts .m2ts .wmv .flv .3gp .ogv".split()
)
SIDECAR_NAMES = frozenset(b".xmp .json .txt .xml .nfo .yaml .yml .aae .thm".split())


def announces_media(path: bytes) -> bool:
    """Whether a name is that of a picture or a film."""
    return os.path.splitext(path)[1].lower() in MEDIA_NAMES


def classify(path: bytes, reason: Reason) -> tuple[Reason, bool]:
    """What a refused content means under this name: a failure to list, or a file that is not ours."""
    if reason is Reason.EMPTY and not announces_media(path):
        reason = Reason.NOT_MEDIA
    if reason is not Reason.NOT_MEDIA:
        return reason, reason.skip
    if os.path.splitext(path)[1].lower() in SIDECAR_NAMES:
        return Reason.SIDECAR, True
    return Reason.NOT_MEDIA, not announces_media(path)

"""The text by which GrowthBook orders versions, as a function of rules."""

from __future__ import annotations

import re
from typing import Final

from ruledex.language.functions.signature import Function, Parameter
from ruledex.language.value import Family

_IGNORED: Final = re.compile(r"^v|\+.*$", re.DOTALL)
_NUMBER: Final = re.compile(r"[0-9]+", re.ASCII)
_WIDTH: Final = 5


def version_key(text: str) -> str:
    """Return a text that compares as GrowthBook compares versions.

    Parts are cut at points and hyphens alike. Numbers are padded on the left, so that 9 is below 10. Three parts are a
    release, which a tilde puts above its pre-releases.
    """
    parts = re.split(r"[-.]", _IGNORED.sub("", text or "0"))
    if len(parts) == 3:
        parts.append("~")
    return "-".join(part.rjust(_WIDTH) if _NUMBER.fullmatch(part) else part for part in parts)


FUNCTIONS: Final = (
    Function(
        name="version_key",
        parameters=(Parameter("x", Family.STRING),),
        result=Family.STRING,
        call=version_key,
        spark=None,
        summary=(
            "A text by which versions sort as in GrowthBook: points and hyphens both end a part, and three parts are a "
            "release. `ruledex convert --from mongo` writes it; in your own rules, use `version`."
        ),
        example="version_key(app) >= '    1-   10-    0-~'",
    ),
)

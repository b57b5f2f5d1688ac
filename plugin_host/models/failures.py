"""What an endpoint said when it failed → the class of the failure. Pure."""

from __future__ import annotations

import re

from plugin_host.errors import ModelErrorKind

MESSAGE_LIMIT = 500

# The first rule whose words occur decides; words win over the status, because proxies send many of these as 400.
PATTERNS: dict[ModelErrorKind, str] = {
    "balance": r"insufficient[ _-]*(?:balance|quota|credit|fund)|billing|余额不足|欠费|credit balance|arrearage",
    "context_length": (
        r"context[ _-]*(?:length|window)|maximum context|prompt is too long|too many tokens|max_prompt_tokens"
        r"|input (?:token count|length).{0,60}exceed"
    ),
    "content": r"content[ _-]*(?:filter|policy|management)|moderation|sensitive content|data_inspection_failed|敏感",
    # Only what says that tools as such are refused: a fault in one tool's schema is no reason to leave native mode.
    "tools_unsupported": (
        r"\b(?:tools?|functions|(?:tool|function)[_ ](?:use|choice|call(?:s|ing)?))\b\W{0,3}"
        r"(?:(?:is|are|parameters?|feature|currently)\W+){0,3}(?:not (?:supported|enabled|available)|unsupported)"
        r"|not support.{0,30}\b(?:tools?|functions|(?:tool|function)[_ ](?:use|choice|call(?:s|ing)?))\b"
        r"|(?:unrecogni[sz]ed|unknown|unexpected|unsupported).{0,40}\b(?:tools|tool_choice|functions)\b(?![\[.])"
        r"|enable-auto-tool-choice|no endpoints found that support tool"
    ),
    "overload": r"overloaded|over capacity|服务器繁忙|engine is currently busy",
}
WORDS = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in PATTERNS.items()}
REQUEST_REFUSED = frozenset({400, 404, 405, 413, 415, 422, 501})

STATUSES: dict[int, ModelErrorKind] = {
    401: "auth",
    402: "balance",
    403: "permission",
    408: "timeout",
    413: "context_length",
    429: "rate_limit",
    503: "overload",
    504: "server",
    529: "overload",
}


def kind_of(status: int, body: str) -> ModelErrorKind:
    """The class of a failure from the HTTP status and the text of its body."""
    for kind, words in WORDS.items():
        if words.search(body) and _fits(kind, status):
            return kind
    if status in STATUSES:
        return STATUSES[status]
    if 400 <= status < 500:
        return "parameter"
    return "server" if status >= 500 else "unknown"


def _fits(kind: ModelErrorKind, status: int) -> bool:
    """Words about the request count only where the request was refused: a 500 may quote anything."""
    if kind in ("balance", "overload"):
        return status >= 400 and status != 401
    return status in REQUEST_REFUSED or (kind == "content" and status == 403)


def shortened(message: str, secret: str) -> str:
    """One line of at most 500 characters without the key."""
    text = " ".join(message.split())
    if secret:
        text = text.replace(secret, "***")
    return text if len(text) <= MESSAGE_LIMIT else text[:MESSAGE_LIMIT] + "…"

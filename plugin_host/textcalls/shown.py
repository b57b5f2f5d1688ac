"""The text around calls: what may be shown (before the first call) and what stands behind it."""

from __future__ import annotations

INVISIBLE = " \t\r\n\ufeff\u200b"


class ShownText:
    """Collects text; outer blanks are held back until something visible follows, so nothing is ever taken back."""

    def __init__(self) -> None:
        self._before: list[str] = []
        self._after: list[str] = []
        self._blanks = ""
        self._new: list[str] = []
        self._behind = False
        self.shown = 0

    @property
    def before(self) -> str:
        """The text before the first call, without outer blanks."""
        return "".join(self._before)

    @property
    def after(self) -> str:
        """The text behind the first call, without outer blanks."""
        return "".join(self._after).strip(INVISIBLE)

    def add(self, text: str) -> None:
        """Take text that belongs to no call."""
        if self._behind:
            self._after.append(text)
            return
        body = text.rstrip(INVISIBLE)
        if body:
            body = self._blanks + body if self._before else body.lstrip(INVISIBLE)
            self._blanks = ""
            self._before.append(body)
            self._new.append(body)
        self._blanks += text[len(text.rstrip(INVISIBLE)) :]

    def split(self) -> None:
        """From here on the text is behind a call."""
        self._behind = True

    def take(self) -> str:
        """What came since the last time and may be shown."""
        text = "".join(self._new)
        self._new.clear()
        self.shown += len(text)
        return text

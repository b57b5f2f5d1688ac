"""An exception at import, on line 5."""

SETTINGS: dict[str, str] = {}

TOKEN = SETTINGS["token"]

"""From a file on disk to its text: size, encoding and byte order mark, each refusal in words."""

from __future__ import annotations

from pathlib import Path

from plugin_host.errors import ConfigError, Problem

SIZE_LIMIT = 1024 * 1024


def read_text(path: Path) -> str:
    """The text of a UTF-8 file of at most SIZE_LIMIT bytes, without its byte order mark.

    Raises ConfigError when the file cannot be read, is too large or has another encoding.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(SIZE_LIMIT + 1)
    except OSError as error:
        raise _refusal(path, _os_words(error)) from error
    if len(raw) > SIZE_LIMIT:
        raise _refusal(path, f"文件太大：应不超过 {SIZE_LIMIT} 字节（1 MiB）")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # decode() counts from the byte order mark on or after it; a line number is not moved by those three bytes
        line = raw.count(b"\n", 0, error.start) + 1
        raise _refusal(path, f"文件不是 UTF-8，{_guess(raw)}；请用编辑器另存为 UTF-8", line) from None


def _refusal(path: Path, message: str, line: int | None = None) -> ConfigError:
    return ConfigError(str(path), (Problem("", message, line, str(path)),))


def _os_words(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "文件不存在"
    if isinstance(error, IsADirectoryError):
        return "应为文件，实际是文件夹"
    if isinstance(error, PermissionError):
        return "没有权限读这个文件"
    return f"读不了这个文件（{error.strerror or type(error).__name__}）"


def _guess(raw: bytes) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "像是 UTF-16"
    try:
        raw.decode("gb18030")
    except UnicodeDecodeError:
        return "也不是 GBK"
    return "像是 GBK"

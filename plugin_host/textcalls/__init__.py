"""Calls that a model writes as text: finding them, repairing them, and telling the model how to write them."""

from plugin_host.textcalls.repairing import repair
from plugin_host.textcalls.scanning import StreamSplitter, parse
from plugin_host.textcalls.values import Parsed, ParsedCall
from plugin_host.textcalls.wording import describe_tools, describes

__all__ = ["Parsed", "ParsedCall", "StreamSplitter", "describe_tools", "describes", "parse", "repair"]

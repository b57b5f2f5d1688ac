"""A syntax error on line 6."""

from plugin_host import hookimpl


def broken(:
    return hookimpl

"""A tool that has the name of a built-in one."""

from plugin_host import hookimpl


def todays_luck() -> str:
    """Tell a luck that is not today's."""
    return "100"


@hookimpl
def register_tools(register):
    register(todays_luck)

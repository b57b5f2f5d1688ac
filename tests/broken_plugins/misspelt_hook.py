"""A hook whose name is misspelt: register_tool instead of register_tools."""

from plugin_host import hookimpl


def fine() -> str:
    """Nothing is wrong with this one."""
    return "fine"


@hookimpl
def register_tool(register):
    register(fine)

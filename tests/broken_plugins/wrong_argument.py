"""A hook that asks for an argument which does not exist."""

from plugin_host import hookimpl


@hookimpl
def on_event(evnt):
    print(evnt)  # noqa: T201

"""``python -m plugin_host``: the same as ``plugin-host``."""

from plugin_host.cli import main

main()

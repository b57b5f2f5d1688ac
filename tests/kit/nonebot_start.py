"""Starts NoneBot2 with its OneBot 11 adapter and a dice plugin; run as a script in its own process."""

from __future__ import annotations

import nonebot
from nonebot.adapters.onebot.v11 import Adapter


def main() -> None:
    """Run until killed; what to connect to comes from the environment."""
    nonebot.init()
    nonebot.get_driver().register_adapter(Adapter)
    if nonebot.load_plugin("nonebot_plugin_dnddicer") is None:
        raise SystemExit("the dice plugin did not load")
    nonebot.run()


if __name__ == "__main__":
    main()

"""The shape and the reading of ``config.yaml``."""

from plugin_host.config.load import load_config, load_home
from plugin_host.config.settings import Settings

__all__ = ["Settings", "load_config", "load_home"]

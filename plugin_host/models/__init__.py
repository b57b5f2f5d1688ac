"""Chat models: real endpoints, the fallback chain, and the offline demo. Importing this loads no provider library."""

from plugin_host.models.chain import ModelChain, ModelStatus, build_chain
from plugin_host.models.demo import DemoModel
from plugin_host.models.endpoint import EndpointModel

__all__ = ["DemoModel", "EndpointModel", "ModelChain", "ModelStatus", "build_chain"]

"""The OneBot 11 bridge: protocol ends on one side, dice cores on the other, the plugin host attached in process."""

"""What keeps plugin code within its time: daemon threads, the watchdog, the watch over the event loop."""

"""What stands between a person or a service manager and the host: terminal, run, check, listings, logs."""

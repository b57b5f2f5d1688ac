"""Running one call: arguments, time limits, results, the journal lines of a call."""

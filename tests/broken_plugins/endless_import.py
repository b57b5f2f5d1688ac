"""An endless loop at import, on lines 6 and 7."""

COUNT = 0

# The import must be interrupted here.
while True:
    COUNT += 1

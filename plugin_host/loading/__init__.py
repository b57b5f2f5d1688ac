"""The life of plugins: found, imported, validated, installed, reloaded, dropped."""

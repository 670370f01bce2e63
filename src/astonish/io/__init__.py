"""Files: written whole or not at all, and archives that say what they hold."""

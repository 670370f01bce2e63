"""How do learners serve inside the libraries that people already use? A module for each, and it must be installed."""

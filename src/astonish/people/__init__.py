"""People's data, from a table of trials to a report."""

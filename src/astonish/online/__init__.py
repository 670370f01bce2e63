"""Run a learner: over a series, on a stream, or in a bank of many streams."""

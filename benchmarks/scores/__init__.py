"""Scores of learners and detectors on public benchmarks, by the rules of each benchmark."""

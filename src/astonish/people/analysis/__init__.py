"""Analyses of people's data, from a table of trials to tables, figures and a report; without JAX until it is needed."""

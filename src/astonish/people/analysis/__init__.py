"""What do the commands about people's data do, from a table of trials to tables, figures and a report?

The page does the same. Nothing here imports JAX before there is work to do.
"""

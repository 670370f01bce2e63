"""Numbers, domains, kinds of outcomes, refusals and special functions, on which everything else rests."""

"""Central releases over arrays of counts: selection, linear queries, stable statistics, markets."""

"""From a tally to frequencies, standard errors, intervals, projections and limits under lies."""

"""From a tally to frequencies, standard errors, intervals, and limits under fake reports."""

"""From a payload in the queue to the aggregator."""

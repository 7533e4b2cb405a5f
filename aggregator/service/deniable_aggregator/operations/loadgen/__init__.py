"""Load that a service is given on purpose: real sealed reports at a fixed rate, and what came back.

plan      how much is sent, how fast, and the bounds of all of it
sealing   reports of made-up answers for a collection, made before the first is sent
sending   requests when they are due over a fixed number of connections, and what came back
__main__  the command line: `python -m deniable_aggregator.operations.loadgen`
"""

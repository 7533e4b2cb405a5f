"""Load tests of a service: sends real sealed reports at a fixed rate and measures the answers.

plan      how much is sent, how fast, and the limits
sealing   reports of random answers, made before the first is sent
sending   sends requests when they are due, over a fixed number of connections
__main__  the command line: `python -m deniable_aggregator.operations.loadgen`
"""

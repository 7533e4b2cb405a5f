"""The relay: takes sealed reports for an aggregator and passes them on in shuffled batches.

Run by another party it hides from the operator who sent what and when. It cannot open a report. The
parts: `queue` keeps what was accepted, `notices` a copy of what the aggregator publishes, `intake`
checks what can be checked in the open, `forwarder` sends batches, `app` speaks HTTP.
"""

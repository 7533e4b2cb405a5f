"""The relay: takes sealed reports for an aggregator and passes them on in shuffled batches.

If another party runs it, the operator does not learn who sent what and when. It cannot open a
report. `queue` stores accepted reports, `upload.mirror` is a copy of what the aggregator publishes,
`upload.sealed_uploads` checks reports in the open, `forwarder` sends batches, `asgi` speaks HTTP.
"""

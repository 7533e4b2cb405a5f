"""Uploads, as far as no key is needed. The aggregator uses the same parts for its own uploads.

front                 ASGI entry point: waits for slow clients on an event loop
request, paths        the form of a request
gate, limiter         who may send, and how much
in_hand               how much is held at once
upload_queue          waiting uploads, and the one thread that stores them
storing               one write for all of them
mirror, published     the copy of what an aggregator publishes
sealed_uploads        uploads that are checked without a key
"""

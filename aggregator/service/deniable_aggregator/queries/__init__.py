"""Reads the store and returns frozen documents: reports, releases, ledger, logs and access.

Nothing here changes anything or knows the web framework.
"""

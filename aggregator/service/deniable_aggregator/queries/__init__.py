"""What is read: frozen documents of reports, collections, releases, the ledger, logs and access.

Nothing here changes anything or knows the web framework.
"""

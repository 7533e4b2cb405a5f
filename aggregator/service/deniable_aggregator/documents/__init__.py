"""The documents of the HTTP API, field by field: one Struct for each.

`describe` turns documents of releases into sentences for commands and pages.
"""

"""What the HTTP API takes and answers, field by field: one Struct a document.

`describe` says in sentences what documents of releases hold, for commands and pages.
"""

"""What the HTTP API takes and answers, field by field: one Struct a document."""

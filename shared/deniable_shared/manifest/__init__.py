"""The signed definition of a collection: fields, rules, schedule, linkage."""

"""The messages that are sent and signed: reports, envelopes, key lists, the transparency log."""

"""What is sent and what is signed: reports, envelopes, key lists, the transparency log."""

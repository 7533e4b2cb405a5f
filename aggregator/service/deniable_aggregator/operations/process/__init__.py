"""The service as a process: starting it as a child, finding it, its tokens and links."""

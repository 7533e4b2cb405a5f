"""The web application: the API under /v1/, and the pages."""

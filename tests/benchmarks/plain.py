"""What one writes without thinking of load: Flask and SQLite, one insert and commit a request."""

from __future__ import annotations

import os
import sqlite3

from flask import Flask, g, request

PLACE = "BENCHMARK_PLAIN_DATABASE"


def flask() -> Flask:
    """A connection a request, WAL, every commit synchronous; bodies are kept as they come."""
    app = Flask(__name__)
    path = os.environ[PLACE]
    with sqlite3.connect(path) as connection:
        connection.execute("pragma journal_mode = wal")
        connection.execute("create table if not exists reports (id integer primary key, body blob)")
    connection.close()

    @app.post("/v1/collections/<name>/reports")
    def upload(name: str) -> tuple[str, int]:
        g.db = sqlite3.connect(path, timeout=60)
        g.db.execute("insert into reports (body) values (?)", (request.get_data(),))
        g.db.commit()
        return "", 200

    @app.teardown_appcontext
    def close(error: BaseException | None) -> None:
        if "db" in g:
            g.db.close()

    return app

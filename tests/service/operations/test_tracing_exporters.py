"""Whether there is tracing follows the standard variables; a collector's trouble stays its own."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.base.spans import NO_TRACER
from deniable_aggregator.operations.tracing.exporters import (
    chosen_exporters,
    tracer_from_environment,
)
from deniable_aggregator.operations.tracing.tracer import OpenTelemetryTracer
from support.builders.data_directory import prepared_at

PATIENCE = 60.0
EXPORTER = "OTEL_TRACES_EXPORTER"
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
PROTOCOL = "OTEL_EXPORTER_OTLP_PROTOCOL"
DISABLED = "OTEL_SDK_DISABLED"
SERVED = """
import sys
from deniable_aggregator.web.wsgi import app
client = app().test_client()
client.post("/v1/collections/none/reports", data=b"x")
client.get("/v1/collections/none/estimates")
tracer = "deniable_aggregator.operations.tracing.tracer"
print("loaded", "opentelemetry" in sys.modules, tracer in sys.modules)
"""


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, ()),
        ({ENDPOINT: "", EXPORTER: " "}, ()),
        ({ENDPOINT: "http://127.0.0.1:4318"}, ("otlp",)),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, ("otlp",)),
        ({EXPORTER: "otlp"}, ("otlp",)),
        ({EXPORTER: "console"}, ("console",)),
        ({EXPORTER: "Console, OTLP,otlp"}, ("otlp", "console")),
        ({EXPORTER: "none", ENDPOINT: "http://127.0.0.1:4318"}, ()),
        ({EXPORTER: "otlp", DISABLED: "TRUE"}, ()),
        ({EXPORTER: "otlp", DISABLED: "false"}, ("otlp",)),
        ({EXPORTER: "otlp", PROTOCOL: "http/protobuf"}, ("otlp",)),
        ({"OTEL_SERVICE_NAME": "else", "OTEL_METRICS_EXPORTER": "otlp"}, ()),
    ],
)
def test_the_variables_choose_the_exporters(
    environ: dict[str, str], expected: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    assert chosen_exporters(environ) == expected
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("environ", "expected", "named"),
    [
        ({EXPORTER: "zipkin"}, (), EXPORTER),
        ({EXPORTER: "zipkin,console"}, ("console",), EXPORTER),
        ({ENDPOINT: "http://127.0.0.1:4317", PROTOCOL: "grpc"}, (), PROTOCOL),
        ({EXPORTER: "otlp,console", PROTOCOL: "http/json"}, ("console",), PROTOCOL),
    ],
)
def test_what_cannot_be_had_is_said_and_left_out(
    environ: dict[str, str],
    expected: tuple[str, ...],
    named: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert chosen_exporters(environ) == expected
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert named in record.getMessage()


def test_unasked_there_is_no_tracer() -> None:
    assert tracer_from_environment() is NO_TRACER


@pytest.mark.parametrize("missing", ["opentelemetry.sdk.trace", "opentelemetry.exporter.otlp"])
def test_without_the_extra_there_is_none_and_the_log_says_what_to_install(
    missing: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(EXPORTER, "otlp")
    for name in [name for name in sys.modules if name.startswith(missing)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    assert tracer_from_environment() is NO_TRACER
    assert 'pip install "deniable-aggregator[otel]"' in caplog.text


class Collector(HTTPServer):
    """Takes what an exporter sends."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taking)
        self.taken: list[tuple[str, ExportTraceServiceRequest]] = []


class Taking(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert isinstance(self.server, Collector)
        self.server.taken.append((self.path, ExportTraceServiceRequest.FromString(body)))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        """Quiet."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_spans_reach_a_collector_with_the_name_of_the_service(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENDPOINT, f"http://127.0.0.1:{collector.server_port}")
    tracer = tracer_from_environment()
    with tracer.span("upload") as span:
        span.outcome = "accepted"
    tracer.close()
    [(path, sent)] = collector.taken
    assert path == "/v1/traces"
    [resource] = sent.resource_spans
    about = {each.key: each.value.string_value for each in resource.resource.attributes}
    assert about["service.name"] == "deniable"
    assert all(name.startswith(("service.", "telemetry.sdk.")) for name in about)
    assert [span.name for span in resource.scope_spans[0].spans] == ["upload accepted"]


def test_the_operators_own_name_for_the_service_comes_first(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENDPOINT, f"http://127.0.0.1:{collector.server_port}")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "counting-house")
    tracer = tracer_from_environment()
    with tracer.span("commit"):
        pass
    tracer.close()
    [(_, sent)] = collector.taken
    about = {each.key: each.value for each in sent.resource_spans[0].resource.attributes}
    assert about["service.name"].string_value == "counting-house"


class Stuck(SpanExporter):
    """A collector that takes the connection and never answers."""

    def __init__(self) -> None:
        self.requested = threading.Event()
        self.free = threading.Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.requested.set()
        self.free.wait(PATIENCE)
        return SpanExportResult.FAILURE


def test_a_silent_collector_does_not_keep_the_service_from_ending() -> None:
    stuck = Stuck()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(stuck))
    tracer = OpenTelemetryTracer(provider, close_seconds=0.01)
    with tracer.span("upload"):
        pass
    tracer.close()
    assert stuck.requested.wait(PATIENCE)
    assert not stuck.free.is_set()
    stuck.free.set()


def served(folder: Path, **environ: str) -> str:
    """What a process with the service prints until it has ended."""
    prepared_at(folder, time.time())
    run = subprocess.run(
        [sys.executable, "-c", SERVED],
        env={**os.environ, **Settings(data=folder / "data").environ(), **environ},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.slow
def test_a_process_that_is_not_told_to_trace_imports_nothing_of_it(tmp_path: Path) -> None:
    assert served(tmp_path) == "loaded False False\n"


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_process_that_is_told_exports_its_last_spans_before_it_ends(tmp_path: Path) -> None:
    said = served(tmp_path, OTEL_TRACES_EXPORTER="console")
    first, _, spans = said.partition("\n")
    assert first == "loaded True True"
    result = [json.loads(part) for part in spans.replace("\n}\n{", "\n}\n\0{").split("\0")]
    names = [each["name"] for each in result]
    assert names == ["upload unsupported-media-type", "estimate unauthorized"]

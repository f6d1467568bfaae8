"""Logs and spans of a retain, a recall and a reflect: one line and one span each, without memory text."""

from __future__ import annotations

import logging

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from hindsight_integrations import Hindsight, InvalidRequest


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    return exporter


def test_each_operation_is_a_log_line_and_a_span(
    light: Hindsight, spans: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "hindsight_integrations")
    bank = light.bank("ann")
    bank.retain("I keep bees in Porto.")
    bank.recall("Where are my bees?")
    bank.reflect("Where are my bees?")
    names = ["hindsight.retain", "hindsight.recall", "hindsight.reflect"]
    finished = spans.get_finished_spans()
    assert [span.name for span in finished] == names
    assert [dict(span.attributes or {}).get("hindsight.bank") for span in finished] == ["ann"] * 3
    assert dict(finished[0].attributes or {})["hindsight.created"] == 1
    lines = [record.getMessage() for record in caplog.records if record.getMessage().startswith("hindsight.")]
    assert [line.split()[0] for line in lines] == names
    assert "bees" not in f"{lines}{[span.to_json() for span in finished]}"


def test_a_failure_is_a_span_without_its_message(light: Hindsight, spans: InMemorySpanExporter) -> None:
    """The message may quote a text."""
    with pytest.raises(InvalidRequest):
        light.bank("ann").recall("bees", max_tokens=-1)
    (span,) = spans.get_finished_spans()
    assert (dict(span.attributes or {})["error.type"], span.events, span.status.description) == (
        "InvalidRequest",
        (),
        None,
    )

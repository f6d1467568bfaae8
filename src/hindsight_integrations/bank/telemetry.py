"""A log line, and a span where opentelemetry-api is installed, for each retain, recall and reflect. Neither has memory text."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import wraps
from time import perf_counter
from typing import Any, Concatenate, ParamSpec, TypeVar

from hindsight_integrations.bank.context import BankVerbs
from hindsight_integrations.model.reflections import Reflection
from hindsight_integrations.model.results import RecallResult, RetainResult

P = ParamSpec("P")
R = TypeVar("R", RetainResult, RecallResult, Reflection)
Methods = TypeVar("Methods", bound=BankVerbs)

logger = logging.getLogger("hindsight_integrations")


def observed(
    method: Callable[Concatenate[Methods, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Methods, P], Coroutine[Any, Any, R]]:
    """Log a method of a bank at INFO and record it as a span: `hindsight.retain` and so on.

    The span has the bank's id and the counts of the result as attributes (`hindsight.bank`, `hindsight.tokens_in`), and of a
    failure the error's class alone, whose message may quote what was said.
    """
    name = f"hindsight.{method.__name__}"

    @wraps(method)
    async def call(self: Methods, /, *args: P.args, **kwargs: P.kwargs) -> R:
        bank, started = self._context.name, perf_counter()
        with _span(name, bank) as annotate:
            result = await method(self, *args, **kwargs)
            counts = _counts(result)
            annotate(counts)
        if logger.isEnabledFor(logging.INFO):
            told = ", ".join(f"{key}={value}" for key, value in counts.items())
            logger.info("%s bank=%r %s (%.0f ms)", name, bank, told, (perf_counter() - started) * 1000)
        return result

    return call


def _counts(result: RetainResult | RecallResult | Reflection) -> dict[str, int]:
    match result:
        case RecallResult():
            return {"memories": len(result.units), "tokens": result.tokens}
        case Reflection():
            counts = {"memories": len(result.units), "opinions": len(result.opinions)}
        case RetainResult():
            counts = {"created": result.created, "queued": len(result.queued) + len(result.parked)}
    return counts | {"calls": result.calls, "tokens_in": result.tokens_in, "tokens_out": result.tokens_out}


@contextmanager
def _span(name: str, bank: str) -> Iterator[Callable[[dict[str, int]], Any]]:
    """The current span while the block runs; yields what sets its attributes."""
    try:
        from opentelemetry import trace
    except ImportError:
        yield lambda _: None
        return
    tracer = trace.get_tracer("hindsight_integrations")
    attributes = {"hindsight.bank": bank}
    with tracer.start_as_current_span(
        name, attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield lambda counts: span.set_attributes({f"hindsight.{key}": counts[key] for key in counts})
        finally:
            if (failure := sys.exc_info()[0]) is not None:
                span.set_attribute("error.type", failure.__name__)
                span.set_status(trace.StatusCode.ERROR)

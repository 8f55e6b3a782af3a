"""The HTTP face of a service."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

import pyarrow as pa
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from slidefold import __version__
from slidefold.errors import BusyError, SlidefoldError
from slidefold.serve.rows import ARROW, arrow_bytes, as_json, parse, table_of
from slidefold.serve.service import BusyServiceError, DiskError, Service

LARGEST = 64 << 20  # bytes of a request
_PARTS = (0.5, 0.99)


class Metrics:
    """What Prometheus reads, and the latest latencies for the page."""

    def __init__(self, service: Service) -> None:
        """Prepare the metrics of a service."""
        self.registry = CollectorRegistry()
        self.asks = Histogram(
            "slidefold_ask_seconds",
            "Seconds per request to /ask",
            registry=self.registry,
            buckets=(0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 1),
        )
        self.requests = Counter(
            "slidefold_requests_total", "Requests by path and status", ["path", "status"],
            registry=self.registry,
        )  # fmt: skip
        self.latest: deque[float] = deque(maxlen=2_000)
        self.service = service
        self.gauges = {
            name: Gauge(f"slidefold_{name}", text, registry=self.registry)
            for name, text in (
                ("rows", "Rows that are held"),
                ("keys", "Keys that are held"),
                ("bytes", "Bytes that are held"),
                ("waiting", "Events that wait for the writer"),
                ("log_bytes", "Bytes of the log"),
                ("events", "Events that were taken"),
                ("late", "Events that were late"),
                ("broken", "Events that were refused while they were folded"),
            )
        }

    def asked(self, seconds: float) -> None:
        """Note one request to /ask."""
        self.asks.observe(seconds)
        self.latest.append(seconds)

    def text(self) -> bytes:
        """Return all metrics in the format of Prometheus."""
        status = self.service.status()
        for name, gauge in self.gauges.items():
            gauge.set(status[name])
        return generate_latest(self.registry)

    def latencies(self) -> dict[str, float | None]:
        """Return the median and the 99th percentile of the latest questions, in milliseconds."""
        found = sorted(self.latest)
        return {
            f"p{round(100 * part)}": round(1e3 * found[int(part * (len(found) - 1))], 3)
            if found
            else None
            for part in _PARTS
        }


def make_app(service: Service, *, token: str | None = None, largest: int = LARGEST) -> Starlette:
    """Return the application that serves a service."""
    metrics = Metrics(service)

    async def events(request: Request) -> Response:
        content, _ = parse(await _body(request, largest), request.headers.get("content-type", ""))
        done = service.submit(content)
        return Response(as_json(await asyncio.wrap_future(done)), media_type="application/json")

    async def ask(request: Request) -> Response:
        start = time.perf_counter()
        content, kind = parse(
            await _body(request, largest), request.headers.get("content-type", "")
        )
        include = request.query_params.get("include", "false") == "true"
        needed = frozenset(service.schema.names) if include else service.asked
        table = table_of(content, service.schema, needed)
        answers = service.ask(table, include=include)
        new = [name for name in service.settings.features.columns if name in answers.column_names]
        metrics.asked(time.perf_counter() - start)
        if kind == "table":
            return Response(arrow_bytes(answers.select(new)), media_type=ARROW)
        rows = _rows(answers.select(new))
        return Response(as_json(rows if kind == "list" else rows[0]), media_type="application/json")

    async def features(request: Request) -> Response:
        definition = service.settings.features
        return JSONResponse(
            {
                "definition": definition.to_dict(),
                "text": str(definition),
                "plan": definition.explain(service.schema),
                "schema": {field.name: str(field.type) for field in service.schema},
                "asked": sorted(service.asked),
                **service.settings.about,
            }
        )

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok", "version": __version__, **service.status()})

    async def scraped(request: Request) -> Response:
        return Response(metrics.text(), media_type="text/plain; version=0.0.4")

    async def page(request: Request) -> Response:
        text = files("slidefold.serve").joinpath("page.html").read_text(encoding="utf-8")
        return HTMLResponse(text)

    async def stream(request: Request) -> Response:
        return StreamingResponse(
            _updates(request, service, metrics), media_type="text/event-stream"
        )

    async def described(request: Request) -> Response:
        return JSONResponse(open_api(service))

    def guarded(handle: Callable[[Request], Awaitable[Response]]) -> Any:
        async def run(request: Request) -> Response:
            if token is not None and not _allowed(request, token):
                response: Response = JSONResponse({"error": "a token is needed"}, 401)
            else:
                response = await _answered(handle, request)
            metrics.requests.labels(request.url.path, str(response.status_code)).inc()
            return response

        return run

    routes = [
        Route("/events", guarded(events), methods=["POST"]),
        Route("/ask", guarded(ask), methods=["POST"]),
        Route("/features", guarded(features)),
        Route("/health", guarded(health)),
        Route("/metrics", guarded(scraped)),
        Route("/updates", guarded(stream)),
        Route("/openapi.json", guarded(described)),
        Route("/", guarded(page)),
    ]

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(service.close)

    return Starlette(routes=routes, lifespan=lifespan)


async def _answered(handle: Callable[[Request], Awaitable[Response]], request: Request) -> Response:
    """Answer a request; an error becomes one sentence with a status."""
    try:
        return await handle(request)
    except _TooLargeError as error:
        return JSONResponse({"error": str(error)}, 413)
    except (BusyServiceError, BusyError) as error:
        return JSONResponse({"error": str(error)}, 429, {"retry-after": "1"})
    except DiskError as error:
        return JSONResponse({"error": str(error)}, 503, {"retry-after": "5"})
    except SlidefoldError as error:
        return JSONResponse({"error": str(error), "row": error.row}, 422)
    except Exception:  # nothing of the inside goes out
        return JSONResponse({"error": "the request failed inside the service"}, 500)


class _TooLargeError(Exception):
    pass


async def _body(request: Request, largest: int) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > largest:
            raise _TooLargeError(f"a request may have at most {largest:,} bytes")
        parts.append(part)
    return b"".join(parts)


def _allowed(request: Request, token: str) -> bool:
    given = request.headers.get("authorization", "").removeprefix("Bearer ")
    given = given or request.query_params.get("token", "")
    return hmac.compare_digest(given.encode(), token.encode())


def _rows(table: Any) -> list[dict[str, Any]]:
    """Return a table as one dict per row; maps become dicts."""
    columns = {}
    for name in table.column_names:
        values = table[name].to_pylist()
        if pa.types.is_map(table[name].type):
            values = [None if value is None else dict(value) for value in values]
        columns[name] = values
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


async def _updates(request: Request, service: Service, metrics: Metrics) -> AsyncIterator[bytes]:
    """Yield the status every second, as server-sent events."""
    before, then = service.status()["events"], time.perf_counter()
    while not await request.is_disconnected():
        status = service.status()
        now = time.perf_counter()
        speed = (status["events"] - before) / max(now - then, 1e-9)
        before, then = status["events"], now
        told = {
            **status,
            "per_second": round(speed, 1),
            **metrics.latencies(),
            "latest": list(service.latest)[:5],
        }
        yield b"data: " + as_json(told) + b"\n\n"
        await asyncio.sleep(1.0)


def open_api(service: Service) -> dict[str, Any]:
    """Return the OpenAPI document of a service."""
    event = {"type": "object", "properties": {field.name: {} for field in service.schema}}
    answer = {
        "type": "object",
        "properties": {name: {} for name in service.settings.features.columns},
    }

    def body(schema: dict[str, Any]) -> dict[str, Any]:
        either = {"oneOf": [schema, {"type": "array", "items": schema}]}
        return {"content": {"application/json": {"schema": either}, ARROW: {}}}

    def said(text: str, content: dict[str, Any] | None = None) -> dict[str, Any]:
        return {"description": text, **(content or {})}

    refused = {
        "422": said("the rows do not fit; the error names the row and the field"),
        "413": said("the request is too large"),
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "slidefold", "version": __version__},
        "paths": {
            "/events": {
                "post": {
                    "summary": "Send events; the answer comes when they are safe",
                    "requestBody": body(event),
                    "responses": {
                        "200": said("how many were accepted, late, or known already"),
                        **refused,
                        "429": said("too many events wait: try again"),
                        "503": said("the disk takes no events"),
                    },
                }
            },
            "/ask": {
                "post": {
                    "summary": "Ask for the features of keys, now or at a time",
                    "parameters": [
                        {"name": "include", "in": "query", "schema": {"type": "boolean"}}
                    ],
                    "requestBody": body(event),
                    "responses": {"200": said("the features", body(answer)), **refused},
                }
            },
            "/features": {"get": {"summary": "The definition", "responses": {"200": said("")}}},
            "/health": {"get": {"summary": "The state", "responses": {"200": said("")}}},
            "/metrics": {"get": {"summary": "For Prometheus", "responses": {"200": said("")}}},
        },
    }

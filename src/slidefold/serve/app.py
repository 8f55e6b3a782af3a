"""The HTTP face of a service."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from math import ceil
from typing import Any

import pyarrow as pa
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from slidefold import __version__
from slidefold.definition.windows import counted
from slidefold.errors import BusyError, ColumnError, DataError, SlidefoldError, nearest
from slidefold.serve.between import Between
from slidefold.serve.openapi import POSITION, open_api
from slidefold.serve.rows import (
    ARROW,
    ContentTypeError,
    arrow_bytes,
    as_json,
    parse,
    require_value,
    table_of,
)
from slidefold.serve.service import BusyServiceError, DiskError, Service

LARGEST = 64 << 20  # bytes of a request
MOST = 512 << 20  # bytes of all requests that are read at one time
_LONG = 2 << 10  # bytes of questions: about 100 of them take a millisecond, and others wait
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
        self._by_status: dict[tuple[str, int], Counter] = {}
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

    def answered(self, path: str, status: int) -> None:
        """Note one request."""
        counter = self._by_status.get((path, status))
        if counter is None:  # to find it by its labels takes longer than to count
            counter = self._by_status[path, status] = self.requests.labels(path, str(status))
        counter.inc()

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
        seconds = sorted(self.latest)
        return {
            f"p{round(100 * part)}": round(1e3 * seconds[ceil(part * (len(seconds) - 1))], 3)
            if seconds
            else None
            for part in _PARTS
        }


def make_app(
    service: Service,
    *,
    token: str | None = None,
    largest: int = LARGEST,
    stopping: Callable[[], bool] = lambda: False,
) -> Starlette:
    """Return the application that serves a service; updates of pages end when it is `stopping`."""
    metrics = Metrics(service)
    on = service.settings.features.on
    direct = all(_is_json(service.schema.field(name).type) for name in (on, *service.asked))
    room = _Room(MOST)
    between = Between()

    async def events(request: Request) -> Response:
        kind = request.headers.get("content-type", "")
        async with _body(request, largest, room) as body:
            # Many events take milliseconds to read: questions need not wait for that.
            done = await asyncio.to_thread(lambda: service.submit(parse(body, kind)[0]))
        return Response(as_json(await asyncio.wrap_future(done)), media_type="application/json")

    async def ask(request: Request) -> Response:
        kind, include = request.headers.get("content-type", ""), _included(request)
        async with _body(request, largest, room) as body:
            if len(body) > _LONG:
                return await asyncio.to_thread(answered, body, kind, include)
            response = answered(body, kind, include)
        between.answered()
        return response

    def answered(body: bytes, content_type: str, include: bool) -> Response:
        start = time.perf_counter()
        content, kind = parse(body, content_type)
        if kind == "one" and not include and direct and isinstance(content, dict):
            answer, position = service.answer(_checked(content, service))
            metrics.asked(time.perf_counter() - start)
            return Response(as_json(answer), 200, _at(position), "application/json")
        needed = frozenset(service.schema.names) if include else service.asked
        table = table_of(content, service.schema, needed)
        answers, position = service.answer(table, include=include)
        new = [name for name in service.settings.features.columns if name in answers.column_names]
        metrics.asked(time.perf_counter() - start)
        if kind == "table":
            return Response(arrow_bytes(answers.select(new)), 200, _at(position), ARROW)
        rows = _rows(answers.select(new))
        text = as_json(rows if kind == "list" else rows[0])
        return Response(text, 200, _at(position), "application/json")

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
        told = {"version": __version__, **service.status()}
        if service.failed:
            return JSONResponse({"status": "takes no events", **told}, 503)
        return JSONResponse({"status": "ok", **told})

    async def scraped(request: Request) -> Response:
        return Response(metrics.text(), media_type="text/plain; version=0.0.4")

    async def page(request: Request) -> Response:
        text = files("slidefold.serve").joinpath("page.html").read_text(encoding="utf-8")
        return HTMLResponse(text)

    async def stream(request: Request) -> Response:
        return StreamingResponse(
            _updates(request, service, metrics, stopping), media_type="text/event-stream"
        )

    async def described(request: Request) -> Response:
        return JSONResponse(open_api(service))

    def guarded(handle: Callable[[Request], Awaitable[Response]]) -> Any:
        async def run(request: Request) -> Response:
            if token is not None and not _allowed(request, token):
                needed = {"www-authenticate": "Bearer"}
                response: Response = JSONResponse({"error": "a token is needed"}, 401, needed)
            elif _is_foreign(request):
                response = JSONResponse({"error": "pages of other places may not ask this"}, 403)
            else:
                response = await _answered(handle, request)
            metrics.answered(request.scope["path"], response.status_code)
            return response

        return run

    routes = [
        Route("/ask", guarded(ask), methods=["POST"]),  # first, since it is asked for most
        Route("/events", guarded(events), methods=["POST"]),
        Route("/features", guarded(features)),
        Route("/health", guarded(health)),
        Route("/metrics", guarded(scraped)),
        Route("/updates", guarded(stream)),
        Route("/openapi.json", guarded(described)),
        Route("/", guarded(page)),
    ]

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        between.loop = asyncio.get_running_loop()
        service.folds = between.fold
        yield
        await asyncio.to_thread(service.close)

    return Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _refused})


async def _refused(request: Request, error: Exception) -> Response:
    """Answer a path or a method that does not exist."""
    assert isinstance(error, HTTPException)
    text = f"{request.method} {request.url.path}: {error.detail.lower()}"
    return JSONResponse({"error": text}, error.status_code, error.headers)


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
    except ContentTypeError as error:
        return JSONResponse({"error": str(error)}, 415)
    except SlidefoldError as error:
        return JSONResponse({"error": str(error), "row": error.row}, 422)
    except Exception:  # nothing of the inside goes out
        return JSONResponse({"error": "the request failed inside the service"}, 500)


class _TooLargeError(Exception):
    pass


class _Room:
    """The memory for bodies of requests that are read at one time."""

    def __init__(self, most: int) -> None:
        self.most, self.used = most, 0

    def take(self, size: int) -> None:
        if self.used + size > self.most:
            raise BusyServiceError("other requests are being read")
        self.used += size


@asynccontextmanager
async def _body(request: Request, largest: int, room: _Room) -> AsyncIterator[bytes]:
    """Read the body of a request, which takes its room until it is handled."""
    parts, size = [], 0
    try:
        async for part in request.stream():
            if size + len(part) > largest:
                raise _TooLargeError(f"a request may have at most {largest:,} bytes")
            room.take(len(part))
            size += len(part)
            parts.append(part)
        yield b"".join(parts)
    finally:
        room.used -= size


def _included(request: Request) -> bool:
    text = request.query_params.get("include", "false")
    if text not in ("true", "false"):
        raise DataError(f"include must be true or false, got {text!r}")
    return text == "true"


def _is_foreign(request: Request) -> bool:
    """Tell whether a page of another place asks: a browser sends where the page is from."""
    origin = request.headers.get("origin")
    return origin is not None and origin.partition("://")[2] != request.headers.get("host")


def _allowed(request: Request, token: str) -> bool:
    given = request.headers.get("authorization", "").removeprefix("Bearer ")
    given = given or request.query_params.get("token", "")
    return hmac.compare_digest(given.encode(), token.encode())


def _at(position: int) -> dict[str, str]:
    """Return the header that tells how much of the log an answer knows."""
    return {POSITION: str(position)}


def _is_json(kind: Any) -> bool:
    """Tell whether JSON has values of a type as they are."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_int64(kind) or types.is_boolean(kind))


def _checked(question: dict[str, Any], service: Service) -> dict[str, Any]:
    """Return a question that has the fields it needs, and no others."""
    on = service.settings.features.on
    for name in service.asked:
        if name not in question:
            raise ColumnError(f"the field {name!r} is missing").at(0)
    for name in question:
        if name not in service.schema.names:
            raise ColumnError(
                f"there is no field {name!r}{nearest(name, service.schema.names)}"
            ).at(0)
    # Other fields of an event are allowed, and say nothing here.
    values = {
        name: require_value(value, service.schema.field(name)) for name, value in question.items()
    }
    asked = {name: values[name] for name in values if name in service.asked}
    return asked if values.get(on) is None else {**asked, on: values[on]}


def _rows(table: Any) -> list[dict[str, Any]]:
    """Return a table as one dict per row; maps become dicts."""
    columns = {}
    for name in table.column_names:
        values = table[name].to_pylist()
        if pa.types.is_map(table[name].type):
            values = [None if value is None else dict(value) for value in values]
        columns[name] = values
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


async def _updates(
    request: Request, service: Service, metrics: Metrics, stopping: Callable[[], bool]
) -> AsyncIterator[bytes]:
    """Yield the status every second, as server-sent events."""
    before, then = service.status()["events"], time.perf_counter()
    while not stopping() and not await request.is_disconnected():
        status = service.status()
        now = time.perf_counter()
        # The first update is sent at once: there is no speed yet.
        speed = None if now - then < 0.5 else round((status["events"] - before) / (now - then), 1)
        before, then = status["events"], now
        told = {
            **status,
            "per_second": speed,
            **metrics.latencies(),
            "lateness": _lateness(service),
            "choices": _choices(service),
            "latest": list(service.latest)[:5],
        }
        yield b"data: " + as_json(told) + b"\n\n"
        await asyncio.sleep(1.0)


def _lateness(service: Service) -> list[tuple[str, int]]:
    """Return how many events came how late: the upper end of each class, and their number."""
    unit = _unit(service)
    return [
        ("in order" if size == 0 else f"< {_length(2**size, unit)}", service.lags[size])
        for size in sorted(service.lags)
    ]


def _choices(service: Service) -> list[tuple[str, int]]:
    """Return how many events would be late with other watermarks, which are powers of two."""
    lags, unit = dict(service.lags), _unit(service)
    largest = max(lags, default=0)
    sizes = range(max(min(filter(None, lags), default=1), largest - 18), largest + 2)
    return [
        (_length(2 ** (size - 1), unit), sum(n for each, n in lags.items() if each >= size))
        for size in (sizes if largest else ())
    ]


def _unit(service: Service) -> int | None:
    on = service.settings.features.on
    return counted(on, pa.array([], service.schema.field(on).type))[0].unit


def _length(steps: int, unit: int | None) -> str:
    """Return a number of steps as a short text.

    >>> _length(2**20, 1000), _length(2**18, 1000), _length(2**7, None)
    ('1 s', '260 ms', '128')
    """
    if unit is None:
        return f"{steps:,}"
    seconds = steps * unit / 1e9
    units = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"), (1e-3, "ms"), (1e-6, "us"))
    size, name = next((each for each in units if seconds >= each[0]), units[-1])
    return f"{float(f'{seconds / size:.2g}'):g} {name}"

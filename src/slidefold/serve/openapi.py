"""The OpenAPI document of a service."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from slidefold import __version__
from slidefold.serve.rows import ARROW, LINES
from slidefold.serve.service import Service

POSITION = "slidefold-position"  # a header of answers: how much of the log they know


def open_api(service: Service) -> dict[str, Any]:
    """Return the OpenAPI document of a service."""
    fields = {field.name: _schema(field.type) for field in service.schema}
    features = service.settings.features
    event = {"type": "object", "properties": fields, "additionalProperties": False}
    answer = {"type": "object", "properties": {name: {} for name in features.columns}}
    counts = ("accepted", "late", "known", "position")
    taken = {"type": "object", "properties": {name: {"type": "integer"} for name in counts}}
    position = {POSITION: {"schema": {"type": "integer"}, "description": "of the log"}}
    schemas = {
        "Event": {**event, "required": list(fields)},
        "Question": {**event, "required": sorted(service.asked)},
        "Answer": answer,
        "Taken": taken,
        "Error": {
            "type": "object",
            "properties": {"error": {"type": "string"}, "row": {"type": ["integer", "null"]}},
            "required": ["error"],
        },
    }
    refused = {
        "401": _response("a token is needed", "Error"),
        "403": _response("a page of another place asked", "Error"),
        "413": _response("the request is too large", "Error"),
        "415": _response("the content type is not read here", "Error"),
        "422": _response("the rows do not fit; the error names the row and the field", "Error"),
        "429": _response("too much waits already: try again after Retry-After", "Error"),
    }
    include = {
        "name": "include",
        "in": "query",
        "description": "the question is a whole event and counts as if it had just arrived",
        "schema": {"type": "boolean", "default": False},
    }
    answered = {**_response("the features", "Answer", many=True), "headers": position}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"slidefold: {service.settings.about.get('pipeline', 'features')}",
            "version": __version__,
        },
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
        "paths": {
            "/events": {
                "post": {
                    "operationId": "send",
                    "summary": "Send events; the answer comes when they are safe",
                    "requestBody": {"required": True, "content": _content("Event", many=True)},
                    "responses": {
                        "200": _response("how many were accepted, late, or known", "Taken"),
                        **refused,
                        "503": _response("the disk takes no events: try again later", "Error"),
                    },
                }
            },
            "/ask": {
                "post": {
                    "operationId": "ask",
                    "summary": "Ask for the features of keys, now or at a time",
                    "parameters": [include],
                    "requestBody": {"required": True, "content": _content("Question", many=True)},
                    "responses": {"200": answered, **refused},
                }
            },
            "/features": _get("features", "The definition, its plan and the columns of an event"),
            "/health": _get("health", "What the service holds and has done"),
            "/metrics": _get("metrics", "The same for Prometheus", "text/plain"),
        },
    }


def _get(name: str, summary: str, kind: str = "application/json") -> dict[str, Any]:
    responses = {
        "200": {"description": summary, "content": {kind: {}}},
        "401": _response("a token is needed", "Error"),
    }
    return {"get": {"operationId": name, "summary": summary, "responses": responses}}


def _response(text: str, name: str, *, many: bool = False) -> dict[str, Any]:
    return {"description": text, "content": _content(name, many=many)}


def _content(name: str, *, many: bool = False) -> dict[str, Any]:
    """Return bodies of one schema; `many` of them may be a list, or a table."""
    one = {"$ref": f"#/components/schemas/{name}"}
    if not many:
        return {"application/json": {"schema": one}}
    either = {"oneOf": [one, {"type": "array", "items": one}]}
    content: dict[str, Any] = {"application/json": {"schema": either}, ARROW: {}}
    return content if name == "Answer" else {**content, LINES[0]: {}}


def _schema(kind: Any) -> dict[str, Any]:
    """Return the JSON values that a type takes."""
    types = pa.types
    if types.is_boolean(kind):
        return {"type": ["boolean", "null"]}
    if types.is_integer(kind):
        return {"type": ["integer", "null"], "format": str(kind)}
    if types.is_floating(kind):
        return {"type": ["number", "null"], "format": str(kind)}
    if types.is_string(kind) or types.is_large_string(kind):
        return {"type": ["string", "null"]}
    if types.is_decimal(kind):
        return {"type": ["string", "number", "null"], "description": str(kind)}
    if types.is_temporal(kind):
        return {"type": ["string", "integer", "null"], "description": str(kind)}
    return {"description": str(kind)}

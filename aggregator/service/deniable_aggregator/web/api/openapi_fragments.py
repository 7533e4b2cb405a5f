"""Parts of the OpenAPI document that no Struct has: addresses, envelopes, uploads, refusals."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from deniable_aggregator.web.application import DSSE
from deniable_shared.manifest.model import MANIFEST_TYPE
from deniable_shared.wire.problems import PROBLEM_MEDIA_TYPE, PROBLEMS
from deniable_shared.wire.report import ERRORS_MEDIA_TYPE, MAX_REPORTS, MAX_UPLOAD_BYTES, MEDIA_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Document = dict[str, Any]

UPLOAD_PATH = "/v1/collections/{collection}/reports"

PATH_PARAMETERS: Mapping[str, Document] = {
    "collection": {
        "description": "id or name of a collection; a name means its newest valid manifest",
        "schema": {"type": "string", "pattern": "^[a-z0-9-]{1,64}$"},
    },
    "epoch": {
        "description": "epoch index: unix seconds divided by epoch_seconds, rounded down",
        "schema": {"type": "string", "pattern": "^[0-9]{1,10}$"},
    },
    "release_id": {
        "description": "id of a release, as GET /v1/collections/{collection}/releases lists it",
        "schema": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
    },
    "alert_id": {
        "description": "id of an alert, as GET /v1/collections/{collection}/alerts lists it",
        "schema": {"type": "string", "pattern": "^[0-9a-f]{12}$"},
    },
    "link_id": {
        "description": "id of a read-only link, as GET /v1/collections/{collection}/links lists it",
        "schema": {"type": "string", "pattern": "^[0-9a-f]{12}$"},
    },
    "note_id": {
        "description": "id of a note, as GET /v1/collections/{collection}/notes lists it",
        "schema": {"type": "string", "pattern": "^[0-9a-f]{12}$"},
    },
    "name": {
        "description": "name of a local user",
        "schema": {"type": "string", "minLength": 1, "maxLength": 64},
    },
    "session_id": {
        "description": "id of a session, as GET /v1/sessions lists it",
        "schema": {"type": "string", "pattern": "^[0-9a-f]{12}$"},
    },
    "token_id": {
        "description": "id of a token, as GET /v1/tokens lists it",
        "schema": {"type": "string", "pattern": "^[0-9a-f]{12}$"},
    },
}

_BASE64: Document = {"type": "string", "contentEncoding": "base64"}
_SIGNATURE: Document = {
    "type": "object",
    "required": ["keyid", "sig"],
    "additionalProperties": False,
    "properties": {
        "keyid": {"type": "string", "pattern": "^ed25519:[A-Za-z0-9_-]{43}$"},
        "sig": _BASE64,
    },
}

BODY_SCHEMAS: Mapping[str, Document] = {
    DSSE: {
        "type": "object",
        "description": "DSSE envelope of a manifest, signed with the operator's key",
        "required": ["payload", "payloadType", "signatures"],
        "additionalProperties": False,
        "properties": {
            "payload": _BASE64,
            "payloadType": {"const": MANIFEST_TYPE},
            "signatures": {"type": "array", "items": _SIGNATURE, "minItems": 1, "maxItems": 8},
        },
    }
}

UPLOAD_PROBLEMS = (
    "collection-closed",
    "internal",
    "invalid-message",
    "length-required",
    "too-large",
    "too-many-requests",
    "unavailable",
    "unknown-collection",
    "unsupported-media-type",
)


def problem_responses(slugs: Iterable[str]) -> Document:
    """Responses of an operation that may answer these problems, by HTTP status."""
    titles: defaultdict[int, list[str]] = defaultdict(list)
    for slug in sorted(slugs):
        titles[PROBLEMS[slug].status].append(f"{PROBLEMS[slug].title} (`{PROBLEMS[slug].uri}`)")
    schema = {"$ref": "#/components/schemas/ProblemDocument"}
    return {
        str(status): {
            "description": "; ".join(listed),
            "content": {PROBLEM_MEDIA_TYPE: {"schema": schema}},
        }
        for status, listed in sorted(titles.items())
    }


def upload_operation(scheme: str) -> Document:
    """The upload of reports, which is answered before Flask."""
    binary = {"schema": {"type": "string", "format": "binary"}}
    return {
        "operationId": "upload",
        "tags": ["public"],
        "summary": "Upload sealed reports.",
        "description": (
            f"The body is an UploadRequest, at most {MAX_UPLOAD_BYTES} bytes. Devices send one "
            f"report a request and no token; up to {MAX_REPORTS} reports need a token of role "
            "relay. 200 is sent once the counts are durable: with an empty body when every report "
            "was accepted (a duplicate is accepted, counted once), else with UploadErrors naming "
            "the others."
        ),
        "security": [{}, {scheme: []}],
        "parameters": [
            {"name": "collection", "in": "path", "required": True, **PATH_PARAMETERS["collection"]}
        ],
        "requestBody": {"required": True, "content": {MEDIA_TYPE: binary}},
        "responses": {
            "200": {
                "description": "Counted, except the reports that the body names",
                "content": {ERRORS_MEDIA_TYPE: binary},
            },
            **problem_responses(UPLOAD_PROBLEMS),
        },
    }

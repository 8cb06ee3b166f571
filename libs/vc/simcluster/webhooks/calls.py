"""One call of one webhook: its address, the request and the response."""

import base64
import binascii
import io
import ssl
from functools import lru_cache
from typing import Final

import aiohttp
import msgspec

from vc.cluster.errors import (
    BadRequestError,
    ClusterError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    ServerError,
    TooManyRequestsError,
)
from vc.model.api.struct import JsonObject
from vc.model.faults import describe
from vc.simcluster.http.proxy import ServiceProxy
from vc.simcluster.http.reviews import USER
from vc.simcluster.verbs.admission import AdmissionRequest

TIMEOUT_SECONDS_DEFAULT: Final = 10
TIMEOUT_SECONDS_MAX: Final = 30
ANSWER_BYTES_MAX: Final = 6 * 1024 * 1024
_CHUNK_BYTES: Final = 64 * 1024
_CONTEXTS_CACHED_MAX: Final = 32
_REVIEW: Final = "admission.k8s.io/v1"
_HTTPS_PORT: Final = 443
_HTTP_OK: Final = 200
_BY_CODE: Final[dict[int, type[ClusterError]]] = {
    error.code: error
    for error in (
        ForbiddenError, NotFoundError, ConflictError, InvalidError, TooManyRequestsError,
    )
}  # fmt: skip


class DeniedError(ClusterError):
    """A webhook denied the request without an error code."""

    code = 400
    reason = ""


class WebhookFailedError(Exception):
    """The webhook could not be called, or its response could not be parsed."""


class Answer(msgspec.Struct, rename="camel"):
    """The response part of an AdmissionReview."""

    uid: str = ""
    allowed: bool = False
    status: JsonObject | None = None
    patch_type: str | None = None
    patch: str | None = None
    warnings: list[str] = []


class _Review(msgspec.Struct):
    response: Answer


def review(request: AdmissionRequest, uid: str) -> JsonObject:
    """Build the AdmissionReview for a request."""
    resource = request.resource
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    where = {"group": resource.group, "version": resource.version, "resource": resource.plural}
    body: JsonObject = {
        "uid": uid,
        "kind": kind,
        "resource": where,
        # Equivalent kinds are not converted here, so both kinds are always the same.
        "requestKind": kind,
        "requestResource": where,
        "name": request.name,
        "operation": request.operation,
        "userInfo": {"username": request.user, "groups": groups_of(request.user)},
        "object": request.object,
        "oldObject": request.old_object,
        "dryRun": request.dry_run,
        "options": request.options or None,
    }
    if request.namespace:
        body["namespace"] = request.namespace
    if request.subresource:
        body["subResource"] = body["requestSubResource"] = request.subresource
    return {"kind": "AdmissionReview", "apiVersion": _REVIEW, "request": body}


def groups_of(user: str) -> list[str]:
    """The groups that the API server adds to a user."""
    found = ["system:authenticated"]
    prefix, _, rest = user.partition("system:serviceaccount:")
    # Service accounts are in the group of all accounts and that of their namespace.
    # A user name that contains the text elsewhere is no service account.
    if not prefix and ":" in rest:
        found += ["system:serviceaccounts", f"system:serviceaccounts:{rest.split(':')[0]}"]
    return found + (["system:masters"] if user in ("", USER) else [])


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """The URL of a webhook, and the name that its certificate must have."""

    url: str
    server_hostname: str | None = None


def address_of(config: JsonObject, services: ServiceProxy) -> Address:
    """The address from the clientConfig: its url, or a registered service of this process."""
    if config.get("url"):
        return Address(url=config["url"])
    service = config.get("service") or {}
    namespace, name = service.get("namespace", ""), service.get("name", "")
    try:
        base = services.resolve(namespace, name, service.get("port", _HTTPS_PORT))
    except ClusterError as error:
        raise WebhookFailedError(error.message) from None
    path = service.get("path", "").removeprefix("/")
    # The certificate is issued for the service's DNS name, but the call goes to a local address.
    return Address(url=f"{base}/{path}", server_hostname=f"{name}.{namespace}.svc")


@lru_cache(maxsize=_CONTEXTS_CACHED_MAX)
def tls_context(ca_bundle: str) -> ssl.SSLContext:
    """A context that trusts only the given authorities, or the system's if none are given."""
    try:
        pem = base64.b64decode(ca_bundle, validate=True).decode()
        return ssl.create_default_context(cadata=pem or None)
    except (binascii.Error, ValueError, ssl.SSLError) as error:
        raise WebhookFailedError(f"caBundle cannot be read: {error}") from None


async def call(
    session: aiohttp.ClientSession, webhook: JsonObject, body: JsonObject, *, services: ServiceProxy
) -> Answer:
    """Call a webhook. WebhookFailedError if there is no valid response."""
    config = webhook.get("clientConfig") or {}
    address = address_of(config, services)
    is_tls = address.url.startswith("https:")
    # The range of Kubernetes: one webhook can delay a write by at most 30 seconds.
    seconds = min(webhook.get("timeoutSeconds") or TIMEOUT_SECONDS_DEFAULT, TIMEOUT_SECONDS_MAX)
    try:
        async with session.post(
            address.url,
            # A file-like body is streamed by aiohttp, which warns about large bytes objects.
            data=io.BytesIO(msgspec.json.encode(body)),
            headers={"Content-Type": "application/json", "Accept": "application/json"},
            ssl=tls_context(config.get("caBundle", "")) if is_tls else True,
            server_hostname=address.server_hostname if is_tls else None,
            timeout=aiohttp.ClientTimeout(total=seconds),
            # A redirect could send the object to a server that the configuration does not name.
            allow_redirects=False,
        ) as answer:
            raw = await _read_bounded(answer.content)
            status = answer.status
    except TimeoutError:
        raise WebhookFailedError(f'Post "{address.url}": no answer within {seconds} s') from None
    except aiohttp.ClientError as error:
        raise WebhookFailedError(f'Post "{address.url}": {describe(error)}') from None
    return _read_answer(raw, status, uid=body["request"]["uid"])


async def _read_bounded(content: aiohttp.StreamReader) -> bytes:
    """Read the whole response. WebhookFailedError if it is too large."""
    raw = bytearray()
    # Not `read(n)`, which returns the part that has arrived so far and not the whole response.
    async for chunk in content.iter_chunked(_CHUNK_BYTES):
        raw += chunk
        if len(raw) > ANSWER_BYTES_MAX:
            raise WebhookFailedError(f"the answer is larger than {ANSWER_BYTES_MAX} bytes")
    return bytes(raw)


def _read_answer(raw: bytes, status: int, *, uid: str) -> Answer:
    # Any other code means that no webhook has decided, so the failure policy applies.
    if status != _HTTP_OK:
        raise WebhookFailedError(
            f"the server answered {status}: {raw[:200].decode(errors='replace')}"
        )
    try:
        answer = msgspec.json.decode(raw, type=_Review).response
    except msgspec.DecodeError as error:
        raise WebhookFailedError(f"the answer is not an AdmissionReview: {error}") from None
    # A response for another request must not decide about this one.
    if answer.uid != uid:
        raise WebhookFailedError(f"the answer is for {answer.uid!r}, not for {uid!r}")
    return answer


def denial(name: str, answer: Answer) -> ClusterError:
    """The error for a denial, with the API server's message."""
    status = answer.status or {}
    why = status.get("message") or status.get("reason") or ""
    prefix = f'admission webhook "{name}" denied the request'
    message = f"{prefix}: {why}" if why else f"{prefix} without explanation"
    # The status code of the webhook is kept where the API has an error for it.
    kind = _BY_CODE.get(status.get("code") or 0, DeniedError)
    if kind is DeniedError and status.get("reason") == BadRequestError.reason:
        kind = BadRequestError
    return kind(message)


def failure(name: str, error: Exception) -> ClusterError:
    """The error for the client if a webhook with failurePolicy Fail could not be called."""
    return ServerError(
        f'Internal error occurred: failed calling webhook "{name}": failed to call webhook: {error}'
    )

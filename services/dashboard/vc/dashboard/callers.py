"""Authentication and authorization of callers: TokenReview and SubjectAccessReview, cached briefly.

A caller is identified by a bearer token, in `Authorization` or, behind the API server's service
proxy, which does not forward that header, in `X-Pyroclast-Authorization`. Rights are those of the
API server: the jobs of a namespace are shown to callers who may list them there, and queues to
callers who may list queues. Without a token a caller sees everything or nothing, as configured.
"""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, Final, Generic, TypeVar

import msgspec

from vc.cluster import Cluster, ClusterError
from vc.dashboard.logic.answers.scope import EVERYTHING, Scope
from vc.model.api.kinds import ACCESS_REVIEWS, JOBS, QUEUES, TOKENREVIEWS, Kind
from vc.model.api.struct import JsonObject
from vc.runtime.hosting.context import Context

PROXIED_HEADER: Final = "X-Pyroclast-Authorization"
TOKEN_CHARACTERS_MAX: Final = 16 * 1024
TOKEN_SECONDS: Final = 60.0
RIGHT_SECONDS: Final = 30.0
REFUSED_SECONDS: Final = 5.0
"""How long an answer of the API server is cached: an identity, a right, and a refusal."""
TOKENS_MAX: Final = 1_000
RIGHTS_MAX: Final = 20_000
REVIEWS_AT_ONCE_MAX: Final = 8
NAMESPACES_MAX: Final = 1_000
"""Limit of namespaces that are checked for one caller who may not list all of them."""

K = TypeVar("K")
V = TypeVar("V")


class DeniedError(Exception):
    """The request of the caller is refused. `status` is the HTTP status."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """A caller as a TokenReview reports it. Without a name it sent
    no token and may see everything."""

    name: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, list[str]] = {}

    @property
    def known(self) -> bool:
        return bool(self.name)


ANONYMOUS: Final = Caller()


class Remembered(Generic[K, V]):
    """A bounded cache with an expiry time per entry. The oldest entries are evicted first."""

    def __init__(self, *, entries_max: int) -> None:
        self._entries: OrderedDict[K, tuple[float, V]] = OrderedDict()
        self._entries_max = entries_max

    def get(self, key: K, *, now: float) -> V | None:
        found = self._entries.get(key)
        return found[1] if found is not None and now < found[0] else None

    def put(self, key: K, value: V, *, until: float) -> None:
        self._entries.pop(key, None)
        self._entries[key] = (until, value)
        # Bounded, because callers choose the keys.
        while len(self._entries) > self._entries_max:
            self._entries.popitem(last=False)


def token_of(headers: Mapping[str, str]) -> str:
    """The bearer token of a request, or empty without one. Raises
    DeniedError for any other header."""
    # Behind the service proxy only the first of these headers arrives.
    written = headers.get(PROXIED_HEADER) or headers.get("Authorization", "")
    if not written:
        return ""
    scheme, _, token = written.partition(" ")
    token = token.strip()
    # A token of unlimited length would be sent to the API server in a review.
    if scheme.lower() != "bearer" or not token or len(token) > TOKEN_CHARACTERS_MAX:
        raise DeniedError(
            401, "send a token as `Authorization: Bearer …`; nothing else is understood"
        )
    return token


class Callers:
    """Checks callers at the API server."""

    def __init__(self, context: Context, *, anonymous_sees_all: bool) -> None:
        self._cluster: Cluster = context.cluster
        self._clock = context.clock
        self._anonymous_sees_all = anonymous_sees_all
        self._tokens: Remembered[bytes, Caller] = Remembered(entries_max=TOKENS_MAX)
        self._rights: Remembered[bytes, bool] = Remembered(entries_max=RIGHTS_MAX)
        self._slots = asyncio.Semaphore(REVIEWS_AT_ONCE_MAX)

    async def identify(self, token: str) -> Caller:
        """The caller of a token. Raises DeniedError if the token is not valid."""
        if not token:
            # Without a token there is no user whose rights could be checked.
            if self._anonymous_sees_all:
                return ANONYMOUS
            raise DeniedError(
                401,
                "this dashboard wants a token: `Authorization: Bearer $(kubectl create token …)`; "
                "vcctl sends the one of your kubeconfig",
            )
        # The token is hashed, so that no readable token is kept in memory.
        key, now = hashlib.sha256(token.encode()).digest(), self._clock.monotonic()
        found = self._tokens.get(key, now=now)
        if found is None:
            found = await self._review_token(token)
            # A refusal is cached too, so that a wrong token cannot flood
            # the API server with reviews.
            seconds = TOKEN_SECONDS if found.known else REFUSED_SECONDS
            self._tokens.put(key, found, until=now + seconds)
        if not found.known:
            raise DeniedError(401, "the API server does not know this token, or it has expired")
        return found

    async def _review_token(self, token: str) -> Caller:
        answer = await self._review(TOKENREVIEWS, {"token": token})
        user = answer.get("user") or {}
        if not answer.get("authenticated") or not user.get("username"):
            return ANONYMOUS
        return Caller(
            name=str(user["username"]),
            uid=str(user.get("uid") or ""),
            groups=tuple(user.get("groups") or ()),
            extra=user.get("extra") or {},
        )

    async def may_list(self, caller: Caller, kind: Kind, *, namespace: str = "") -> bool:
        """Whether the caller may list a kind in a namespace, or in
        all namespaces if none is given."""
        # `identify` returns a caller without a name only where anonymous callers may see
        # everything.
        if not caller.known:
            return True
        # The key covers the whole caller, because groups and extra values affect the rights.
        key = hashlib.sha256(msgspec.json.encode([caller, kind.topic, namespace])).digest()
        now = self._clock.monotonic()
        known = self._rights.get(key, now=now)
        if known is None:
            known = await self._review_right(caller, kind, namespace)
            self._rights.put(key, known, until=now + (RIGHT_SECONDS if known else REFUSED_SECONDS))
        return known

    async def _review_right(self, caller: Caller, kind: Kind, namespace: str) -> bool:
        attributes = {"verb": "list", "group": kind.group, "resource": kind.plural}
        answer = await self._review(
            ACCESS_REVIEWS,
            {
                "user": caller.name,
                "uid": caller.uid,
                "groups": list(caller.groups),
                "extra": caller.extra,
                "resourceAttributes": {**attributes, "namespace": namespace},
            },
        )
        # A denial of any authorizer wins over a permission.
        return answer.get("allowed") is True and answer.get("denied") is not True

    async def _review(self, kind: Kind, spec: JsonObject) -> dict[str, Any]:
        """The status of a review. Access is refused while the API server does not answer."""
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "spec": spec}
        try:
            # Bounded, so that many callers cannot flood the API server with reviews.
            async with self._slots:
                answer = await self._cluster.create(kind, body)
        except ClusterError as error:
            raise DeniedError(
                503,
                f"your rights cannot be checked, so nothing is shown: {kind.plural}: {error.message}",
            ) from None
        status = answer.get("status")
        return status if isinstance(status, dict) else {}

    async def scope(self, caller: Caller, namespaces: Iterable[str]) -> Scope:
        """Which of these namespaces the caller may see."""
        # Most callers may see everything, and then no namespace has to be checked.
        if await self.may_list(caller, JOBS):
            return EVERYTHING
        # Bounded, because each namespace may cost a review at the API server.
        listed = sorted(namespaces)[:NAMESPACES_MAX]
        seen = await asyncio.gather(
            *(self.may_list(caller, JOBS, namespace=name) for name in listed)
        )
        return Scope(namespaces=frozenset(n for n, ok in zip(listed, seen, strict=True) if ok))

    async def check_queues(self, caller: Caller) -> None:
        """Raise DeniedError if the caller may not list queues."""
        if not await self.may_list(caller, QUEUES):
            raise DeniedError(403, f"you may not list queues.{QUEUES.group}")

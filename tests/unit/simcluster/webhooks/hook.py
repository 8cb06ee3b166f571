"""A webhook that tests configure, and the rule that selects the creation of ConfigMaps."""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from aiohttp import web

from vc.model.api.struct import Json, JsonObject

GROUP: Final = "admissionregistration.k8s.io"
RULE: Final[JsonObject] = {
    "operations": ["CREATE"],
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["configmaps"],
}
Register = Callable[..., Awaitable[None]]


class Hook:
    """A webhook that answers as it is told and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[JsonObject] = []
        self.answer: JsonObject = {"allowed": True}
        self.pause_seconds = 0.0

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.asked.append(body["request"])
        await asyncio.sleep(self.pause_seconds)
        response = {"uid": body["request"]["uid"], **self.answer}
        review = {**body, "response": response}
        return web.json_response(review)

    def patches(self, *operations: Json) -> None:
        encoded = base64.b64encode(msgspec.json.encode(operations)).decode()
        self.answer = {"allowed": True, "patchType": "JSONPatch", "patch": encoded}

"""A job with a secret in every place where a template takes free text, each another one.

`Planted.secrets` says which text is in which place: a test runs the job and then looks for all of them
in everything that leaves the API server.
"""

import base64
import contextlib
import copy
import hashlib
import json
import zlib
from dataclasses import dataclass, field
from typing import Final

from vc.model.api.keys import LAST_APPLIED
from vc.model.api.struct import JsonObject

_ZLIB: Final = b"\x78"
_ZLIB_CHECK: Final = 31
"""The first two bytes of a stream are a multiple of it."""
OWN_ANNOTATION: Final = "example.com/connection"


@dataclass
class Planted:
    """Objects with secrets in them."""

    secrets: dict[str, str] = field(default_factory=dict)
    """Place to the text that was planted there."""

    def text(self, place: str) -> str:
        """A new secret, known by its place."""
        digest = hashlib.sha256(place.encode()).hexdigest()[:24]
        self.secrets[place] = f"planted{digest}"
        return self.secrets[place]

    def job(self, manifest: JsonObject) -> JsonObject:
        """The job with secrets in its metadata, plugin arguments, claims and templates."""
        job = copy.deepcopy(manifest)
        annotations = job["metadata"].setdefault("annotations", {})
        annotations[OWN_ANNOTATION] = self.text("annotation of the job")
        plugins = job["spec"].setdefault("plugins", {})
        plugins["env"] = [f"--token={self.text('plugin flag')}", self.text("plugin argument")]
        for task in job["spec"]["tasks"]:
            self.template(task["template"], at=f"task {task['name']}")
        annotations[LAST_APPLIED] = json.dumps(job)
        return job

    def claim(self, at: str) -> JsonObject:
        """A claim's spec, as a job's volume brings it."""
        return {
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": "1Gi"}},
            "dataSource": {"kind": "Image", "name": self.text(f"{at} data source")},
            "notAField": self.text(f"{at} unknown field"),
        }

    def template(self, template: JsonObject, *, at: str) -> None:
        """Change a pod template, or a pod, in place."""
        annotations = template.setdefault("metadata", {}).setdefault("annotations", {})
        annotations[OWN_ANNOTATION] = self.text(f"{at} annotation")
        spec = template["spec"]
        spec["volumes"] = self._volumes(at)
        spec["imagePullSecrets"] = [{"name": self.text(f"{at} pull secret")}]
        spec["dnsConfig"] = {"searches": [self.text(f"{at} dns search")]}
        spec["hostAliases"] = [{"ip": "10.0.0.1", "hostnames": [self.text(f"{at} host alias")]}]
        init = {"name": "init", "image": "example.com/init:1"}
        spec["initContainers"] = [self._container(init, at=f"{at} init")]
        for container in spec["containers"]:
            self._container(container, at=f"{at} {container['name']}")

    def _container(self, container: JsonObject, *, at: str) -> JsonObject:
        container["command"] = ["sh", "-c", f"connect --password={self.text(f'{at} command')}"]
        container["args"] = ["--token", self.text(f"{at} argument")]
        container["env"] = [
            {"name": "PASSWORD", "value": self.text(f"{at} env value")},
            {"name": "ENCODED", "value": _base64(self.text(f"{at} encoded env value"))},
        ]
        container["workingDir"] = f"/{self.text(f'{at} working directory')}"
        container["terminationMessagePath"] = f"/{self.text(f'{at} message path')}"
        container["volumeMounts"] = [
            {"name": "inline", "mountPath": "/x", "subPath": self.text(f"{at} sub path")}
        ]
        if not at.endswith(" init"):
            container["livenessProbe"] = {"exec": {"command": [self.text(f"{at} liveness")]}}
            container["readinessProbe"] = self._http(f"{at} readiness")
            container["startupProbe"] = self._http(f"{at} startup")
            container["lifecycle"] = {
                "postStart": {"exec": {"command": [self.text(f"{at} post start")]}},
                "preStop": self._http(f"{at} pre stop"),
            }
        return container

    def _http(self, at: str) -> JsonObject:
        header = {"name": "Authorization", "value": f"Bearer {self.text(f'{at} header')}"}
        return {
            "httpGet": {"port": 80, "path": f"/{self.text(f'{at} path')}", "httpHeaders": [header]}
        }

    def _volumes(self, at: str) -> list[JsonObject]:
        audience = {"audience": self.text(f"{at} audience"), "path": "token"}
        attributes = {"password": self.text(f"{at} volume attribute")}
        labels = {
            "path": self.text(f"{at} downward path"),
            "fieldRef": {"fieldPath": "metadata.name"},
        }
        return [
            {"name": "inline", "emptyDir": {}},
            {"name": "token", "projected": {"sources": [{"serviceAccountToken": audience}]}},
            {"name": "driver", "csi": {"driver": "csi.example.com", "volumeAttributes": attributes}},
            {"name": "labels", "downwardAPI": {"items": [labels]}},
            {"name": "share", "nfs": {"server": "s", "path": f"/{self.text(f'{at} nfs path')}"}},
            {"name": "host", "hostPath": {"path": f"/{self.text(f'{at} host path')}"}},
            {"name": "flex", "flexVolume": {
                "driver": "example.com/flex", "options": {"key": self.text(f"{at} flex option")},
            }},
        ]  # fmt: skip

    def found_in(self, content: bytes) -> list[str]:
        """Places whose secrets are in the content, as they are, as JSON writes them, or in base64."""
        return [
            place
            for place, secret in self.secrets.items()
            if any(form in content for form in in_any_form(secret))
        ]


def in_any_form(text: str) -> list[bytes]:
    """As it is, in base64 at each of the three positions, and as JSON writes it."""
    forms = [text.encode(), json.dumps(text)[1:-1].encode()]
    for shift in range(3):
        coded = base64.b64encode(b"-" * shift + text.encode())
        forms.append(coded[4:-4])
    return forms


def unpacked(content: bytes) -> bytes:
    """What is compressed in it (the inputs of recorded sessions are), wherever it begins."""
    view, found, at = memoryview(content), [], content.find(_ZLIB)
    while at >= 0:
        if int.from_bytes(view[at : at + 2], "big") % _ZLIB_CHECK == 0:
            with contextlib.suppress(zlib.error):
                found.append(zlib.decompressobj().decompress(view[at:]))
        at = content.find(_ZLIB, at + 1)
    return b"".join(found)


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()

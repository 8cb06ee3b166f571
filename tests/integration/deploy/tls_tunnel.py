"""TLS in front of a server that has none, as stunnel does it.

The Redis that package registries give is built without TLS. What is to be proven is our client's part
(its trust, its refusal, its password through the tunnel), and behind this one stands the real server.
"""

import asyncio
import contextlib
import ssl
from pathlib import Path

from vc.parts.certificates import Authority, write_pair
from vc.parts.ports import LOOPBACK

CHUNK_BYTES = 65_536


class TlsTunnel:
    """`port` leads, encrypted, to `target_port` on loopback; `ca` is whom to trust."""

    def __init__(self, *, target_port: int, folder: Path) -> None:
        self._target_port = target_port
        authority = Authority("pyroclast-tunnel")
        pair = authority.issue_server("redis", hosts=(LOOPBACK, "localhost"))
        certificate, key = write_pair(pair, folder, "tunnel")
        self.ca = folder / "tunnel-ca.crt"
        self.ca.write_bytes(authority.key_pair.certificate)
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._context.load_cert_chain(certificate, key)
        self._server: asyncio.Server | None = None
        self.port = 0
        self.connections = 0
        """Whose handshake was finished."""

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, LOOPBACK, 0, ssl=self._context)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(OSError):
            behind_reader, behind_writer = await asyncio.open_connection(
                LOOPBACK, self._target_port
            )
            await asyncio.gather(_pump(reader, behind_writer), _pump(behind_reader, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while chunk := await reader.read(CHUNK_BYTES):
            writer.write(chunk)
            await writer.drain()
    except OSError:
        return
    finally:
        writer.close()

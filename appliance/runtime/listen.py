"""The addresses to listen on, bound by the supervisor: a crashed web process loses no connection."""

from __future__ import annotations

import errno
import fcntl
import socket
import struct

from appliance.core.errors import VitrineError


SIOCGIFADDR = 0x8915
# Virtual networks of containers and machines: nobody types their addresses.
INNER = ("lo", "docker", "br-", "veth", "virbr", "cni", "podman")
BACKLOG = 2048


class AddressRefused(VitrineError):
    """The address cannot be listened on."""

    busy = False


class AddressBusy(AddressRefused):
    """Another program listens there."""

    busy = True


def bind(host: str, port: int) -> list[socket.socket]:
    """Listen at once; connections wait in the queue until the web process is up."""
    if host:
        return [_listener(_family(host), host, port)]
    sockets = [_listener(socket.AF_INET, "0.0.0.0", port)]
    try:
        sockets.append(_listener(socket.AF_INET6, "::", port))
    except AddressRefused as refusal:
        # A kernel without IPv6 is fine; a program that answers there in our place is not.
        if refusal.busy:
            sockets[0].close()
            raise
    return sockets


def urls(host: str, port: int) -> list[str]:
    """How the pages can be reached, this machine first."""
    if host not in {"", "0.0.0.0", "::"}:
        return [f"http://{f'[{host}]' if ':' in host else host}:{port}"]
    return [f"http://localhost:{port}", *(f"http://{address}:{port}" for address in lan_addresses())]


def lan_addresses() -> list[str]:
    """IPv4 addresses of this machine's networks, without asking any name server."""
    found = [_address(name) for _, name in socket.if_nameindex() if not name.startswith(INNER)]
    return [address for address in found if address and not address.startswith(("127.", "169.254."))]


class Probe:
    """Asks the web process for a page over one patient connection."""

    def __init__(self, host: str, port: int) -> None:
        self._place = ("127.0.0.1" if host in {"", "0.0.0.0"} else "::1" if host == "::" else host, port)
        self._connection: socket.socket | None = None

    def answered(self) -> bool:
        """True once anything came back; never waits."""
        try:
            if self._connection is None:
                self._connection = self._ask()
            data = self._connection.recv(1)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        return bool(data)

    def _ask(self) -> socket.socket:
        connection = socket.create_connection(self._place, timeout=1)
        connection.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        connection.setblocking(False)
        return connection


def _address(interface: str) -> str:
    request = struct.pack("256s", interface.encode()[:15])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            return socket.inet_ntoa(fcntl.ioctl(probe.fileno(), SIOCGIFADDR, request)[20:24])
        except OSError:
            return ""


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _listener(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    listener = None
    try:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        if listener is not None:
            listener.close()
        raise _refusal(host, port, error) from None
    return listener


def _refusal(host: str, port: int, error: OSError) -> AddressRefused:
    if error.errno == errno.EADDRINUSE:
        return AddressBusy(f"Port {port} is used by another program", "Choose another one with --port.")
    if error.errno == errno.EACCES:
        return AddressRefused(f"Port {port} is reserved for root", "Choose one above 1023 with --port.")
    return AddressRefused(f"Cannot listen on {host}: {error.strerror}", "Name an address of this machine.")

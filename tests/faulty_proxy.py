"""A TCP proxy before a service of the tests, that refuses, delays or hangs up when it is told to."""

import contextlib
import socket
import threading
import time
from enum import Enum


class Fault(Enum):
    NONE = "none"
    REFUSE = "refuse"
    SLOW = "slow"


class FaultyProxy:
    """Listens on a free port of this machine; `fault` counts for bytes from now on."""

    def __init__(self, host: str, port: int, *, delay_s: float = 0.3) -> None:
        self.fault = Fault.NONE
        self.connections = 0
        self._target = (host, port)
        self._delay_s = delay_s
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                theirs, _ = self._listener.accept()
                self.connections += 1
                if self.fault is Fault.REFUSE:
                    theirs.close()
                    continue
                ours = socket.create_connection(self._target)
                for one, other in ((theirs, ours), (ours, theirs)):
                    threading.Thread(target=self._pump, args=(one, other), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if self.fault is Fault.REFUSE:
                    break
                if self.fault is Fault.SLOW:
                    time.sleep(self._delay_s)
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

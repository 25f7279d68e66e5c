"""Runs a command while forwarding a loopback TCP port to the index proxy's unix socket.

    python forward.py PORT SOCKET COMMAND [ARGUMENT ...]

Runs inside the sandbox, whose network is loopback only, under any Python from 3.6 on: installers speak TCP,
the way out is a unix socket. Exits with the status of the command (128 + n after signal n, 127 where it
can't be found). Standard library only.
"""

# mypy: ignore-errors

import os
import socket
import subprocess
import sys
import threading

CHUNK = 1 << 16


def pump(source, sink):
    """Copy bytes until the source ends; then tell the sink that no more will come."""
    try:
        while True:
            data = source.recv(CHUNK)
            if not data:
                break
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def carry(client, socket_path):
    """Connect one client to the proxy and carry both directions."""
    upstream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        upstream.connect(socket_path)
        back = threading.Thread(target=pump, args=(upstream, client), daemon=True)
        back.start()
        pump(client, upstream)
        back.join()
    except OSError:
        pass
    finally:
        client.close()
        upstream.close()


def serve(listener, socket_path):
    """Accept clients for as long as the process lives."""
    while True:
        client, _ = listener.accept()
        threading.Thread(target=carry, args=(client, socket_path), daemon=True).start()


def main(arguments):
    """Serve and run the command."""
    port, socket_path, command = int(arguments[0]), arguments[1], arguments[2:]
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(128)
    threading.Thread(target=serve, args=(listener, socket_path), daemon=True).start()
    try:
        status = subprocess.call(command)
    except OSError as error:
        sys.stderr.write("can't run %s: %s\n" % (command[0], error.strerror))
        status = 127
    sys.stdout.flush()
    os._exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main(sys.argv[1:])

#!/usr/bin/env python3
"""Serves a folder on loopback for the tests of the packages: `serve.py DIR PORT_FILE` writes its port into PORT_FILE.

Below /cut, a file ends in the middle, though its whole length was announced. POST returns what a service returns for a prompt.
"""
import http.server
import sys
from functools import partial
from pathlib import Path


class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        if not self.path.startswith("/cut/"):
            return super().do_GET()
        file = Path(self.translate_path(self.path[len("/cut"):]))
        content = file.read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        # The list of checksums is whole, so that the archive is asked for.
        self.wfile.write(content if file.name == "SHA256SUMS" else content[: len(content) // 2])

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        answer = b"rendered by the service"
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        """A client with a full disk ends the connection."""


server = Server(("127.0.0.1", 0), partial(Handler, directory=sys.argv[1]))
Path(sys.argv[2] + ".new").write_text(str(server.server_port))
Path(sys.argv[2] + ".new").rename(sys.argv[2])
server.serve_forever()

# SPDX-License-Identifier: GPL-2.0-or-later
"""A stripped program gets its names from a debuginfod server; one that never answers holds nothing
up."""

import http.server
import os
import re
import socket
import subprocess
import threading
import time

import ptop_support as ps

LONG_S = 60
FLAG = "--debuginfod" if os.getuid() else "--debuginfod-as-root"


class Handler(http.server.BaseHTTPRequestHandler):
    """/buildid/ID/debuginfo of one file."""

    def do_GET(self):  # pylint: disable=invalid-name
        build_id, content = self.server.debug_file
        if self.path != f"/buildid/{build_id}/debuginfo":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


def _stripped():
    """A program that spins, without its symbols, and (build-id, debug file)."""
    directory = ps.scratch_dir()
    source = os.path.join(directory, "spin.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write("volatile unsigned long sink;\n"
                   "__attribute__((noinline)) static void spin_far_away(void)\n"
                   "{ for (int i = 0; i < 100000; i++) sink += i; }\n"
                   "int main(void) { for (;;) spin_far_away(); }\n")
    program = ps.build_c(source, os.path.join(directory, "spin"), flags=["-Wl,--build-id=sha1"])
    debug = os.path.join(directory, "spin.debug")
    subprocess.run([ps.need_tool("objcopy"), "--only-keep-debug", program, debug], check=True)
    subprocess.run([ps.need_tool("strip"), program], check=True)
    notes = subprocess.run([ps.need_tool("readelf"), "-n", program], check=True,
                           capture_output=True, text=True).stdout
    with open(debug, "rb") as file:
        content = file.read()
    os.unlink(debug)
    return program, (re.search(r"Build ID: ([0-9a-f]{40})", notes).group(1), content)


def _environment(port):
    # Nothing that others keep or set, and no names kept from before.
    return {**os.environ, "DEBUGINFOD_URLS": f"http://127.0.0.1:{port}/",
            "DEBUGINFOD_CACHE_PATH": os.path.join(ps.scratch_dir(), "debuginfod"),
            "no_proxy": "127.0.0.1", "http_proxy": ""}


def _start(program):
    process = subprocess.Popen([program], stdin=subprocess.DEVNULL)
    ps.at_end(lambda: (process.kill(), process.wait()))
    return process.pid


def test_names_come_from_a_server():
    ps.need_perf()
    ps.need_tool("debuginfod-find")
    program, debug_file = _stripped()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.debug_file = debug_file
    threading.Thread(target=server.serve_forever, daemon=True).start()
    ps.at_end(server.shutdown)
    environment = _environment(server.server_port)
    pid = _start(program)
    with ps.Terminal([FLAG, "--no-cache", "-e", "cpu-clock", "-d", 0.5, "-K", "-V", "functions",
                      "-p", pid], cols=100, env=environment) as terminal:
        terminal.wait_for("spin_far_away", LONG_S)
        terminal.keys("q")
        assert terminal.wait_exit(LONG_S) == 0
    # Not asked for: not there.
    refresh, = ps.run_json(["-n", 1, "-d", 2, "-K", "--no-cache", "-p", pid], env=environment)
    assert "spin_far_away" not in str(refresh), refresh


def test_a_server_that_never_answers():
    ps.need_perf()
    ps.need_tool("debuginfod-find")
    program, _ = _stripped()
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(16)
    ps.at_end(listener.close)
    environment = _environment(listener.getsockname()[1])
    pid = _start(program)
    with ps.Terminal([FLAG, "--no-cache", "-e", "cpu-clock", "-d", 0.5, "-K", "-V", "functions",
                      "-p", pid], cols=100, env=environment) as terminal:
        terminal.wait_for(r"spin", LONG_S)
        own = terminal.pid()

        def downloads():
            found = subprocess.run(["pgrep", "-P", str(own), "-f", "debuginfod-find"],
                                   capture_output=True, text=True, check=False).stdout.split()
            return [int(pid) for pid in found if ps.is_running(int(pid))]

        running = ps.wait_until(downloads, LONG_S, "a download")
        first = terminal.frame()
        ps.wait_until(lambda: terminal.frame() != first, LONG_S, "the screen stands still")
        start = time.monotonic()
        terminal.keys("q")
        assert terminal.wait_exit(LONG_S) == 0
        print(f"  it ended in {time.monotonic() - start:.2f} s")
        ps.wait_until(lambda: not any(ps.is_running(pid) for pid in running), LONG_S,
                      "a download lives on")


def test_it_is_refused_with_the_reason():
    environment = {**os.environ, "DEBUGINFOD_URLS": ""}
    done = ps.run([FLAG, "-b", "-n", 1], env=environment)
    assert done.returncode == 1 and "DEBUGINFOD_URLS" in done.stderr, done.stderr
    if os.getuid() == 0:
        done = ps.run(["--debuginfod", "-b", "-n", 1], env=environment)
        assert done.returncode == 1 and "--debuginfod-as-root" in done.stderr, done.stderr


if __name__ == "__main__":
    ps.main(globals())

# SPDX-License-Identifier: GPL-2.0-or-later
"""Waiting with deadlines, skipping, retrying and cleaning up: see ptop_support."""

import atexit
import os
import shutil
import tempfile
import time
import traceback

TOP_SRCDIR = os.environ.get("top_srcdir") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
)
TOP_BUILDDIR = os.environ.get("top_builddir") or os.path.join(TOP_SRCDIR, "build")
PTOP = os.environ.get("PTOP") or os.path.join(TOP_BUILDDIR, "ptop")
POLL_S = 0.02
DEADLINE_S = 10.0


class Skip(Exception):
    """The machine cannot run this test; the text says why."""


class Timeout(AssertionError):
    """A condition did not come true before its deadline."""


def skip(reason):
    raise Skip(reason)


def wait_until(condition, deadline_s=DEADLINE_S, what="condition"):
    """Polls condition() until it is true; returns its value."""
    end = time.monotonic() + deadline_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Timeout(f"{what} did not come true within {deadline_s:g} s")
        time.sleep(POLL_S)


def retry(times, what, measure):
    """For measurements that depend on the machine's timing: measure() may fail all but once.

    Every attempt is printed, so that a test which needs more than one is seen in its log. Returns
    what measure() returned; after `times` failures raises the last one.
    """
    for attempt in range(1, times + 1):
        try:
            value = measure()
        except AssertionError as failure:
            print(f"  {what}: attempt {attempt} of {times}: {failure}", flush=True)
            if attempt == times:
                raise
        else:
            print(f"  {what}: attempt {attempt} of {times}: passed: {value}", flush=True)
            return value


_cleanups = []


def at_end(action):
    """Does action() when the running test_* function is over, the last first."""
    _cleanups.append(action)


def clean_up():
    while _cleanups:
        try:
            _cleanups.pop()()
        except Exception:  # pylint: disable=broad-except
            traceback.print_exc()


atexit.register(clean_up)


def scratch_dir():
    """A directory of this test, removed at its end."""
    path = tempfile.mkdtemp(prefix="ptop-test-")
    at_end(lambda: shutil.rmtree(path, ignore_errors=True))
    return path

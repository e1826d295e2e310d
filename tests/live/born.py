# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads and processes born before, while and after ptop opens its events: all are seen."""

import os
import subprocess

import ptop_support as ps

LONG_S = 60

# Threads are born without a pause, each for a moment, and one of them runs on at the end of each
# burst under a name of its own; so do children.
BIRTHS = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}
volatile unsigned long sink;
__attribute__((noinline)) void spin_of_a_short_one(void)
{
	for (int i = 0; i < 20000; i++)
		sink += i;
}
__attribute__((noinline)) void spin_for_good(void)
{
	for (;;)
		for (int i = 0; i < 20000; i++)
			sink += i;
}
static void *short_one(void *arg)
{
	spin_of_a_short_one();
	return arg;
}
static void *long_one(void *arg)
{
	char name[16];
	snprintf(name, sizeof(name), "thread-%ld", (long)arg);
	prctl(PR_SET_NAME, name);
	spin_for_good();
	return arg;
}
static void child(long number)
{
	char name[16];
	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(name, sizeof(name), "child-%ld", number);
	prctl(PR_SET_NAME, name);
	spin_for_good();
}
int main(int argc, char **argv)
{
	double seconds = atof(argv[1]), start;
	long nr = 0, most = argc > 2 ? atol(argv[2]) : 6;
	pthread_t thread;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	puts("ready");
	fflush(stdout);
	getchar();
	start = now();
	while (nr < most) {
		pthread_create(&thread, NULL, short_one, NULL);
		pthread_join(thread, NULL);
		if (now() - start < seconds * nr / most)
			continue;
		nr++;
		pthread_create(&thread, NULL, long_one, (void *)nr);
		child(nr);
	}
	printf("all\n");
	fflush(stdout);
	for (;;)
		pause();
}
"""


def _births(directory):
    source = os.path.join(directory, "births.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(BIRTHS)
    return ps.build_c(source, os.path.join(directory, "births"))


class Births:
    """The program, born and not yet told to begin."""

    def __init__(self, seconds, most):
        program = _births(ps.scratch_dir())
        self.process = subprocess.Popen([program, str(seconds), str(most)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        ps.at_end(self.stop)
        self.pid = self.process.pid
        assert self.process.stdout.readline() == "ready\n"

    def begin(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def stop(self):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if not stream.closed:
                stream.close()


def _numbers(names, kind):
    return sorted(int(name.split("-")[1]) for name in names if name.startswith(kind + "-"))


def test_all_that_are_born_while_ptop_opens_are_seen():
    ps.need_perf()
    most = 8

    def measure():
        births = Births(0.6, most)
        births.begin()
        try:
            # 16 that run on share the processors: each has some tenths of a second.
            refresh, = ps.run_json(["-n", 1, "-d", 4, "-K", "--group", "command", "--rows", 0,
                                    "--min-percent", 0, "-p", births.pid])
        finally:
            births.stop()
        names = {node["group"] for node in refresh["tree"]}
        threads, children = _numbers(names, "thread"), _numbers(names, "child")
        assert threads == list(range(1, most + 1)), f"threads seen: {threads}"
        # A child that was there before ptop is not a target; from the first one on all are.
        assert children, f"no child seen: {sorted(names)}"
        assert children == list(range(children[0], most + 1)), f"children seen: {children}"
        return f"all {most} threads, children from {children[0]} on"

    ps.retry(3, "births", measure)


def test_those_born_later_follow_a_change_of_the_event():
    ps.need_perf()
    births = Births(0.2, 2)
    with ps.Terminal(["-e", "cpu-clock", "-F", 200, "-d", 0.5, "-K", "-g", "command", "-p",
                      births.pid], cols=100) as terminal:
        terminal.wait_for(r"^ptop +cpu-clock 200Hz", LONG_S)
        births.begin()
        for key, event in ((None, "cpu-clock"), (">", "task-clock"), ("<", "cpu-clock")):
            if key:
                terminal.keys(key)
                terminal.wait_for(rf"^ptop +{event} ", LONG_S)
                terminal.keys("z")
                terminal.wait_for("since z", LONG_S)
            for name in ("thread-1", "thread-2", "child-1", "child-2"):
                terminal.wait_for(name, LONG_S)
        terminal.keys("q")
        assert terminal.wait_exit(LONG_S) == 0


if __name__ == "__main__":
    ps.main(globals())

// SPDX-License-Identifier: GPL-2.0-or-later
// usage: landing catch|destructor|terminate: where an exception leads.
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>

#define NOINLINE __attribute__((noinline, noclone))
static volatile unsigned long sink;

NOINLINE void spin_of_it()
{
	for (int i = 0; i < 100000; i++)
		sink = sink + 1;
}

NOINLINE void spin_for_good()
{
	for (;;) {
		spin_of_it();
		sink = sink + 1;
	}
}

struct Guard {
	const char *how;
	NOINLINE ~Guard()
	{
		if (std::strcmp(how, "destructor") == 0)
			spin_for_good();
		sink = sink + 1;
	}
};

NOINLINE void thrower()
{
	throw std::runtime_error("thrown");
}

NOINLINE void guarded(const char *how)
{
	Guard guard{ how };

	thrower();
}

NOINLINE void catcher(const char *how)
{
	try {
		guarded(how);
	} catch (const std::exception &e) {
		spin_for_good();
		sink = sink + static_cast<unsigned long>(e.what()[0]);
	}
}

NOINLINE void must_not_throw() noexcept
{
	thrower();
}

int main(int, char **argv)
{
	std::puts("ready");
	std::fflush(stdout);
	std::set_terminate(spin_for_good);
	if (std::strcmp(argv[1], "terminate") == 0)
		must_not_throw();
	catcher(argv[1]);
}

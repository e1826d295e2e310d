/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hot function in an executable segment of its own, far from all others. */
#include "hard.h"

__attribute__((section(".hot_segment"))) NOINLINE void in_hot_segment(void)
{
	spin();
	sink++;
}

int main(void)
{
	ready();
	for (;;) {
		in_hot_segment();
		sink++;
	}
}

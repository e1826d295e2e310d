/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage: asm leaf|chain|plain|lost: hand-written functions without call frame information
 * (asm_code.S).
 */
#include <string.h>

#include "hard.h"

void asm_leaf(void), asm_chain(void (*)(void)), asm_plain(void (*)(void)), asm_lost(void (*)(void));

NOINLINE void calls_asm(const char *how)
{
	if (strcmp(how, "leaf") == 0)
		asm_leaf();
	else if (strcmp(how, "chain") == 0)
		asm_chain(spin);
	else if (strcmp(how, "plain") == 0)
		asm_plain(spin);
	else
		asm_lost(spin);
	sink++;
}

int main(int argc, char **argv)
{
	ready();
	for (;;)
		calls_asm(argc > 1 ? argv[1] : "leaf");
}

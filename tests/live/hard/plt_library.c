/* SPDX-License-Identifier: GPL-2.0-or-later */
void library_function(void)
{
	__asm__ volatile("");
}

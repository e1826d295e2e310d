# SPDX-License-Identifier: GPL-2.0-or-later
#
# The wiring: everything in src/ itself but main.c.

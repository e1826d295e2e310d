/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/stats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "output/emit.h"

static int write_rows(FILE *f, const struct stats_row *rows, size_t nr)
{
	struct scratch scratch = { 0 };
	const char *name;
	int err = 0;

	for (size_t i = 0; i < nr && !err; i++) {
		if (!rows[i].count)
			continue;
		name = scrubbed(&scratch, rows[i].name, false);
		if (name)
			fprintf(f, "%s\t%s\t%" PRIu64 "\n", rows[i].kind, name, rows[i].count);
		else
			err = -ENOMEM;
	}
	scratch_done(&scratch);
	return err;
}

int stats_write(FILE *out, const struct stats_row *rows, size_t nr)
{
	char *bytes = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&bytes, &len);
	int err;

	if (!f)
		return -ENOMEM;
	err = write_rows(f, rows, nr);
	if (fclose(f) != 0 && !err)
		err = -ENOMEM;
	if (!err)
		err = emit(out, bytes, len);
	free(bytes);
	return err;
}

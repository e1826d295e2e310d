/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "symbol/naming.h"

/* V8's kinds of code that come in tiers (Logger's tags and CodeKindToMarker() of V8's src/objects).
 */
static size_t v8_tag(const char *name, size_t len)
{
	static const char *const tags[] = { "JS:", "LazyCompile:", "Function:", "Eval:",
					    "Script:" };

	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		size_t size = strlen(tags[i]);

		if (len > size && !memcmp(name, tags[i], size))
			return size;
	}
	return 0;
}

static size_t v8_mark(const char *at, size_t len)
{
	if (!len || !strchr("~^+*", at[0]))
		return 0;
	return len > 1 && at[1] == '\'' ? 2 : 1;
}

/* Where "[Tier1]" at the end of a .NET method's name begins; @len where there is none.  The words
 * are those of PerfMap and MethodDesc of .NET's src/coreclr/vm. */
static size_t dotnet_mark(const char *name, size_t len)
{
	static const char *const words[] = {
		"Unknown",
		"MinOptJitted",
		"Optimized",
		"QuickJitted",
		"OptimizedTier1",
		"OptimizedTier1OSR",
		"InstrumentedTier",
		"InstrumentedTierOptimized",
		"PreJIT",
		"ReadyToRun",
		"Tier0",
		"Tier1",
	};
	const char *open = memrchr(name, '[', len);
	size_t at = open ? (size_t)(open - name) : 0;

	if (!at || name[len - 1] != ']')
		return len;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strlen(words[i]) == len - at - 2 && !memcmp(open + 1, words[i], len - at - 2))
			return at;
	}
	return len;
}

size_t fold_tier(char *out, size_t room, const char *name, size_t len)
{
	size_t tag = v8_tag(name, len), skip = tag ? v8_mark(name + tag, len - tag) : 0, rest;

	if (!tag)
		len = dotnet_mark(name, len);
	if (tag + skip >= len) /* nothing but marks: kept */
		skip = 0;
	if (tag > room)
		tag = room;
	rest = len - tag - skip;
	if (rest > room - tag)
		rest = room - tag;
	memcpy(out, name, tag);
	memcpy(out + tag, name + tag + skip, rest);
	return tag + rest;
}

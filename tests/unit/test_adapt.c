/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "adapt.h"

#define S 1000000000ull

static const struct sampling usual = {
	.by_frequency = true,
	.rate = 1000,
	.call_graph = CALL_GRAPH_DWARF,
	.stack_bytes = STACK_BYTES_DEFAULT,
};

static enum adapt_step look(struct adapt *a, const struct adapt_look *now, const struct sampling *s,
			    struct sampling *ret)
{
	uint64_t part, whole;

	return adapt(a, now, s, true, ret, &part, &whole);
}

static void test_all_is_well(void **state)
{
	struct adapt a = { 0 };
	struct sampling s;

	(void)state;
	assert_int_equal(look(&a, &(struct adapt_look){ .time_ns = S, .samples = 1000, .lost = 20 },
			      &usual, &s),
			 ADAPT_KEEP);
}

static void test_losses_halve_the_rate(void **state)
{
	struct adapt_look now = { .time_ns = S, .samples = 1000, .lost = 30 };
	struct sampling by_period = { .rate = 500 }, s;
	struct adapt a = { 0 };
	uint64_t part, whole;

	(void)state;
	assert_int_equal(adapt(&a, &now, &usual, true, &s, &part, &whole), ADAPT_SLOWER);
	assert_int_equal(s.rate, 500);
	assert_true(part == 30 && whole == 1030);
	a = (struct adapt){ 0 };
	assert_int_equal(look(&a, &now, &by_period, &s), ADAPT_SLOWER);
	assert_int_equal(s.rate, 1000);
}

/* What was judged once is not judged again, and not more often than four times a second. */
static void test_each_loss_counts_once(void **state)
{
	struct adapt_look now = { .time_ns = S, .samples = 1000, .lost = 500 };
	struct adapt a = { 0 };
	struct sampling s;

	(void)state;
	assert_int_equal(look(&a, &now, &usual, &s), ADAPT_SLOWER);
	now.time_ns += S / 10;
	now.lost += 500;
	assert_int_equal(look(&a, &now, &usual, &s), ADAPT_KEEP);
	now.time_ns += S;
	now.lost = 500;
	now.samples += 1000;
	assert_int_equal(look(&a, &now, &usual, &s), ADAPT_KEEP);
}

/* A process that is sampled but now and then: its stacks grow, too, once there are enough. */
static void test_few_samples_add_up(void **state)
{
	struct adapt_look now = { .time_ns = S };
	struct adapt a = { .last = now };
	struct sampling next;

	(void)state;
	for (int i = 0; i < 3; i++) {
		now.time_ns += S;
		now.samples += 30;
		now.cut += 30;
		assert_int_equal(look(&a, &now, &usual, &next), ADAPT_KEEP);
	}
	now.time_ns += S;
	now.samples += 30;
	now.cut += 30;
	assert_int_equal(look(&a, &now, &usual, &next), ADAPT_MORE_STACK);
	assert_int_equal(next.stack_bytes, 4 * STACK_BYTES_DEFAULT); /* all of them were cut */
}

/* Cut stacks grow up to the most; once a size proved too dear it is not tried again. */
static void test_stacks_grow_and_shrink(void **state)
{
	struct adapt_look now = { .time_ns = S };
	struct sampling s = usual, next;
	struct adapt a = { 0 };

	(void)state;
	for (int i = 0; i < 8; i++) {
		now.time_ns += S;
		now.samples += 1000;
		now.cut += 400;
		if (look(&a, &now, &s, &next) == ADAPT_KEEP)
			break;
		assert_true(next.stack_bytes > s.stack_bytes);
		s = next;
	}
	assert_int_equal(s.stack_bytes, STACK_BYTES_MOST);
	now.time_ns += S;
	now.own_cpu_ns += S / 4;
	now.samples += 1000;
	assert_int_equal(look(&a, &now, &s, &next), ADAPT_LESS_STACK);
	assert_int_equal(next.stack_bytes % 8, 0);
	s = next;
	now.time_ns += S;
	now.samples += 1000;
	now.cut += 900;
	assert_int_equal(look(&a, &now, &s, &next), ADAPT_KEEP);
}

/* A size that a person chose stays, and losses with large stacks shrink those first. */
static void test_choice_and_losses(void **state)
{
	struct adapt_look now = { .time_ns = S, .samples = 1000, .cut = 900 };
	struct sampling large = usual, s;
	struct adapt a = { 0 };
	uint64_t part, whole;

	(void)state;
	assert_int_equal(adapt(&a, &now, &usual, false, &s, &part, &whole), ADAPT_KEEP);
	large.stack_bytes = 4 * STACK_BYTES_DEFAULT;
	now.time_ns += S;
	now.lost = 900;
	assert_int_equal(look(&a, &now, &large, &s), ADAPT_LESS_STACK);
	assert_int_equal(s.stack_bytes, 2 * STACK_BYTES_DEFAULT);
	assert_int_equal(s.rate, large.rate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_is_well),
		cmocka_unit_test(test_losses_halve_the_rate),
		cmocka_unit_test(test_each_loss_counts_once),
		cmocka_unit_test(test_few_samples_add_up),
		cmocka_unit_test(test_stacks_grow_and_shrink),
		cmocka_unit_test(test_choice_and_losses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

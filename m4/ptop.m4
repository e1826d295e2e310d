# SPDX-License-Identifier: GPL-2.0-or-later
#
# ptop's own configure macros.

# PTOP_LIB_IBERTY
# The demangler. libiberty has no pkg-config file, and distributions disagree on where demangle.h is.
AC_DEFUN([PTOP_LIB_IBERTY], [
	AC_CHECK_LIB([iberty], [cplus_demangle_v3], [IBERTY_LIBS=-liberty],
		[AC_MSG_ERROR([libiberty is missing: install libiberty-dev (binutils-devel on Fedora)])])
	AC_SUBST([IBERTY_LIBS])
	AC_CHECK_HEADERS([libiberty/demangle.h demangle.h], [break])
	AS_IF([test "x$ac_cv_header_libiberty_demangle_h" != xyes &&
	       test "x$ac_cv_header_demangle_h" != xyes],
		[AC_MSG_ERROR([demangle.h is missing: install libiberty-dev (binutils-devel on Fedora)])])
])

# PTOP_LIB_PTHREAD
AC_DEFUN([PTOP_LIB_PTHREAD], [
	ptop_save_LIBS=$LIBS
	AC_SEARCH_LIBS([pthread_create], [pthread], [],
		[AC_MSG_ERROR([POSIX threads are missing from the C library])])
	PTHREAD_LIBS=
	AS_CASE(["$ac_cv_search_pthread_create"], [-l*], [PTHREAD_LIBS=$ac_cv_search_pthread_create])
	LIBS=$ptop_save_LIBS
	AC_SUBST([PTHREAD_LIBS])
])

# PTOP_WARNINGS
# --enable-werror for continuous builds only: a newer compiler must not break a packager's build.
AC_DEFUN([PTOP_WARNINGS], [
	AC_ARG_ENABLE([werror],
		[AS_HELP_STRING([--enable-werror], [make every compiler warning an error])])
	WARN_CFLAGS="-Wall -Wextra -Wstrict-prototypes -Wvla"
	AS_IF([test "x$enable_werror" = xyes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
	AC_SUBST([WARN_CFLAGS])
])

# PTOP_SANITIZERS
# --enable-asan, --enable-tsan and --enable-fuzzing. Sets SAN_CFLAGS (compile and link) and FUZZ_LDFLAGS.
AC_DEFUN([PTOP_SANITIZERS], [
	AC_ARG_ENABLE([asan], [AS_HELP_STRING([--enable-asan],
		[build with AddressSanitizer and UndefinedBehaviorSanitizer])])
	AC_ARG_ENABLE([tsan], [AS_HELP_STRING([--enable-tsan], [build with ThreadSanitizer])])
	AC_ARG_ENABLE([fuzzing], [AS_HELP_STRING([--enable-fuzzing],
		[build the fuzz targets with libFuzzer (needs CC=clang)])])
	AS_IF([test "x$enable_tsan" = xyes && test "x$enable_asan$enable_fuzzing" != x &&
	       test "x$enable_asan$enable_fuzzing" != xnono],
		[AC_MSG_ERROR([--enable-tsan excludes --enable-asan and --enable-fuzzing])])
	SAN_CFLAGS=
	FUZZ_LDFLAGS=
	AS_IF([test "x$enable_asan" = xyes || test "x$enable_fuzzing" = xyes],
		[SAN_CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"])
	AS_IF([test "x$enable_tsan" = xyes],
		[SAN_CFLAGS="-fsanitize=thread -fno-omit-frame-pointer"])
	AS_IF([test "x$enable_fuzzing" = xyes], [
		SAN_CFLAGS="$SAN_CFLAGS -fsanitize=fuzzer-no-link"
		FUZZ_LDFLAGS="-fsanitize=fuzzer"])
	AS_IF([test "x$SAN_CFLAGS" != x], [
		AC_MSG_CHECKING([whether $CC links with $SAN_CFLAGS])
		ptop_save_CFLAGS=$CFLAGS
		CFLAGS="$CFLAGS $SAN_CFLAGS"
		AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [AC_MSG_RESULT([yes])],
			[AC_MSG_RESULT([no])
			 AC_MSG_ERROR([$CC cannot build with $SAN_CFLAGS (fuzzing needs CC=clang)])])
		CFLAGS=$ptop_save_CFLAGS])
	AC_SUBST([SAN_CFLAGS])
	AC_SUBST([FUZZ_LDFLAGS])
	AM_CONDITIONAL([FUZZING], [test "x$enable_fuzzing" = xyes])
])

# PTOP_LTO
# ptop is optimised as a whole where the compiler can keep ordinary code in the same objects, which the
# tests are linked from: quick, and without it. Sets LTO_CFLAGS, LTO_LDFLAGS and NO_LTO_LDFLAGS.
AC_DEFUN([PTOP_LTO], [
	AC_ARG_ENABLE([lto], [AS_HELP_STRING([--disable-lto],
		[do not optimise ptop as a whole when it is linked])])
	LTO_CFLAGS=
	LTO_LDFLAGS=
	NO_LTO_LDFLAGS=
	AS_IF([test "x$SAN_CFLAGS" = x && test "x$enable_lto" != xno], [
		AC_MSG_CHECKING([whether $CC optimises programs as a whole])
		ptop_save_CFLAGS=$CFLAGS
		CFLAGS="$CFLAGS -Werror -flto=auto -ffat-lto-objects"
		AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [
			AC_MSG_RESULT([yes])
			LTO_CFLAGS="-flto=auto -ffat-lto-objects"
			dnl across files it takes what an error code rules out for possible
			LTO_LDFLAGS="-flto=auto -Wno-maybe-uninitialized"
			NO_LTO_LDFLAGS="-fno-lto"], [
			AC_MSG_RESULT([no])
			AS_IF([test "x$enable_lto" = xyes],
				[AC_MSG_ERROR([$CC cannot build with -flto=auto -ffat-lto-objects])])])
		CFLAGS=$ptop_save_CFLAGS])
	AC_SUBST([LTO_CFLAGS])
	AC_SUBST([LTO_LDFLAGS])
	AC_SUBST([NO_LTO_LDFLAGS])
])

# PTOP_COMPLETIONS
# Shell completions are printed by the ptop just built, so a cross build leaves them out.
AC_DEFUN([PTOP_COMPLETIONS], [
	AC_ARG_ENABLE([completions], [AS_HELP_STRING([--disable-completions],
		[do not install bash, zsh and fish completions])],
		[], [enable_completions=yes])
	AS_IF([test "x$cross_compiling" = xyes && test "x$enable_completions" = xyes], [
		AC_MSG_NOTICE([cross build: shell completions are left out (ptop cannot run here)])
		enable_completions=no])
	AM_CONDITIONAL([COMPLETIONS], [test "x$enable_completions" = xyes])
])

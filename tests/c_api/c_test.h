// Checks of the C tests: each failure is a line, and main returns their number.
#pragma once

#include <stdio.h>
#include <string.h>
#include <vxla/vxla.h>

static int failures = 0;

#define EXPECT(condition)                                                      \
  do {                                                                         \
    if (!(condition)) {                                                        \
      ++failures;                                                              \
      fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
    }                                                                          \
  } while (0)

// The call ends with &message: its code, and for a failure a part of its text.
#define EXPECT_OK(call) ExpectCode((call), VXLA_OK, "", __FILE__, __LINE__)
#define EXPECT_CODE(call, code, text) ExpectCode((call), (code), (text), __FILE__, __LINE__)

static VxlaMessage message;

static void ExpectCode(VxlaCode got, VxlaCode wanted, const char* text, const char* file, int line) {
  if (got != wanted || (wanted == VXLA_OK) != (message == NULL) || strstr(vxlaMessageText(message), text) == NULL) {
    ++failures;
    fprintf(stderr, "%s:%d: code %d with \"%s\", expected %d with \"%s\"\n", file, line, (int)got,
            vxlaMessageText(message), (int)wanted, text);
  }
  vxlaFreeMessage(message);
  message = NULL;
}

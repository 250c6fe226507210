// Programs and values of the C tests: one array of f32 in, one out.
#pragma once

#include "tests/c_api/c_test.h"

static inline VxlaExecutable Compile(VxlaDevice device, const char* text, uint32_t flags) {
  VxlaCompileInfo info = {.struct_size = sizeof(info), .flags = flags, .text = text};
  VxlaExecutable executable = NULL;
  EXPECT_OK(vxlaCompile(device, &info, &executable, &message));
  return executable;
}

static inline VxlaValue Make(VxlaDevice device, int64_t size, const float* data) {
  const VxlaArray array = {.struct_size = sizeof(array), .element_type = VXLA_F32, .rank = 1, .dimensions = &size};
  VxlaValue value = NULL;
  EXPECT_OK(vxlaCreateValue(device, &array, data, &value, &message));
  return value;
}

// The run's event, if it is wanted.
static inline VxlaValue Execute(VxlaExecutable executable, VxlaValue argument, VxlaEvent* done) {
  VxlaValue result = NULL;
  const VxlaExecuteInfo info = {.struct_size = sizeof(info),
                                .argument_count = 1,
                                .arguments = &argument,
                                .result_count = 1,
                                .results = &result,
                                .done = done};
  EXPECT_OK(vxlaExecute(executable, &info, &message));
  return result;
}

static inline void ExpectFloats(VxlaValue value, int64_t size, const float* wanted) {
  float got[16] = {0};
  EXPECT_OK(vxlaReadValue(value, got, sizeof(float) * (size_t)size, &message));
  for (int64_t i = 0; i < size; ++i) EXPECT(got[i] == wanted[i]);
}

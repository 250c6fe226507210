# The examples of the pages, against the installed headers: those in C (C11) and C++ are compiled, and the whole program of docs/start/cpp.md is run.
# Included by run.cmake, which sets work and CXX.

# Each example's text, in lists, of which ; [ ] have no place: other characters stand for them until a file is written.
function(examples_of page pattern result)
  file(READ ${CMAKE_CURRENT_LIST_DIR}/../../${page} text)
  string(ASCII 1 semicolon)
  string(ASCII 2 open)
  string(ASCII 3 close)
  string(REPLACE ";" "${semicolon}" text "${text}")
  string(REPLACE "[" "${open}" text "${text}")
  string(REPLACE "]" "${close}" text "${text}")
  string(REGEX MATCHALL "${pattern}" blocks "${text}")
  list(FILTER blocks INCLUDE REGEX "${semicolon}")
  set(${result} "${blocks}" PARENT_SCOPE)
endfunction()

# What the page leaves out is left out: lines and bodies of three dots.
function(write_example file before block after)
  string(ASCII 1 semicolon)
  string(ASCII 2 open)
  string(ASCII 3 close)
  string(REPLACE "${semicolon}" ";" block "${block}")
  string(REPLACE "${open}" "[" block "${block}")
  string(REPLACE "${close}" "]" block "${block}")
  string(REGEX REPLACE "```[a-z]*" "" block "${block}")
  string(REGEX REPLACE "\n *\\.\\.\\.\n" "\n" block "${block}")
  string(REPLACE "{ ... }" "{}" block "${block}")
  file(WRITE ${file} "${before}${block}\n${after}")
endfunction()

# Lines of a page in a row that are set off by four spaces; and what stands in fences.
set(indented "(\n    [^\n]+)+")
set(fenced "```cpp\n[^`]*```")

# What the examples in C take as given.
set(c_before "#include <stdio.h>
#include <vxla/vxla_vulkan.h>
extern const char *hlo_or_stablehlo_text, *text;
extern const void* bytes_of_the_file;
extern size_t size;
extern float x[1000], y[1000];
extern const void *pixels, *new_elements;
extern const int64_t* strides;
extern VxlaDevice device, gpu0, gpu1;
extern VxlaExecutable executable, small, large;
extern VxlaArray array;
extern VxlaCompileInfo other_program;
extern VxlaMessage message;
extern VxlaExecuteInfo run, on_gpu0, on_gpu1;
extern VxlaValue value, result;
extern VxlaRecordingInfo recording_info;
extern VxlaRecording recording;
extern VxlaBindings bindings, bindings_of_substep[4];
extern VxlaBinding told;
extern VkQueryPool pool;
extern uint32_t first, count;
extern VkCommandBuffer commands;
extern VkImage colour;
extern VkImageUsageFlags usage;
void Example(void);
void Example(void) {")
set(number 0)
find_program(c_compiler NAMES cc gcc clang REQUIRED)
examples_of(docs/guides/embedding.md "${indented}" blocks)
list(FILTER blocks INCLUDE REGEX "[vV]xla[A-Z]")
foreach(block IN LISTS blocks)
  math(EXPR number "${number} + 1")
  write_example(${work}/documented_${number}.c "${c_before}" "${block}" "}\n")
  run(${c_compiler} -std=c11 -pedantic -Wall -Wextra -Werror -Wno-unused -fsyntax-only -I${work}/prefix/include ${work}/documented_${number}.c)
endforeach()
if(NOT number EQUAL 11)
  message(FATAL_ERROR "docs/guides/embedding.md has ${number} examples in C, and 11 were there when this was written")
endif()

# Fragments in C++.
set(cc_before "#include <cstdio>
#include <vxla/custom_call_files.h>
#include <vxla/vxla.hpp>
extern std::string text;
extern const vxla::Module* module;
extern std::vector<const vxla::Literal*> arguments;
struct XLA_FFI_Error;
struct XLA_FFI_CallFrame;
XLA_FFI_Error* Solve(XLA_FFI_CallFrame*);
using namespace vxla;
void Example() {")
set(cc_examples docs/guides/diff.md "${fenced}" docs/guides/custom_calls.md "${indented}")
while(cc_examples)
  list(POP_FRONT cc_examples page pattern)
  examples_of(${page} "${pattern}" blocks)
  list(FILTER blocks INCLUDE REGEX "vxla::|Registry")
  list(LENGTH blocks count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "${page} has ${count} examples in C++, and 1 was there when this was written")
  endif()
  get_filename_component(name ${page} NAME_WE)
  write_example(${work}/documented_${name}.cc "${cc_before}" "${blocks}" "}\n")
  run(${CXX} -std=c++20 -Wall -Werror -Wno-unused -Wno-unused-result -fsyntax-only -I${work}/prefix/include ${work}/documented_${name}.cc)
endwhile()

# This program is whole, so that it is a consumer as well, which run.cmake builds and runs.
examples_of(docs/start/cpp.md "${fenced}" blocks)
write_example(${work}/documented.cc "" "${blocks}" "")

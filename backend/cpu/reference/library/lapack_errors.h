// What LAPACK says of the arguments of vxla's calls. Its XERBLA prints and ends the process: here it is told to stand
// by.
#pragma once

namespace VXLA_NAMESPACE {

// As long as one lives, this thread's calls of LAPACK come back from an argument that it refuses, where the linker lets
// this library's XERBLA come before LAPACK's: with ELF, in a program that exports it (as vxla's own do) or links
// libvxla.so, unless a host defines one of its own or opens vxla with RTLD_LOCAL. Calls that are not vxla's reach the
// XERBLA that they had without it.
class LapackErrors {
 public:
  LapackErrors();
  ~LapackErrors();
  LapackErrors(const LapackErrors&) = delete;
  LapackErrors& operator=(const LapackErrors&) = delete;

  // Of the argument that was refused first, from 1; 0: none.
  int argument() const { return argument_; }
  void Note(int argument) {
    if (argument_ == 0) argument_ = argument;
  }

 private:
  int argument_ = 0;
  LapackErrors* outer_;
};

}  // namespace VXLA_NAMESPACE

// The machine's LAPACK, a shared library that is opened when a program first asks for one of its routines.
#pragma once

#include <string>

namespace VXLA_NAMESPACE {

// A routine by Fortran's name of it ("dgeev_"), with integers of 32 bits: of the library that the environment's
// VXLA_LAPACK names, else of liblapack.so.3 or libopenblas.so.0. In SciPy's libraries such names begin with scipy_.
// Null: there is none.
void* LapackRoutine(const std::string& name);

// Why there is no library, or why it is no use: the system's words, each library's after its name.
std::string WhyNoLapack();

}  // namespace VXLA_NAMESPACE

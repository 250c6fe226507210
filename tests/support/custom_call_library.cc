// A shared library of custom calls, as a user compiles one: nothing of vxla's is linked. Tests of the command open it.
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

struct XlaCustomCallStatus;
extern "C" void XlaCustomCallStatusSetFailure(XlaCustomCallStatus* status, const char* message, size_t size);

extern "C" __attribute__((visibility("default"))) void twice(void* out, const void** in) {
  for (int i = 0; i < 5; ++i) static_cast<float*>(out)[i] = 2 * static_cast<const float*>(in[0])[i];
}
extern "C" __attribute__((visibility("default"))) void three_times(void* out, const void** in) {
  for (int i = 0; i < 5; ++i) static_cast<float*>(out)[i] = 3 * static_cast<const float*>(in[0])[i];
}
extern "C" __attribute__((visibility("default"))) void fails(void*, const void**, XlaCustomCallStatus* status) {
  XlaCustomCallStatusSetFailure(status, "not today", std::strlen("not today"));
}
extern "C" __attribute__((visibility("default"))) void throws(void*, const void**) {
  throw std::runtime_error("out of patience");
}
extern "C" {
__attribute__((visibility("default"))) int data = 5;
}
extern "C" __attribute__((visibility("default"))) void ends_the_process(void*, const void**) {
  // As a fault of a driver does.
  std::raise(SIGSEGV);
}
// Gives its argument, f32[3], back; rank 1 of a job is killed when its process has come here ten times.
extern "C" __attribute__((visibility("default"))) void ends_rank_1(void* out, const void** in) {
  static int calls = 0;
  const char* rank = std::getenv("VXLA_RANK");
  if (rank == nullptr) rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (rank != nullptr && std::strcmp(rank, "1") == 0 && ++calls == 10) std::raise(SIGKILL);
  std::memcpy(out, in[0], 3 * sizeof(float));
}

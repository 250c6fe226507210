// The same on the host, which the reference calls: what the kernel gives is compared with it.
// XLA's signature of api_version=API_VERSION_STATUS_RETURNING_UNIFIED: no shapes, but the text of the backend_config.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>

struct XlaCustomCallStatus;
extern "C" void XlaCustomCallStatusSetFailure(XlaCustomCallStatus* status, const char* message, size_t size);

extern "C" void swish(void* out, const void** in, const char* opaque, size_t size, XlaCustomCallStatus* status) {
  long count = 0;
  double beta = 0;
  if (std::sscanf(std::string(opaque, size).c_str(), "{\"count\": %ld, \"beta\": %lf}", &count, &beta) != 2) {
    const char message[] = "the configuration is not {\"count\": N, \"beta\": B}";
    return XlaCustomCallStatusSetFailure(status, message, std::strlen(message));
  }
  const float* x = static_cast<const float*>(in[0]);
  float* y = static_cast<float*>(out);
  for (long i = 0; i < count; ++i) y[i] = static_cast<float>(x[i] / (1 + std::exp(-beta * x[i])));
}

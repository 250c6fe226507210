// A ProcessGroup by MPI: the module libvxla_mpi.so, which `vxla run --distributed` loads.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include "scheduler/replicas/process_group.h"

namespace VXLA_NAMESPACE {
namespace {

std::string ErrorText(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return "MPI: " + std::string(text, static_cast<size_t>(length));
}

// MPI is called by one thread at a time; while one waits, others may.
class MpiGroup final : public ProcessGroup {
 public:
  MpiGroup() {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
  }
  int64_t rank() const override { return rank_; }
  int64_t size() const override { return size_; }

  std::string Move(std::span<Message> messages, const std::function<bool()>& goes_on) override {
    // A count is an int: large messages go in pieces.
    constexpr size_t kMost = size_t{1} << 30;
    std::vector<std::vector<MPI_Request>> pieces(messages.size());
    std::unique_lock lock(mutex_);
    for (size_t i = 0; i < messages.size(); ++i) {
      const Message& m = messages[i];
      size_t begin = 0;
      do {
        const int count = static_cast<int>(std::min(kMost, m.size - begin));
        MPI_Request request = MPI_REQUEST_NULL;
        std::byte* const bytes = m.size == 0 ? &nothing_ : m.bytes + begin;
        const int peer = static_cast<int>(m.peer);
        const int code = m.sends ? MPI_Isend(bytes, count, MPI_BYTE, peer, m.tag, comm_, &request)
                                 : MPI_Irecv(bytes, count, MPI_BYTE, peer, m.tag, comm_, &request);
        if (code != MPI_SUCCESS) return ErrorText(code);
        pieces[i].push_back(request);
        begin += static_cast<size_t>(count);
      } while (begin < m.size);
    }
    auto pause = std::chrono::microseconds(0);
    for (;;) {
      bool all = true;
      for (size_t i = 0; i < messages.size(); ++i) {
        if (messages[i].done) continue;
        int done = 0;
        const int code = MPI_Testall(static_cast<int>(pieces[i].size()), pieces[i].data(), &done, MPI_STATUSES_IGNORE);
        if (code != MPI_SUCCESS) return ErrorText(code);
        messages[i].done = done != 0;
        all &= messages[i].done;
      }
      lock.unlock();
      if (all || !goes_on()) return {};
      // Short exchanges are answered at once, long waits leave the processor to the others.
      pause = std::min(pause + std::chrono::microseconds(5), std::chrono::microseconds(1000));
      std::this_thread::sleep_for(pause);
      lock.lock();
    }
  }

  bool HasArrived(int64_t peer, int tag) override {
    const std::lock_guard lock(mutex_);
    int arrived = 0;
    return MPI_Iprobe(static_cast<int>(peer), tag, comm_, &arrived, MPI_STATUS_IGNORE) == MPI_SUCCESS && arrived != 0;
  }

  void Finish() override {
    MPI_Comm_free(&comm_);
    MPI_Finalize();
  }

 private:
  std::mutex mutex_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::byte nothing_{};
};

}  // namespace

extern "C" __attribute__((visibility("default"))) ProcessGroup* vxla_open_process_group(char* error,
                                                                                        size_t characters) {
  int provided = 0;
  const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  if (code != MPI_SUCCESS || provided < MPI_THREAD_SERIALIZED) {
    std::snprintf(error, characters, "%s",
                  code == MPI_SUCCESS ? "this MPI is not for programs with threads" : "MPI_Init_thread failed");
    return nullptr;
  }
  return new MpiGroup();
}

}  // namespace VXLA_NAMESPACE

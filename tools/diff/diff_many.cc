#include "tools/diff/diff_many.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "tools/messages.h"
#include "tools/process.h"

namespace VXLA_NAMESPACE {
namespace {

using Json = nlohmann::ordered_json;

Json EndedWithoutVerdict(const char* code, std::string message, const std::string& said) {
  // The last line may say why.
  std::string_view line = said;
  while (line.ends_with('\n')) line.remove_suffix(1);
  if (const size_t begin = line.rfind('\n'); begin != std::string_view::npos) line.remove_prefix(begin + 1);
  if (!line.empty()) message += fmt::format("; its last line: {}", line);
  return {{"error", {{"code", code}, {"exit_code", 3}, {"message", message}, {"where", nullptr}}}};
}

Json VerdictOf(const Result<ProcessEnd>& end, double most_seconds) {
  if (!end.ok()) return ErrorJson(end.status());
  if (end->timed_out)
    return EndedWithoutVerdict("deadline_exceeded", fmt::format("no verdict within {} s: stopped", most_seconds), "");
  if (end->signal != 0) {
    return EndedWithoutVerdict("crashed", fmt::format("ended by signal {} ({})", end->signal, end->signal_name),
                               end->err);
  }
  Json json = Json::parse(end->out, nullptr, /*allow_exceptions=*/false);
  if (json.is_object()) return json;
  return EndedWithoutVerdict("internal", fmt::format("no verdict, and exit code {}", end->exit_code), end->err);
}

DiffCase RunTask(const std::string& own, const DiffTask& task, double most_seconds) {
  std::vector<std::string> command{own};
  command.insert(command.end(), task.words.begin(), task.words.end());
  const auto begin = std::chrono::steady_clock::now();
  DiffCase one{task.program, task.device, {}, 0, task.command, {}};
  one.json = VerdictOf(RunProcess(command, most_seconds), most_seconds);
  one.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return one;
}

}  // namespace

Result<std::vector<DiffCase>> RunDiffTasks(const std::vector<DiffTask>& tasks, int jobs, double most_seconds,
                                           const std::function<void(DiffCase&)>& told) {
  VXLA_ASSIGN_OR_RETURN(const std::string own, OwnProgram());
  std::vector<std::optional<DiffCase>> done(tasks.size());
  std::mutex mutex;
  std::condition_variable ready;
  size_t next = 0;
  const auto work = [&] {
    std::unique_lock lock(mutex);
    while (next < tasks.size()) {
      const size_t mine = next++;
      lock.unlock();
      DiffCase one = RunTask(own, tasks[mine], most_seconds);
      lock.lock();
      done[mine] = std::move(one);
      ready.notify_all();
    }
  };
  std::vector<std::jthread> workers;
  for (int i = 0; i < std::min<int>(jobs, static_cast<int>(tasks.size())); ++i) workers.emplace_back(work);
  std::vector<DiffCase> cases;
  for (size_t i = 0; i < tasks.size(); ++i) {
    Progress(fmt::format("{} of {}: {}", i + 1, tasks.size(), tasks[i].program));
    std::unique_lock lock(mutex);
    ready.wait(lock, [&] { return done[i].has_value(); });
    cases.push_back(std::move(*done[i]));
    lock.unlock();
    told(cases.back());
  }
  return cases;
}

}  // namespace VXLA_NAMESPACE

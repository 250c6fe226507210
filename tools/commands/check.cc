// vxla check: files whose functions check themselves; one line per function, and how many passed.
#include "api/verify/check.h"

#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "api/custom_call_files.h"
#include "core/mlir/reader/parser.h"
#include "core/text/hlo_parser.h"
#include "scheduler/bundle/bundle.h"
#include "tools/command_line.h"
#include "tools/commands.h"
#include "tools/files.h"
#include "tools/session.h"

namespace VXLA_NAMESPACE {
namespace {

using Json = nlohmann::ordered_json;
using Kind = CheckVerdict::Kind;

struct CheckFlags {
  std::vector<std::string> files;
  DeviceFlags device;
  CompileFlags compile;
  int jobs = 0;
  bool json = false, quiet = false;
};

struct CheckDevice {
  std::string name;  // empty where there is but one
  std::unique_ptr<Client> client;
};

// One section on one device, and its verdicts when it is done.
struct CheckTask {
  const std::string* file = nullptr;
  const CheckDevice* device = nullptr;
  mlir::MlirSection section;
  size_t number = 1;
  bool done = false;
  std::vector<CheckVerdict> verdicts;
};

Result<std::vector<CheckDevice>> OpenCheckDevices(const CheckFlags& flags, const EvaluateOptions& evaluate) {
  std::vector<CheckDevice> devices;
  std::vector<DeviceFlags> wanted{flags.device};
  std::vector<std::string> names{""};
  if (IsAllDevices(flags.device.device)) {
    VXLA_ASSIGN_OR_RETURN(names, DeviceNames());
    wanted.assign(names.size() + 1, flags.device);
    for (size_t i = 0; i < names.size(); ++i) wanted[i + 1].device = fmt::format("vulkan:{}", i);
    wanted[0].device = "cpu";
    names.insert(names.begin(), "cpu");
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    CheckDevice device{names[i], nullptr};
    if (!IsCpu(wanted[i].device)) {
      DeviceOptions options = wanted[i].options();
      options.progress = {};  // many programs at once: the bar says where they stand
      VXLA_ASSIGN_OR_RETURN(device.client, OpenClient(options, evaluate));
      PrintIfNoGpu(wanted[i], device.client->device().facts());
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

// "a.mlir:12: add (section 2): failed: ..."
std::string LineOf(const CheckTask& task, const CheckVerdict& verdict) {
  const bool passed = verdict.kind == Kind::kPassed, failed = verdict.kind == Kind::kFailed;
  const std::string word = passed   ? Toned(Tone::kGood, "passed", Stream::kStdout)
                           : failed ? Toned(Tone::kBad, "failed", Stream::kStdout)
                                    : Toned(Tone::kFaint, "skipped", Stream::kStdout);
  return fmt::format("{}:{}: {}{}: {}{}{}\n", *task.file, verdict.line,
                     verdict.function.empty() ? fmt::format("section {}", verdict.section) : "@" + verdict.function,
                     task.device->name.empty() ? "" : " on " + task.device->name, word, passed ? "" : ": ",
                     passed ? "" : verdict.reason);
}

class CheckRun {
 public:
  CheckRun(const CheckFlags& flags, const EvaluateOptions& evaluate, std::vector<CheckTask> tasks)
      : flags_(flags), evaluate_(evaluate), tasks_(std::move(tasks)) {}

  Status Run(Json& json) {
    int jobs = flags_.jobs > 0 ? flags_.jobs : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    jobs = std::min<int>(jobs, static_cast<int>(std::max<size_t>(1, tasks_.size())));
    std::vector<std::jthread> workers;
    for (int i = 0; i < jobs; ++i) workers.emplace_back([this] { Work(); });
    const Status printed = Report(json);
    if (!printed.ok()) next_ = tasks_.size();  // nobody reads: what has not begun is left
    return printed;
  }

  size_t count(Kind kind) const { return counts_[static_cast<size_t>(kind)]; }
  StatusCode worst() const { return worst_; }
  // A file of which nothing could be read, and why; empty: there is none.
  std::string unread() const {
    for (const auto& [file, reason] : unread_) {
      if (!reason.empty()) return fmt::format("{}: nothing of it can be read: {}", file, reason);
    }
    return "";
  }

 private:
  void Work() {
    for (size_t i = next_++; i < tasks_.size(); i = next_++) {
      CheckTask& task = tasks_[i];
      const CheckTarget target{task.device->client.get(), flags_.compile.options(), evaluate_};
      std::vector<CheckVerdict> verdicts =
          CheckSection(task.section.text, task.section.first_line, task.number, target);
      const std::lock_guard lock(mutex_);
      task.verdicts = std::move(verdicts);
      task.done = true;
      ready_.notify_one();
    }
  }

  // In the order of the files, as soon as everything before is there.
  Status Report(Json& json) {
    Json functions = Json::array();
    for (size_t i = 0; i < tasks_.size(); ++i) {
      CheckTask& task = tasks_[i];
      {
        std::unique_lock lock(mutex_);
        ready_.wait(lock, [&] { return task.done; });
      }
      for (const CheckVerdict& verdict : task.verdicts) {
        ++counts_[static_cast<size_t>(verdict.kind)];
        NoteRead(*task.file, verdict);
        if (verdict.code == StatusCode::kDeviceFailure || verdict.code == StatusCode::kResourceExhausted ||
            verdict.code == StatusCode::kInternal)
          worst_ = verdict.code;
        for (const std::string& line : verdict.printed) PrintNotes({fmt::format("@{}: {}", verdict.function, line)});
        if (flags_.json) functions.push_back(JsonOf(task, verdict));
        if (flags_.json || (flags_.quiet && verdict.kind == Kind::kPassed)) continue;
        Progress("");
        VXLA_RETURN_IF_ERROR(WriteText("-", LineOf(task, verdict)));
      }
      task.verdicts.clear();
      ShowBar(i + 1);
    }
    if (flags_.json) {
      json = {{"passed", count(Kind::kPassed)},
              {"failed", count(Kind::kFailed)},
              {"skipped", count(Kind::kSkipped)},
              {"functions", std::move(functions)}};
    }
    return OkStatus();
  }

  void NoteRead(const std::string& file, const CheckVerdict& verdict) {
    const bool unread = verdict.function.empty() && verdict.code == StatusCode::kInvalidArgument;
    const auto known = unread_.try_emplace(file, verdict.reason).first;
    if (!unread) known->second.clear();
  }

  void ShowBar(size_t done) const {
    constexpr size_t kWidth = 30;
    const size_t filled = done * kWidth / tasks_.size();
    Progress(fmt::format("[{}{}] {} of {}, {} failed", std::string(filled, '#'), std::string(kWidth - filled, ' '),
                         done, tasks_.size(), count(Kind::kFailed)));
  }

  static Json JsonOf(const CheckTask& task, const CheckVerdict& verdict) {
    constexpr const char* kWords[] = {"passed", "failed", "skipped"};
    Json entry{{"file", *task.file},           {"section", verdict.section},
               {"function", verdict.function}, {"verdict", kWords[static_cast<size_t>(verdict.kind)]},
               {"reason", verdict.reason},     {"line", verdict.line}};
    if (!task.device->name.empty()) entry["device"] = task.device->name;
    return entry;
  }

  const CheckFlags& flags_;
  const EvaluateOptions& evaluate_;
  std::vector<CheckTask> tasks_;
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;
  std::condition_variable ready_;
  size_t counts_[3] = {};
  StatusCode worst_ = StatusCode::kOk;
  std::map<std::string, std::string> unread_;  // by file: why, while nothing of it could be read
};

// Behind the blanks and comments at the beginning.
std::string_view FirstWords(std::string_view text) {
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (!text.starts_with("//")) return text;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
}

// What cannot hold functions that check themselves is no failed check but the wrong file.
Status CheckIsMlir(const std::string& file, std::string_view text) {
  if (IsBundle(std::as_bytes(std::span(text))))
    return InvalidArgument("{}: a bundle, which is compiled already: vxla check takes StableHLO text", file);
  const std::string_view words = FirstWords(text);
  if (words.empty()) return InvalidArgument("{}: holds no program: vxla check takes StableHLO text", file);
  if (words.starts_with("HloModule") || ParseHlo(text).ok())
    return InvalidArgument(
        "{}: HLO text, which has no check operations: vxla check takes StableHLO text; vxla diff compares HLO's "
        "results",
        file);
  return OkStatus();
}

Status CheckFiles(const CheckFlags& flags, Json& json) {
  VXLA_RETURN_IF_ERROR(flags.compile.Register());
  EvaluateOptions evaluate = flags.compile.evaluate_options(0);
  evaluate.starting = {};
  std::vector<FileBytes> texts;
  for (const std::string& file : flags.files) {
    VXLA_ASSIGN_OR_RETURN(FileBytes text, FileBytes::Open(file));
    VXLA_RETURN_IF_ERROR(CheckIsMlir(file, text.view()));
    texts.push_back(std::move(text));
  }
  VXLA_ASSIGN_OR_RETURN(const std::vector<CheckDevice> devices, OpenCheckDevices(flags, evaluate));
  std::vector<CheckTask> tasks;
  for (size_t i = 0; i < texts.size(); ++i) {
    for (const CheckDevice& device : devices) {
      size_t number = 0;
      for (const mlir::MlirSection& section : mlir::SplitMlir(texts[i].view()))
        tasks.push_back({&flags.files[i], &device, section, ++number, false, {}});
    }
  }
  CheckRun run(flags, evaluate, std::move(tasks));
  VXLA_RETURN_IF_ERROR(run.Run(json));
  Progress("");
  const std::string summary = fmt::format("{} passed, {} failed, {} skipped", run.count(Kind::kPassed),
                                          run.count(Kind::kFailed), run.count(Kind::kSkipped));
  if (!flags.json) VXLA_RETURN_IF_ERROR(WriteText("-", summary + "\n"));
  for (const CheckDevice& device : devices) {
    if (device.client != nullptr) VXLA_RETURN_IF_ERROR(CheckValidation(device.client->device()));
  }
  if (run.worst() != StatusCode::kOk) return Status(run.worst(), summary);
  if (const std::string unread = run.unread(); !unread.empty()) return InvalidArgument("{}", unread);
  const size_t failed = run.count(Kind::kFailed);
  return failed == 0 ? OkStatus() : Mismatch("checks failed: {}", failed);
}

}  // namespace

CommandBody AddCheck(CLI::App& app) {
  auto flags = std::make_shared<CheckFlags>();
  app.add_option("FILE", flags->files,
                 "StableHLO text with check operations, whole or in sections as MLIR splits files")
      ->required()
      ->expected(1, 1 << 20)
      ->type_name("");
  flags->device.AddTo(app);
  flags->compile.AddTo(app);
  app.option_defaults()->group(kRunOptions);
  app.add_option("-j,--jobs", flags->jobs, "work at so many sections at a time (default: one per processor)")
      ->check(WholeNumber(1, 4096))
      ->type_name("N");
  app.add_flag("-q,--quiet", flags->quiet, "no line for a function that passed");
  app.add_flag("--json", flags->json, "the verdicts as one JSON object on stdout");
  return [flags](Json& json) { return CheckFiles(*flags, json); };
}

}  // namespace VXLA_NAMESPACE

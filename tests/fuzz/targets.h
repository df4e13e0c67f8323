// What is fed with bytes that nobody has checked: one function a parser. It returns, whatever the bytes;
// a crash, a hang or a broken promise (std::abort) is the finding. libfuzzer.cc makes a libFuzzer program of
// each, replay.cc runs all of them on the kept corpus.
#pragma once

#include <string>
#include <string_view>

#include "rung/base/result.h"

namespace rung::fuzz {

void architecture_line(std::string_view bytes);
void dimensions_file(std::string_view bytes);  // first byte even: TOML, odd: JSON
void released_config(std::string_view bytes);  // config.json
void weights_file(std::string_view bytes);
void task_file(std::string_view bytes);  // an automaton, a table, a Cayley table; weights of its questions
void prompt(std::string_view bytes);     // first byte: of which task
void store_record(std::string_view bytes);
void training_plan(std::string_view bytes);
void result_document(std::string_view bytes);    // of an experiment, a hierarchy, a training's members
void experiment_file(std::string_view bytes);    // first byte even: TOML, odd: JSON
void store_file(std::string_view bytes);         // SQLite, JSON lines or results of the harness
void imported_layer(std::string_view bytes);     // config.json, NUL, a shard
void search_checkpoint(std::string_view bytes);  // what stands behind its digests
void http_request(std::string_view bytes);       // or one of `rung pipe`
void probe_answers(std::string_view bytes);      // prompts, NUL, answers
void certificate(std::string_view bytes);        // rung-check: certificate, NUL, model

struct Target {
  const char* name;
  void (*run)(std::string_view);
};
inline constexpr Target kTargets[] = {
    {"architecture_line", architecture_line},
    {"dimensions_file", dimensions_file},
    {"released_config", released_config},
    {"weights_file", weights_file},
    {"task_file", task_file},
    {"prompt", prompt},
    {"store_record", store_record},
    {"training_plan", training_plan},
    {"result_document", result_document},
    {"experiment_file", experiment_file},
    {"store_file", store_file},
    {"imported_layer", imported_layer},
    {"search_checkpoint", search_checkpoint},
    {"http_request", http_request},
    {"probe_answers", probe_answers},
    {"certificate", certificate},
};

// Ends the run with the words where a promise of a header does not hold.
void promise(bool held, std::string_view words);

template <class T>
void one_line(const Result<T>& result) {
  promise(result.ok() ||
              (!result.error().message.empty() && result.error().message.find('\n') == std::string::npos),
          "an error is one line");
}

// A file with these bytes, in memory; `path` opens it.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  int descriptor_;
  std::string path_;
};

}  // namespace rung::fuzz

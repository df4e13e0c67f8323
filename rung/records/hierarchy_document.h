// The hierarchy as data: its cells and their evidence, written and read here and nowhere else (schema
// rung.hierarchy/2; docs/hierarchy.md has every field). Paths are relative to the hierarchy's folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rung/base/result.h"
#include "rung/certificate/certificate.h"
#include "rung/records/curve.h"
#include "rung/records/provenance_note.h"
#include "rung/tasks/size_list.h"
#include "rung/theory/theorem.h"

namespace rung {

inline constexpr std::string_view kHierarchySchema = "rung.hierarchy/2";

enum class CellState { pending, done, stopped };
enum class TrainingState { trained, shipped, none };

template <>
inline constexpr auto kWords<CellState> = std::to_array<std::string_view>({"pending", "done", "stopped"});
template <>
inline constexpr auto kWords<TrainingState> = std::to_array<std::string_view>({"trained", "shipped", "none"});

// Numbers by name, in the order in which they were noted; nothing where there is none.
struct NumberList {
  std::vector<std::pair<std::string, std::optional<double>>> entries;
  std::optional<double> find(std::string_view name) const;
  void set(const std::string& name, std::optional<double> value);  // in place of one of that name
};

// What theory says of one architecture at one size.
struct BoundEvidence {
  Outcome state = Outcome::open;
  std::string arch;
  SizeList size;
  std::string theorem;  // id; empty where none speaks, and so is all that describes it
  std::string title, statement;
  std::optional<Source> source;
  std::string reference;
  std::optional<Status> status;
  NumberList numbers;
  std::string inequality;
  std::vector<Hypothesis> hypotheses;
  std::string assumes;
  std::vector<std::string> argument;
  std::string command;  // asks the same
};

// Where the heads of a construction look on one small instance.
struct AttentionPicture {
  struct Head {
    std::int64_t layer = 0, head = 0;          // from 0
    std::vector<std::vector<double>> weights;  // a row a token: its share of every earlier one
  };
  SizeList size;
  std::string arch;
  std::vector<std::string> tokens;
  std::string answer;
  std::vector<Head> layers;
};

// Weights that a proof writes down. State none: `reason` says why there are none, and nothing else is there.
struct ConstructionEvidence {
  struct AllInputs {
    bool holds = false;
    double leak = 0, gap = 0;
    std::string reason;
  };
  struct Coordinates {
    std::int64_t from = 0, to = 0;
    std::string name, content;
  };
  Evidence state = Evidence::none;
  std::string reason;  // of state none, a sentence; of state refuted, the instance
  std::string
      brief;  // of state none, the same for a narrow place; else the arrangement, where not the row's own
  std::string name, claim, reference, lemma, arch;
  SizeList size;
  std::int64_t width = 0;
  int precision = 0;
  std::optional<int> precision_proved, precision_smallest;
  std::string mode;
  std::uint64_t instances = 0, errors = 0;
  double seconds = 0;
  std::optional<AllInputs> all_inputs;
  std::optional<std::string> model;  // path
  std::vector<Coordinates> coordinates;
  std::string invariant;
  std::optional<AttentionPicture> attention;
  std::string command;
};

// Two inputs that a model cannot tell apart, and what rung-check said of them.
struct CertificateEvidence {
  struct Checker {
    std::string command;
    int exit = -1;
    double seconds = 0;
    std::string said;  // the first line
  };
  struct Message {
    std::vector<std::int64_t> key, value;
  };
  struct Proof {
    std::int64_t T = 0, x0 = 0, y = 0;
  };
  Evidence state = Evidence::none;
  std::string reason, brief;  // as above
  std::string arch;
  SizeList size;
  std::int64_t width = 0;
  int precision = 0;
  std::int64_t state_bits = 0;
  std::string method, why;
  std::uint64_t evaluations = 0;
  double seconds = 0;
  std::string model, command;
  std::string kind, file;  // file: the certificate; empty where the search found none
  std::optional<ClaimLabel> label;
  std::vector<std::string> first, second;
  std::vector<std::int64_t> differ;
  std::optional<std::int64_t> position;
  std::vector<std::string> answers, model_answers;  // two each
  std::string equal;
  std::vector<std::int64_t> activation;
  std::optional<std::int64_t> cut;  // of a collision
  std::vector<std::vector<std::int64_t>> states;
  std::optional<std::int64_t> block;  // of a sparse pair
  std::optional<Message> message;
  std::vector<std::vector<std::int64_t>> selected;
  std::optional<Proof> proof;  // of a forced fooling pair
  std::optional<Checker> checker;
};

// What training reached, in this run or in a record that came with the program.
struct TrainingEvidence {
  struct Origin {
    std::string file, configuration;
    std::optional<ProvenanceNote> provenance;
  };
  TrainingState state = TrainingState::none;
  std::string reason, brief;
  bool retry = false;  // cut short: the next run trains again
  std::string arch, task;
  SizeList size;
  double accuracy = 0;
  std::optional<double> low, high;
  std::vector<double> accuracies;
  std::int64_t seeds = 0, steps = 0;
  std::optional<LabelClass> label;
  std::string label_reason;
  std::optional<double> ceiling;
  std::string ceiling_reason;
  std::vector<AccuracyCurve> curves;  // a seed each
  double seconds = 0;
  std::optional<Origin> record;  // of a shipped one
  std::string command;
};

struct HierarchyCell {
  std::string row, column, arch, task;
  SizeList size;
  CellState state = CellState::pending;
  std::string title, what;  // of a highlight
  BoundEvidence bound;
  std::vector<BoundEvidence> further_bounds;
  ConstructionEvidence construction;
  CertificateEvidence certificate;
  TrainingEvidence training;
  std::vector<TrainingEvidence>
      further_trainings;  // shipped: the row at several sizes of its state, without curves
};

struct HierarchyDocument {
  struct Machine {
    std::string host;
    int workers = 0;
  };
  struct Column {
    std::string id, title, task;
    SizeList size;
    std::int64_t prompt_tokens = 0;
    std::string what;
  };
  struct Row {
    std::string id, title, arch, what;
  };
  struct Highlight {
    std::string id, title, what;
    std::vector<HierarchyCell> cells;
  };
  std::string version;
  Machine machine;
  double seconds = 0;
  std::string precision;
  std::vector<Column> columns;
  std::vector<Row> rows;
  std::vector<HierarchyCell> cells;
  std::vector<Highlight> highlights;
};

// A finished cell in a file of its own.
struct KeptCell {
  std::string definition;
  HierarchyCell cell;
};

nlohmann::ordered_json hierarchy_json(const HierarchyDocument& document);
// Of this version or of rung.hierarchy/1, whose words are translated. Errors: "[hierarchy] `where`..." for anything else.
Result<HierarchyDocument> parse_hierarchy(const std::string& text, const std::string& where);

std::string kept_cell_text(const KeptCell& cell);
Result<KeptCell> parse_kept_cell(const std::string& text, const std::string& where);

}  // namespace rung

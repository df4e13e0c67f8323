#include "check/architecture.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "check/document.h"
#include "check/integer.h"

namespace rung_check {
namespace {

constexpr std::int64_t kLargestSize = std::int64_t{1} << 31;
constexpr std::size_t kMostLayers = 100'000;
constexpr std::size_t kMostGroups = 1'000'000;
constexpr int kDeepest = 64;
constexpr std::int64_t kMostSteps = 1024;  // of the delta rule a token

// The options of every word that can be evaluated; those that are words and not numbers come with their
// choices.
const std::map<std::string, std::vector<std::string>> kOptions = {
    {"full", {"window", "chunk", "heads", "kv", "dim", "vdim", "conv", "cache"}},
    {"linear", {"feature", "normalised", "heads", "dim", "vdim", "conv"}},
    {"rnn", {"cell", "size"}},
    {"gru", {"size"}},
    {"mamba", {"inner", "state", "conv", "form", "conv_bias", "act", "gate", "select", "rank", "norms"}},
    {"mamba2",
     {"heads", "dim", "state", "groups", "conv", "form", "conv_bias", "act", "decay", "skip", "gate", "norm",
      "norm_groups"}},
    {"delta",
     {"heads", "kv", "dim", "vdim", "conv", "range", "steps", "form", "conv_bias", "act", "qk_act", "qk_norm",
      "scale", "beta", "gate", "norm"}},
    {"gdelta",
     {"heads", "kv", "dim", "vdim", "conv", "range", "steps", "form", "conv_bias", "act", "qk_act", "qk_norm",
      "scale", "decay", "gate", "norm"}},
    {"loglinear",
     {"base", "feature", "heads", "kv", "dim", "vdim", "state", "groups", "conv", "range", "form",
      "partition", "conv_bias", "skip", "gate", "norm", "norm_groups"}},
    {"sparse",
     {"B", "k", "window", "groups", "heads", "kv", "dim", "vdim", "form", "compress", "span", "stride",
      "first", "local", "rope"}},
    {"topk",
     {"k", "heads", "kv", "dim", "vdim", "index_heads", "index_dim", "cache", "weights", "form", "rope",
      "index_rope", "index_norm"}},
    {"conv", {"width", "channels"}},
    {"identity", {"heads", "vdim"}},
    {"none", {}},
};
const std::map<std::string, std::vector<std::string>> kWords = {
    {"feature", {"elu1", "identity", "relu", "exp", "taylor2"}},
    {"normalised", {"yes", "no"}},
    {"cell", {"tanh", "relu"}},
    {"base", {"linear", "mamba2", "gdelta"}},
    {"weights", {"clamped", "signed"}},
    {"form", {"plain", "released"}},
    {"conv_bias", {"no", "yes", "auto"}},
    {"act", {"none", "silu"}},
    {"qk_act", {"none", "silu", "relu", "elu1"}},
    {"qk_norm", {"none", "l2", "sum"}},
    {"scale", {"no", "yes"}},
    {"beta", {"yes", "no"}},
    {"decay", {"sigmoid", "step"}},
    {"skip", {"none", "head", "channel", "auto"}},
    {"gate", {"none", "silu", "sigmoid", "auto"}},
    {"norm", {"none", "before", "after", "auto"}},
    {"select", {"input", "conv"}},
    {"norms", {"none", "after", "before"}},
    {"partition", {"weak", "strong"}},
    {"compress", {"map", "mean", "pool", "weighted", "linear"}},
    {"rope", {"none", "auto"}},  // the others have no integer form
    {"index_rope", {"none"}},
    {"index_norm", {"no", "yes"}},
};

bool among(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

struct ArchitecturePart;
struct ArchitectureMixer {
  std::string kind;
  std::map<std::string, std::int64_t> numbers;
  std::map<std::string, std::string> words;
  std::vector<ArchitecturePart> parts;
};
struct ArchitecturePart {
  ArchitectureMixer mixer;
  std::int64_t heads = 1;
};

class LineReader {
 public:
  LineReader(const std::string& line, bool says_forms) : line_(line), says_forms_(says_forms) {}

  std::vector<ArchitectureMixer> all() {
    auto layers = stack(0);
    if (!end()) fail("the end of the line");
    return layers;
  }

 private:
  [[noreturn]] void fail(const std::string& expected) const {
    throw Malformed(text("the architecture line, column ", at_ + 1, ": ", expected, " expected"));
  }
  char peek() {
    while (at_ < line_.size() && std::isspace(static_cast<unsigned char>(line_[at_]))) ++at_;
    return at_ < line_.size() ? line_[at_] : '\0';
  }
  bool end() { return peek() == '\0' && at_ == line_.size(); }
  bool take(char c) {
    if (end() || peek() != c) return false;
    ++at_;
    return true;
  }
  void need(char c) {
    if (!take(c)) fail(std::string("'") + c + "'");
  }
  std::string word() {
    std::string out;
    for (char c = peek(); at_ < line_.size() && (std::isalnum(static_cast<unsigned char>(c)) || c == '_');
         c = line_[at_]) {
      out += c;
      if (++at_ == line_.size()) break;
    }
    if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) fail("a word");
    return out;
  }
  std::int64_t number(std::int64_t low) {
    peek();
    std::int64_t value = 0;
    const std::size_t begin = at_;
    for (; at_ < line_.size() && std::isdigit(static_cast<unsigned char>(line_[at_])); ++at_) {
      value = 10 * value + (line_[at_] - '0');
      if (value > kLargestSize) fail("a number up to 2^31");
    }
    if (at_ == begin || value < low) fail(text("a number from ", low, " on"));
    return value;
  }

  std::vector<ArchitectureMixer> stack(int depth) {
    std::vector<ArchitectureMixer> layers;
    do {
      std::vector<ArchitectureMixer> product;
      if (take('(')) {
        if (depth >= kDeepest) fail("at most 64 open parentheses");
        product = stack(depth + 1);
        need(')');
      } else {
        product.push_back(mixer(false));
      }
      while (take('*')) {
        const auto times = static_cast<std::size_t>(number(1));
        if (times > kMostLayers / product.size()) fail("at most 100000 layers");
        std::size_t groups = 0;  // a line of a few bytes must not become gigabytes
        for (const auto& layer : product) groups += 1 + layer.parts.size();
        if (times > kMostGroups / groups)
          throw OutOfResources("the architecture has more than 10^6 groups of heads");
        const auto once = product;
        product.reserve(once.size() * times);
        for (std::size_t i = 1; i < times; ++i) product.insert(product.end(), once.begin(), once.end());
      }
      if (layers.size() + product.size() > kMostLayers) fail("at most 100000 layers");
      layers.insert(layers.end(), product.begin(), product.end());
    } while (take('+'));
    return layers;
  }

  ArchitectureMixer mixer(bool inside_heads) {
    ArchitectureMixer out{word()};
    if (out.kind == "heads" && !inside_heads) {
      need('(');
      do {
        ArchitectureMixer part = mixer(true);
        need(':');
        out.parts.push_back({std::move(part), number(1)});
      } while (take(','));
      need(')');
      return out;
    }
    const auto known = kOptions.find(out.kind);
    if (known == kOptions.end())
      fail("a mixer that can be evaluated, not \"" + out.kind.substr(0, 40) + "\",");
    if (inside_heads && !among(known->second, "heads")) fail("a mixer made of heads");
    if (take('(') && !take(')')) options(known->second, inside_heads, out);
    const bool one_form =
        out.kind == "loglinear" && (!out.words.contains("base") || out.words.at("base") == "linear");
    if (says_forms_ && among(known->second, "form") && !one_form && !out.words.contains("form"))
      fail("a form of " + out.kind + ", which version 2 says,");
    return out;
  }

  // Behind "(", with the ")" at the end.
  void options(const std::vector<std::string>& known, bool inside_heads, ArchitectureMixer& out) {
    do {
      const std::string name = word();
      if (!among(known, name) || (inside_heads && name == "heads") || out.numbers.contains(name) ||
          out.words.contains(name))
        fail("an option of " + out.kind + " that was not given yet");
      need('=');
      if (const auto words = kWords.find(name); words != kWords.end()) {
        out.words[name] = word();
        if (!among(words->second, out.words[name])) fail("a word for " + name);
      } else {
        out.numbers[name] = number(among({"conv", "first", "local"}, name) ? 0 : 1);
      }
    } while (take(','));
    need(')');
  }

  const std::string& line_;
  const bool says_forms_;
  std::size_t at_ = 0;
};

// Of sparse. Keys of form=released turn unless the line says that they do not.
Form read_window_form(const ArchitectureMixer& m, const Shape& s) {
  Form f;
  const auto word = [&](const char* option) {
    const auto found = m.words.find(option);
    return found == m.words.end() ? std::string() : found->second;
  };
  const auto number = [&](const char* option, std::int64_t otherwise) {
    const auto found = m.numbers.find(option);
    return found == m.numbers.end() ? otherwise : found->second;
  };
  if (word("form") != "released") {
    for (const char* option : {"span", "stride", "first", "local", "compress"})
      if (m.numbers.contains(option) || m.words.contains(option))
        throw Malformed(text("sparse has no option ", option, " in its plain form"));
    return f;
  }
  if (word("rope") != "none") throw Malformed("sparse with rope has no integer form");
  if (s.groups != s.kv) throw Malformed("the groups of sparse in its released form are not its key heads");
  f.compress = word("compress").empty() ? "mean" : word("compress");
  if (f.compress == "map") throw Malformed("compress=map is of the plain form");
  f.span = number("span", s.block);
  f.stride = number("stride", f.span);
  f.first = number("first", 1);
  f.local = number("local", 2);
  if (f.span % f.stride != 0 || s.block % f.stride != 0)
    throw Malformed("the stride of sparse does not divide its span and its blocks");
  return f;
}

// The options of a form, those of form=released where the line leaves them open.
Form read_form(const ArchitectureMixer& m, const Architecture& a, const Shape& s) {
  const bool buckets = m.kind == "loglinear";
  const std::string& rule = buckets ? s.base : m.kind;
  const bool delta = rule == "delta" || rule == "gdelta";
  Form f;
  if (rule == "sparse") return read_window_form(m, s);
  if (rule == "topk") {
    const auto says = [&](const char* option, const char* word) {
      const auto found = m.words.find(option);
      return found != m.words.end() && found->second == word;
    };
    const bool turns = says("form", "released") && !(says("rope", "none") && says("index_rope", "none"));
    if (turns) throw Malformed("topk with rope has no integer form");
    f.index_norm = says("index_norm", "yes") || (says("form", "released") && !says("index_norm", "no"));
    return f;
  }
  if (!delta && rule != "mamba" && rule != "mamba2" && !buckets) return f;
  const bool released = m.words.contains("form") && m.words.at("form") == "released";
  if (buckets) {
    if (released && rule == "linear") throw Malformed("loglinear(base=linear) has no released form");
    for (const char* option : {"conv_bias", "skip", "gate", "norm"})
      if (!released && m.words.contains(option))
        throw Malformed(text("loglinear has no option ", option, " in its plain form"));
    if (delta && m.words.contains("skip")) throw Malformed("loglinear(base=gdelta) has no skip");
    f.strong = m.words.contains("partition") && m.words.at("partition") == "strong";
    if (f.strong && !released) throw Malformed("loglinear has no strong partition in its plain form");
  }
  // The plain value, the released one. Options that loglinear does not have are its base's.
  const auto chosen = [&](const char* option, const char* plain, const char* own) -> std::string {
    const auto found = m.words.find(option);
    if (found != m.words.end() && (found->second != "auto" || !buckets)) {
      if (found->second == "auto") throw Malformed(text(m.kind, " has no ", option, "=auto"));
      return found->second;
    }
    return released ? own : plain;
  };
  f.conv_bias = s.conv > 0 && chosen("conv_bias", "no", delta ? "no" : "yes") == "yes";
  f.act = chosen("act", "none", "silu");
  f.gate = chosen("gate", "none", rule == "delta" ? "none" : "silu");
  if (rule != "mamba") f.norm = chosen("norm", "none", delta ? "before" : "after");
  if (rule == "mamba2" || rule == "gdelta") f.step = chosen("decay", "sigmoid", "step") == "step";
  if (rule == "mamba2") f.skip = chosen("skip", "none", "head");
  if (delta) {
    f.qk_act = chosen("qk_act", "none", "silu");
    f.qk_norm = chosen("qk_norm", "none", "l2");
    f.scale = !buckets && chosen("scale", "no", "yes") == "yes";
    f.beta = chosen("beta", "yes", "yes") == "yes";
  }
  if (rule == "mamba") {
    f.select_conv = chosen("select", "input", "conv") == "conv";
    f.rank = m.numbers.contains("rank") ? m.numbers.at("rank") : released ? (a.width + 15) / 16 : 0;
    f.norms = chosen("norms", "none", "none");
    if (f.norms == "before" && f.rank == 0) throw Malformed("norms=before of mamba needs a rank");
  }
  const bool grouped = m.numbers.contains("norm_groups");
  if (grouped && (rule != "mamba2" || f.norm == "none")) throw Malformed(text(m.kind, " has no norm_groups"));
  if (rule == "mamba2" && f.norm != "none") {
    f.norm_groups = grouped ? m.numbers.at("norm_groups") : s.kv;
    if (s.heads % f.norm_groups != 0) throw Malformed("the groups of a norm do not divide the heads");
  }
  if (!f.plain() && s.steps > 1) throw Malformed(text(m.kind, " with steps has no released form"));
  return f;
}

// Fills in what the line leaves open. `all_heads` is what the width is divided by; `group` the heads of a
// group in heads(...).
Shape resolve(const ArchitectureMixer& m, const Architecture& a, std::optional<std::int64_t> group,
              std::int64_t all_heads) {
  const auto given = [&](const char* name, std::int64_t otherwise) {
    const auto found = m.numbers.find(name);
    return found == m.numbers.end() ? otherwise : found->second;
  };
  const auto word = [&](const char* name, const char* otherwise) {
    const auto found = m.words.find(name);
    return found == m.words.end() ? std::string(otherwise) : found->second;
  };
  const auto required = [&](const char* name) {
    if (!m.numbers.contains(name)) throw Malformed(text(m.kind, " needs the option ", name));
    return m.numbers.at(name);
  };
  const auto divides = [&](std::int64_t small, std::int64_t large, const char* what) {
    if (large % small != 0) throw Malformed(text(m.kind, ": ", small, " ", what, " do not divide ", large));
    return small;
  };
  Shape s{.kind = m.kind};
  if (m.kind == "heads") {
    for (const auto& [part, heads] : m.parts) all_heads += heads;
    for (const auto& [part, heads] : m.parts) s.parts.push_back(resolve(part, a, heads, all_heads));
    return s;
  }
  s.heads = group ? *group : given("heads", a.heads);
  const auto head_dim = [&] {
    if (a.head_dim > 0) return a.head_dim;
    const std::int64_t shares = all_heads > 0 ? all_heads : s.heads;
    return a.width / divides(shares, a.width, "heads");
  };
  const auto dim = [&](const char* name) {
    return m.numbers.contains(name) ? m.numbers.at(name) : head_dim();
  };
  const auto single_dim = [&](const char* name) {
    return m.numbers.contains(name) ? m.numbers.at(name) : a.value_dim > 0 ? a.value_dim : head_dim();
  };
  const auto key_and_value = [&] {
    s.dk = dim("dim");
    s.dv = given("vdim", a.value_dim > 0 ? a.value_dim : s.dk);
  };
  s.conv = given("conv", 0);
  s.kv = s.heads;
  s.base = word("base", "linear");
  const std::string& rule = m.kind == "loglinear" ? s.base : m.kind;
  if (m.kind == "loglinear") {
    for (const char* option : {"kv", "state", "groups", "feature", "vdim", "range"}) {
      const bool meant = rule == "linear"   ? among({"feature", "vdim"}, option)
                         : rule == "gdelta" ? among({"kv", "vdim", "range"}, option)
                                            : among({"state", "groups"}, option);
      if (!meant && (m.numbers.contains(option) || m.words.contains(option)))
        throw Malformed(text("loglinear(base=", rule, ") has no option ", option));
    }
    if (a.context == 0) throw Malformed("a log-linear layer needs a context");
  }
  if (rule == "full" || rule == "sparse" || rule == "topk") {
    s.kv = divides(given("kv", !group && a.kv_heads > 0 ? a.kv_heads : s.heads), s.heads, "key/value heads");
    key_and_value();
    s.window = given("window", 0);
    s.chunk = given("chunk", 0);
    if (s.window > 0 && s.chunk > 0) throw Malformed("full has a window or chunks, not both");
    if (rule == "sparse") s.block = required("B");
    if (rule != "full") s.select = required("k");
    s.groups = divides(given("groups", s.kv), s.heads, "groups");
    s.index_heads = given("index_heads", 1);
    s.index_dim = given("index_dim", s.dk);
    const bool released = word("form", "plain") == "released";
    s.signed_weights = word("weights", released ? "signed" : "clamped") == "signed";
  } else if (rule == "linear") {
    key_and_value();
    s.feature = word("feature", m.kind == "loglinear" ? "identity" : "elu1");
    s.normalised = m.kind == "linear" && word("normalised", "yes") == "yes";
  } else if (rule == "delta" || rule == "gdelta") {
    s.kv = divides(given("kv", s.heads), s.heads, "key heads");
    key_and_value();
    s.range = given("range", 1);
    s.steps = given("steps", 1);
    if (s.range > 2 || s.steps > kMostSteps) throw Malformed(text(m.kind, " has a range or steps too large"));
  } else if (rule == "mamba2") {
    s.dv = single_dim("dim");
    s.dk = given("state", a.state);
    s.kv = divides(given("groups", s.heads), s.heads, "groups");
  } else if (rule == "mamba") {
    s.inner = given("inner", a.width);
    s.state = given("state", a.state);
  } else if (rule == "rnn" || rule == "gru") {
    s.inner = given("size", a.width);
    s.relu_cell = word("cell", "tanh") == "relu";
  } else if (rule == "conv") {
    s.inner = given("channels", a.width);
    s.conv = required("width");
  } else if (rule == "identity") {
    s.dv = single_dim("vdim");
  }
  s.form = read_form(m, a, s);
  if (!a.causal &&
      (!among({"full", "linear", "topk", "identity", "none"}, m.kind) || s.conv > 0 || s.chunk > 0))
    throw Malformed(text(m.kind, " has no meaning in an encoder"));
  if (static_cast<Int>(s.heads) * std::max(s.dk, s.dv) > kLargestSize ||
      static_cast<Int>(s.block) * a.width > kLargestSize ||
      static_cast<Int>(s.kv) * s.form.span * std::max(s.dk, s.dv) > kLargestSize)
    throw OutOfResources(text(m.kind, " has sizes beyond 2^31"));
  s.features();
  return s;
}

}  // namespace

std::int64_t Shape::features() const {
  if (feature != "taylor2") return dk;
  const Int count = 1 + dk + static_cast<Int>(dk) * dk;
  if (count > kLargestSize) throw OutOfResources("taylor2 has more than 2^31 features");
  return static_cast<std::int64_t>(count);
}
std::int64_t Shape::outputs() const {
  if (kind == "heads") {
    std::int64_t total = 0;
    for (const auto& part : parts) total += part.outputs();
    return total;
  }
  if (kind == "rnn" || kind == "gru" || kind == "mamba" || kind == "conv") return inner;
  return heads * dv;
}
bool Shape::sees_other_tokens() const {
  if (kind != "heads") return kind != "identity" && kind != "none";
  return std::any_of(parts.begin(), parts.end(), [](const Shape& part) { return part.sees_other_tokens(); });
}

Architecture read_architecture(const std::string& line, const std::string& dimensions, bool real,
                               bool says_forms) {
  Architecture a;
  const Json json = parse_json(dimensions, "the model's dimensions");
  Members d(json, "the model's dimensions");
  const auto size = [&](const char* name, std::int64_t& target) {
    if (d.has(name)) target = d.number(name, 1, kLargestSize);
  };
  const auto choice = [&](const char* name, std::string& target, const std::vector<std::string>& words) {
    if (!d.has(name)) return;
    target = d.word(name);
    if (!among(words, target)) throw Malformed(text("the model's dimensions: unknown ", name));
  };
  size("width", a.width);
  size("heads", a.heads);
  size("kv_heads", a.kv_heads);
  size("head_dim", a.head_dim);
  size("value_dim", a.value_dim);
  size("state", a.state);
  size("context", a.context);
  std::int64_t unused = 0;
  size("vocabulary", unused);
  size("outputs", unused);
  choice("activation", a.activation, {"relu", "gelu", "silu"});
  choice("position", a.position, {"none", "table", "binary"});
  std::string norm = "none", mlp, precision = "16";
  choice("norm", norm, {"none", "rms"});
  a.rms = norm == "rms";
  if (d.has("causal")) {
    const Json& causal = d.take("causal");
    if (!causal.is_boolean()) throw Malformed("the model's dimensions: causal is neither true nor false");
    a.causal = causal.get<bool>();
  }
  if (d.has("precision")) precision = d.word("precision");
  if (real && among({"fp32", "bf16", "fp16", "e4m3", "e5m2"}, precision)) precision = "16";
  if (precision.size() > 2 || precision.find_first_not_of("0123456789") != std::string::npos)
    throw Malformed("the model's precision is not a whole number of bits");
  a.precision = precision.empty() ? 0 : std::stoll(precision);
  if (a.precision < 2 || a.precision > 48) throw Malformed("the model's precision is outside 2 to 48");
  a.accumulator_bits = d.has("accumulator_bits") ? d.number("accumulator_bits", 1, 62) : a.precision;
  a.mlp = {4 * a.width};
  if (d.has("mlp")) {
    mlp = d.word("mlp");
    a.mlp.clear();
    a.has_mlp = mlp != "none";
    std::istringstream widths(mlp);
    for (std::string width; a.has_mlp && std::getline(widths, width, ',');) {
      if (width.empty() || width.size() > 9 || width.find_first_not_of("0123456789") != std::string::npos ||
          std::stoll(width) < 1)
        throw Malformed("the model's mlp is not a list of widths");
      a.mlp.push_back(std::stoll(width));
    }
    if (a.has_mlp && a.mlp.empty()) throw Malformed("the model's mlp is empty");
  }
  d.done();
  for (const auto& mixer : LineReader(line, says_forms).all())
    a.layers.push_back(resolve(mixer, a, std::nullopt, 0));
  return a;
}

}  // namespace rung_check

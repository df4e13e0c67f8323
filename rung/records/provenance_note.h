// Where a record of measurements comes from.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace rung {

struct ProvenanceNote {
  std::string version;  // of rung
  std::map<std::string, std::string> libraries;
  std::string machine, device, date;
  double seconds = 0;
  std::optional<std::string> predictions;  // the commit that wrote them down, where it is known
};

template <class Fields>
void describe(Fields& field, ProvenanceNote& note) {
  field("version", note.version, "libraries", note.libraries, "machine", note.machine, "device", note.device,
        "date", note.date, "seconds", note.seconds);
  field.some("predictions", note.predictions);
}

}  // namespace rung

// Where a record of measurements comes from.
#pragma once

#include <map>
#include <string>

namespace rung {

struct ProvenanceNote {
  std::string version;  // of rung
  std::map<std::string, std::string> libraries;
  std::string machine, device, date;
  double seconds = 0;
};

template <class Fields>
void describe(Fields& field, ProvenanceNote& note) {
  field("version", note.version, "libraries", note.libraries, "machine", note.machine, "device", note.device,
        "date", note.date, "seconds", note.seconds);
}

}  // namespace rung

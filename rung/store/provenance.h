// Where a record comes from: the moment, the machine, the program.
#pragma once

#include <string>

#include "rung/store/record.h"

namespace rung {

// Now, in the form of Record::created.
std::string utc_now();
// The same for seconds since 1970. REQUIRES 0 <= seconds < 2^33.
std::string utc_time(double seconds);
bool is_utc_time(std::string_view text);

// Unique, and sorted by the time of making; strictly increasing within a process:
// 20261115T152329.123456-9f3a1c2b.
std::string fresh_id();
// The same shape for what was made elsewhere: its time, then a digest of its content. REQUIRES
// is_utc_time(time).
std::string content_id(std::string_view time, std::string_view content);

// Fills what is empty: id, created, finished (unless running), version, host, command (of this process), and
// the versions of the libraries that this layer knows of.
void stamp(Record& record);

}  // namespace rung

// Records as a table: CSV as RFC 4180 has it (quotes doubled, lines ended by a bare newline).
#pragma once

#include <string>
#include <vector>

#include "rung/store/record.h"

namespace rung {

// A header, then one row a record. Columns: the fields of a record, then those of the bodies in alphabetic
// order, objects inside bodies as "size.n"; a body's field that is called like a record's field is
// "body.NAME". Arrays are JSON text; what a record does not have is empty.
std::string csv_table(const std::vector<Record>& records);

}  // namespace rung

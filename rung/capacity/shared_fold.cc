#include "rung/capacity/shared_fold.h"

#include "rung/base/require.h"

namespace rung {
// is_shape + 2 * depth, id, shape (of nodes), length, bytes.
void FreshRows::add(std::size_t depth, std::uint64_t is_shape, std::uint64_t id, std::uint64_t shape,
                    std::span<const std::uint8_t> row) {
  append_varint(bytes_, is_shape + 2 * depth);
  append_varint(bytes_, id);
  if (!is_shape) append_varint(bytes_, shape);
  append_varint(bytes_, row.size());
  bytes_.insert(bytes_.end(), row.begin(), row.end());
}

std::string pack_report(const FoldReport& report) {
  std::vector<std::uint8_t> bytes;
  append_varint(bytes, report.hand);
  append_varint(bytes, static_cast<std::uint64_t>(report.prompts));
  append_varint(bytes, (report.stopped ? 1u : 0u) + (report.endless ? 2u : 0u));
  append_varint(bytes, zigzag(report.acausal));
  append_varint(bytes, report.subtrees.size());
  for (const FoldedSubtree& subtree : report.subtrees) {
    append_varint(bytes, subtree.node.id);
    append_varint(bytes, subtree.node.shape);
    append_varint(bytes, subtree.answers.size());
    for (const std::int64_t answer : subtree.answers) append_varint(bytes, zigzag(answer));
  }
  std::string text(bytes.begin(), bytes.end());
  text.append(report.rows.begin(), report.rows.end());
  return text;
}

FoldReport unpack_report(const std::string& text) {
  const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  std::size_t at = 0;
  FoldReport report;
  report.hand = read_varint(bytes, at);
  report.prompts = static_cast<std::int64_t>(read_varint(bytes, at));
  const std::uint64_t flags = read_varint(bytes, at);
  report.stopped = flags & 1, report.endless = flags & 2;
  report.acausal = unzigzag(read_varint(bytes, at));
  report.subtrees.resize(read_varint(bytes, at));
  for (FoldedSubtree& subtree : report.subtrees) {
    subtree.node.id = read_varint(bytes, at);
    subtree.node.shape = read_varint(bytes, at);
    subtree.answers.resize(read_varint(bytes, at));
    for (std::int64_t& answer : subtree.answers) answer = unzigzag(read_varint(bytes, at));
  }
  report.rows.assign(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end());
  return report;
}

std::vector<std::uint8_t> RowMerge::node_row(const Ids& ids, std::size_t depth,
                                             std::span<const std::uint8_t> row) const {
  std::vector<std::uint8_t> out{row[0]};
  const std::size_t copied =
      (row[0] != 0 ? tree_.width : 0) + (tree_.reads_answer(depth) ? tree_.answer_group : 0);
  for (std::size_t at = 1; at < row.size();) {
    for (std::size_t i = 0; i < copied; ++i) append_varint(out, read_varint(row, at));
    if (!tree_.is_last(depth)) append_varint(out, ids.nodes[depth + 1].at(read_varint(row, at)));
  }
  return out;
}

std::vector<std::uint8_t> RowMerge::shape_row(const Ids& ids, std::size_t depth,
                                              std::span<const std::uint8_t> row) const {
  std::vector<std::uint8_t> out;
  for (std::size_t at = 0; at < row.size();) {
    for (std::size_t i = 0; i < tree_.width; ++i) append_varint(out, read_varint(row, at));
    if (tree_.is_last(depth)) continue;
    const std::uint64_t child = read_varint(row, at);
    append_varint(out, child == 0 ? 0 : ids.shapes[depth + 1].at(child));
  }
  return out;
}

void RowMerge::merge(int rank, FoldReport& report, std::size_t depth) {
  Ids& ids = hands_[{rank, report.hand}];
  ids.nodes.resize(tree_.nodes.size());
  ids.shapes.resize(tree_.nodes.size());
  const std::span<const std::uint8_t> bytes(report.rows);
  for (std::size_t at = 0; at < bytes.size();) {
    const std::uint64_t head = read_varint(bytes, at), id = read_varint(bytes, at);
    const std::size_t level = head / 2;
    RUNG_REQUIRE(level < tree_.nodes.size(), "a row at depth {}", level);
    const std::uint64_t shape = head % 2 ? 0 : read_varint(bytes, at);
    const std::size_t size = read_varint(bytes, at);
    const auto row = bytes.subspan(at, size);
    at += size;
    if (head % 2) {
      ids.shapes[level][id] = tree_.shapes[level]->intern(shape_row(ids, level, row)).id + 1;
      continue;
    }
    const RowTable::Entry entry = tree_.nodes[level]->intern(node_row(ids, level, row));
    ids.nodes[level][id] = entry.id;
    if (!entry.fresh || shape == 0) continue;
    const std::scoped_lock lock(shapes_);
    ++tree_.nodes_of_shape[level][ids.shapes[level].at(shape)];
  }
  for (FoldedSubtree& subtree : report.subtrees) {
    if (depth < tree_.nodes.size()) subtree.node.id = ids.nodes[depth].at(subtree.node.id);
    if (subtree.node.shape != 0) subtree.node.shape = ids.shapes[depth].at(subtree.node.shape);
  }
}

}  // namespace rung

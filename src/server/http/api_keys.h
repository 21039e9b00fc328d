// The keys that open the server, each with a name for the log. Filled at start, then constant. Kept
// as digests, all of which every look-up compares: its time tells nothing of a key.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mlxforge {

class ApiKeys {
 public:
  // A key without a name gets one from its place: key1, key2, ... Throws Error for an empty key and
  // for a name or key that stands here already.
  void add(std::string_view key, std::string_view name = "");
  // One key a line, `KEY` or `NAME:KEY`; empty lines and lines that begin with # are none. Throws
  // Error naming the line, and never what stands in it.
  void add_file(const std::filesystem::path& file);

  bool empty() const { return entries_.empty(); }
  struct Entry {
    std::string name;
    std::array<unsigned char, 32> digest;
    uint32_t number;  // from 1 on
  };
  const Entry* find(std::string_view key) const;  // null: no such key

 private:
  std::vector<Entry> entries_;
};

}  // namespace mlxforge

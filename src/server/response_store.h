// What /v1/responses keeps between requests: finished responses, for GET and for
// previous_response_id. Bounded: the oldest go first. Any thread may call. Whoever knows an id may
// use it; ids are random.
#pragma once

#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/status.h"

namespace mlxforge {

struct StoredResponse {
  std::string body;          // JSON of the response
  std::string input;         // JSON array of the items that it answers
  std::string conversation;  // JSON array of messages: all that was said, this answer included

  size_t bytes() const { return body.size() + input.size() + conversation.size(); }
};

class ResponseStore {
 public:
  static constexpr size_t kMaxBytes = 64 << 20;

  explicit ResponseStore(size_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) {}

  void put(std::string id, StoredResponse response);  // REQUIRES: the id is new
  std::optional<StoredResponse> get(std::string_view id) const;
  bool erase(std::string_view id);  // whether it was there

 private:
  struct Entry {
    std::string id;
    StoredResponse response;
  };
  using Entries = std::list<Entry>;

  void drop(Entries::iterator entry);

  const size_t max_bytes_;
  mutable std::mutex mutex_;
  Entries entries_;                                                // oldest first
  std::unordered_map<std::string_view, Entries::iterator> by_id_;  // keys are those of the entries
  size_t bytes_ = 0;
};

// The failure of a request for a response that is not there.
Status not_kept(std::string_view id);

}  // namespace mlxforge

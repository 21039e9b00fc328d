#include "server/response_store.h"

namespace mlxforge {

void ResponseStore::put(std::string id, StoredResponse response) {
  std::lock_guard lock(mutex_);
  bytes_ += response.bytes();
  entries_.push_back({std::move(id), std::move(response)});
  by_id_.emplace(entries_.back().id, std::prev(entries_.end()));
  while (bytes_ > max_bytes_) drop(entries_.begin());
}

std::optional<StoredResponse> ResponseStore::get(std::string_view id) const {
  std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return std::nullopt;
  return found->second->response;
}

bool ResponseStore::erase(std::string_view id) {
  std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return false;
  drop(found->second);
  return true;
}

void ResponseStore::drop(Entries::iterator entry) {
  bytes_ -= entry->response.bytes();
  by_id_.erase(entry->id);
  entries_.erase(entry);
}

Status not_kept(std::string_view id) {
  return {Code::not_found,
          str("the response '", id.substr(0, 100), "' is not kept here (any more)"), "id"};
}

}  // namespace mlxforge

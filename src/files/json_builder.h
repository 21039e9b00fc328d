// Builds a JSON value from the events of nlohmann's parser, for readers of untrusted text that
// refuse more than the parser does. (nlohmann's own builder lets the last of two equal keys win,
// and with a callback it takes time quadratic in the members of an object.) A reader derives from
// it and decides about keys, depth and errors. One thread, one text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace mlxforge {

template <class J>  // nlohmann::json or nlohmann::ordered_json
class JsonBuilder : public J::json_sax_t {
 public:
  explicit JsonBuilder(size_t max_depth) : max_depth_(max_depth) {}

  J take() { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(int64_t value) override { return put(value); }
  bool number_unsigned(uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string&) override { return put(value); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(typename J::binary_t&) override { return false; }  // never in JSON text

  bool start_object(size_t) override { return open(J::object()); }
  bool start_array(size_t) override { return open(J::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

 protected:
  static constexpr int kNumberOverflow = 406;  // nlohmann's id of the error

  // The text nests deeper than max_depth. Throws, or returns false to end the parsing.
  virtual bool too_deep() = 0;

  size_t max_depth() const { return max_depth_; }
  // For key(): the open object, and the member of it that the next value becomes.
  J& object() { return *open_.back(); }
  void next_member(J& member) { member_ = &member; }

 private:
  // The root, the end of the open array, or the member whose key came last.
  J& place(J value) {
    if (open_.empty()) return root_ = std::move(value);
    if (open_.back()->is_array()) return open_.back()->emplace_back(std::move(value));
    return *member_ = std::move(value);
  }
  bool put(J value) {
    place(std::move(value));
    return true;
  }
  bool open(J container) {
    if (open_.size() == max_depth_) return too_deep();
    open_.push_back(&place(std::move(container)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const size_t max_depth_;
  J root_;
  std::vector<J*> open_;  // the containers around the next value, outermost first
  J* member_ = nullptr;
};

}  // namespace mlxforge

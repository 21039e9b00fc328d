// Strings at which a repetition is over: the sequence breakers of the DRY penalty. They are found
// in the text that tokens stand for, wherever the tokens cut it. Constant: any thread may call.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace mlxforge {

class SequenceBreakers {
 public:
  // REQUIRES: none of the strings is empty.
  SequenceBreakers(std::shared_ptr<const Tokenizer> tokenizer, std::vector<std::string> strings);

  // How many of the tokens come after the last one in which a breaker ends; all, when there is
  // none. Walks back from the end no further than that.
  size_t tokens_since(std::span<const int32_t> tokens) const;

 private:
  // Whether a breaker ends within the last of the tokens.
  bool ends_in_last(std::span<const int32_t> tokens) const;

  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<std::string> strings_;
  size_t longest_ = 0;  // bytes
};

}  // namespace mlxforge

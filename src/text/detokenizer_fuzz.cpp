// fuzz_detokenizer: any ids, streamed, give whole characters, and together what the tokens' bytes
// give at once. The input is ids of a SentencePiece vocabulary, two bytes each. Run it in the
// source folder.
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

#include "base/check.h"
#include "base/utf8.h"
#include "text/detokenizer.h"

namespace mlxforge {
namespace {

const Tokenizer& tokenizer() {
  static const Tokenizer made = [] {
    std::ifstream in("reference/fixtures_text/tokenizers/spm.json");
    return Tokenizer::from_json(std::string(std::istreambuf_iterator<char>(in), {}));
  }();
  return made;
}

void run(const uint8_t* data, size_t size) {
  std::string bytes, streamed;
  Detokenizer detokenizer(tokenizer());
  for (size_t i = 0; i + 1 < size; i += 2) {
    const int32_t id = (data[i] << 8 | data[i + 1]) % (tokenizer().vocab_size() + 2) - 1;
    const std::string piece = detokenizer.push(id);
    check(valid_utf8(piece) == piece, "half a character");
    streamed += piece;
    if (!tokenizer().is_special(id)) bytes += tokenizer().token_bytes(id);
  }
  streamed += detokenizer.flush();
  if (bytes.starts_with(' ')) bytes.erase(0, 1);
  check(streamed == valid_utf8(bytes), "streamed and one-shot text differ");
}

}  // namespace
}  // namespace mlxforge

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mlxforge::run(data, size);
  return 0;
}

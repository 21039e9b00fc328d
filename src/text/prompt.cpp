// Which special tokens in a rendered prompt did the template write, and which did a caller's text
// spell? The prompt is rendered again in two ways that put an unused character, the marker, before
// characters whose origin is known:
//
//   written  before those of every special token in the template's source (and in bos_token, ...)
//   tainted  before those of every string of the caller
//
// Each rendering counts only if it is the plain prompt once its markers are taken out; then a
// marked character of the first is the template's, and so is an unmarked one of the second. It does
// not count where the template compares marked text: a split at '</think>' with '</think>' in a
// message. The first is then tried with fewer and fewer of the source's tokens marked, so that the
// compared ones drop out. A special token is one only if all its characters are proven to be the
// template's. Everything else, above all what a caller spells in one message or across several, is
// encoded as text.

#include "text/prompt.h"

#include <algorithm>
#include <bitset>
#include <functional>

namespace mlxforge {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_continuation(char c) { return (c & 0xC0) == 0x80; }

// Markers are taken from private-use plane 15: U+F0000 .. U+FFFFD, F3 Bx xx xx in UTF-8.
constexpr size_t kMarkers = 0xFFFE;

std::string marker_text(size_t n) {
  return {char(0xF3), char(0xB0 | n >> 12), char(0x80 | (n >> 6 & 0x3F)), char(0x80 | (n & 0x3F))};
}

// Finds a marker that none of the texts it has seen contains.
class MarkerChoice {
 public:
  void avoid(std::string_view text) {
    for (size_t at = text.find('\xF3'); at != text.npos; at = text.find('\xF3', at + 1)) {
      if (text.size() - at < 4 || (text[at + 1] & 0xF0) != 0xB0) continue;
      const size_t n =
          (text[at + 1] & 0xF) << 12 | (text[at + 2] & 0x3F) << 6 | (text[at + 3] & 0x3F);
      if (n < kMarkers) used_.set(n);
    }
  }
  std::optional<std::string> choose() const {
    for (size_t n = 0; n < kMarkers; ++n) {
      if (!used_[n]) return marker_text(n);
    }
    return std::nullopt;
  }

 private:
  std::bitset<kMarkers> used_;
};

// `text` with the marker before each character in [begin, end) that is not a space: spaces stay
// bare so that templates can strip them.
void append_marked(std::string& out, std::string_view text, const std::string& marker) {
  for (const char c : text) {
    if (!is_space(c) && !is_continuation(c)) out += marker;
    out += c;
  }
}

// The names of fields and of JSON types, roles, functions: templates look them up and compare them.
bool is_identifier(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.' ||
           c == '$';
  });
}

class ChatEncoder {
 public:
  ChatEncoder(const Tokenizer& tokenizer, const ChatTemplate& chat, const ChatInput& input,
              std::string prompt, std::string marker)
      : tokenizer_(tokenizer),
        chat_(chat),
        input_(input),
        prompt_(std::move(prompt)),
        marker_(std::move(marker)),
        proven_(prompt_.size()) {}

  std::vector<int32_t> encode() {
    const size_t spelt = tokenizer_.find_specials(prompt_).size();
    if (spelt > 0) prove(spelt);
    return tokenizer_.encode(prompt_, spelt > 0 ? proven_specials() : std::vector<SpecialSpan>());
  }

 private:
  void prove(size_t spelt) {
    const bool all_written = prove_written(0, kAll);
    if (proven_specials().size() == spelt || prove_untainted() || all_written) return;
    const size_t n = count_written();
    prove_some_written(0, n / 2);
    prove_some_written(n / 2, n);
  }

  void prove_some_written(size_t begin, size_t end) {
    if (begin == end || prove_written(begin, end) || end - begin == 1) return;
    prove_some_written(begin, (begin + end) / 2);
    prove_some_written((begin + end) / 2, end);
  }

  // The special tokens in the template's texts; prove_written numbers them in this order.
  size_t count_written() const {
    size_t count = 0;
    for (const std::string& text : chat_.texts()) count += tokenizer_.find_specials(text).size();
    return count;
  }

  bool prove_written(size_t begin, size_t end) {
    size_t n = 0;
    const auto mark = [&](const std::string& text) {
      std::string out;
      size_t at = 0;
      for (const SpecialSpan& span : tokenizer_.find_specials(text)) {
        out.append(text, at, span.begin - at);
        const std::string_view token =
            std::string_view(text).substr(span.begin, span.end - span.begin);
        if (n >= begin && n < end)
          append_marked(out, token, marker_);
        else
          out += token;
        ++n;
        at = span.end;
      }
      return out.append(text, at);
    };
    try {
      return learn(chat_.rewritten(mark).render(input_), true);
    } catch (const Error&) {  // a special token that is also a word of the template's code
      return false;
    }
  }

  bool prove_untainted() {
    ChatInput tainted = input_;
    for (OrderedJson* part :
         {&tainted.messages, &tainted.tools, &tainted.documents, &tainted.kwargs})
      taint(*part, false);
    return learn(chat_.render(tainted), false);
  }

  void taint(OrderedJson& value, bool is_content) const {
    if (value.is_string()) {
      value = tainted(value.get_ref<const std::string&>(), is_content);
    } else if (value.is_array()) {
      for (OrderedJson& inner : value) taint(inner, is_content);
    } else if (value.is_object()) {
      OrderedJson out = OrderedJson::object();
      for (auto& [key, inner] : value.items()) {
        taint(inner, key == "content" || key == "text");
        out[tainted(key, false)] = std::move(inner);
      }
      value = std::move(out);
    }
  }

  std::string tainted(const std::string& text, bool is_content) const {
    if (!is_content && is_identifier(text) && tokenizer_.find_specials(text).empty()) return text;
    std::string out;
    append_marked(out, text, marker_);
    return out;
  }

  // If `rendered` is the prompt but for its markers: the characters that are marked, or those that
  // are not, are proven.
  bool learn(const Result<std::string>& rendered, bool marked) {
    if (!rendered.ok()) return false;
    std::string_view rest = rendered.value();
    std::vector<bool> learnt = proven_;
    for (size_t at = 0; at < prompt_.size();) {
      const bool here = rest.starts_with(marker_);
      if (here) rest.remove_prefix(marker_.size());
      do {
        if (rest.empty() || rest[0] != prompt_[at]) return false;
        if (here == marked) learnt[at] = true;
        rest.remove_prefix(1);
      } while (++at < prompt_.size() && is_continuation(prompt_[at]));
    }
    if (!rest.empty()) return false;
    proven_ = std::move(learnt);
    return true;
  }

  // Spaces need no proof: they belong to a special token only where it swallows those around it.
  std::vector<SpecialSpan> proven_specials() const {
    std::string visible = prompt_;
    for (size_t i = 0; i < visible.size(); ++i) {
      if (!proven_[i] && !is_space(visible[i])) visible[i] = '\x01';
    }
    return tokenizer_.find_specials(visible);
  }

  static constexpr size_t kAll = SIZE_MAX;
  const Tokenizer& tokenizer_;
  const ChatTemplate& chat_;
  const ChatInput& input_;
  const std::string prompt_;
  const std::string marker_;
  std::vector<bool> proven_;  // per byte of prompt_: the template wrote it
};

}  // namespace

Result<std::vector<int32_t>> encode_chat(const Tokenizer& tokenizer, const ChatTemplate& chat,
                                         const ChatInput& input) {
  Result<std::string> prompt = chat.render(input);
  if (!prompt.ok()) return prompt.status();
  MarkerChoice choice;
  choice.avoid(*prompt);
  for (const std::string& text : chat.texts()) choice.avoid(text);
  for (const OrderedJson* part : {&input.messages, &input.tools, &input.documents, &input.kwargs})
    choice.avoid(part->dump());
  const std::optional<std::string> marker = choice.choose();
  if (!marker) return Status::invalid("the messages use every private-use character", "messages");
  std::vector<int32_t> ids =
      ChatEncoder(tokenizer, chat, input, std::move(*prompt), *marker).encode();
  if (tokenizer.adds_bos() && (ids.empty() || ids.front() != tokenizer.bos_id()))
    ids.insert(ids.begin(), *tokenizer.bos_id());
  return ids;
}

std::vector<int32_t> encode_text(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<int32_t> ids = tokenizer.encode(text);
  if (tokenizer.adds_bos()) ids.insert(ids.begin(), *tokenizer.bos_id());
  return ids;
}

}  // namespace mlxforge

// Which special tokens in a rendered prompt did the template write, and which did a caller's text
// spell? The prompt is rendered again in two ways, with a marker before characters whose origin is
// known:
//
//   written  before those of every special token in the template's source (and in bos_token, ...)
//   tainted  before those of every string of the caller
//
// A rendering counts only if it is the plain prompt once its markers are taken out; then the marked
// characters of the first are the template's, and so are the unmarked ones of the second. It does
// not count where the template compares marked text: a split at '</think>' with '</think>' in a
// message. The first is then tried with fewer and fewer of the source's tokens marked, so that the
// compared ones drop out. A special token is one only if all its characters are proven to be the
// template's. What is left, above all what a caller spells in one string or across several, is
// encoded as text.

#include "text/prompt.h"

#include <algorithm>
#include <cctype>

#include "base/utf8.h"
#include "text/final_message.h"
#include "text/marker.h"

namespace mlxforge {
namespace {

// Words that templates build control tokens from ('<|' + role + '|>'); another role is just text.
constexpr std::string_view kRoles[] = {"system",    "developer", "user",
                                       "assistant", "tool",      "function"};

// The names of fields and of JSON types, roles, functions: templates look them up and compare them.
bool is_identifier(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '.' || c == '$';
  });
}

class ChatEncoder {
 public:
  ChatEncoder(const Tokenizer& tokenizer, const ChatTemplate& chat, const ChatInput& input,
              std::string prompt, Marker marker, const CancelFlag& cancel)
      : tokenizer_(tokenizer),
        chat_(chat),
        input_(input),
        prompt_(std::move(prompt)),
        marker_(std::move(marker)),
        cancel_(cancel),
        proven_(prompt_.size()) {}

  // Of the prompt's first `end` bytes.
  std::vector<int32_t> encode(size_t end) {
    const size_t spelt = tokenizer_.find_specials(prompt_).size();
    if (spelt > 0) prove(spelt);
    std::vector<SpecialSpan> specials = proven_specials();
    std::erase_if(specials, [&](const SpecialSpan& span) { return span.end > end; });
    return tokenizer_.encode(std::string_view(prompt_).substr(0, end), specials, cancel_);
  }

 private:
  void prove(size_t spelt) {
    const bool all_written = prove_written(0, SIZE_MAX);
    if (proven_specials().size() == spelt || prove_untainted() || all_written) return;
    size_t n = 0;
    for (const std::string& text : chat_.texts()) n += tokenizer_.find_specials(text).size();
    prove_some_written(0, n / 2);
    prove_some_written(n / 2, n);
  }

  void prove_some_written(size_t begin, size_t end) {
    if (begin == end || prove_written(begin, end) || end - begin == 1) return;
    prove_some_written(begin, (begin + end) / 2);
    prove_some_written((begin + end) / 2, end);
  }

  // The special tokens in the template's texts are numbered; those in [begin, end) are marked.
  bool prove_written(size_t begin, size_t end) {
    if (cancel_.is_set()) return true;  // no need to look further
    size_t n = 0;
    const auto mark = [&](const std::string& text) {
      std::string out;
      size_t at = 0;
      for (const SpecialSpan& span : tokenizer_.find_specials(text)) {
        out.append(text, at, span.begin - at);
        const std::string token = text.substr(span.begin, span.end - span.begin);
        out += n >= begin && n < end ? marker_.mark(token) : token;
        at = span.end;
        ++n;
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
    for (int32_t id = 0; id < tokenizer_.vocab_size(); ++id) {
      if (tokenizer_.is_special(id)) special_texts_.push_back(tokenizer_.token_bytes(id));
    }
    ChatInput tainted = input_;
    for (OrderedJson* part :
         {&tainted.messages, &tainted.tools, &tainted.documents, &tainted.kwargs})
      taint(*part, false);
    return learn(chat_.render(tainted), false);
  }

  bool learn(const Result<std::string>& rendered, bool marked_is_proven) {
    if (!rendered.ok()) return false;
    const auto marked = marker_.marked_bytes(rendered.value(), prompt_);
    if (!marked) return false;
    for (size_t i = 0; i < proven_.size(); ++i) {
      if ((*marked)[i] == marked_is_proven) proven_[i] = true;
    }
    return true;
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
    const bool compared = !is_content && is_identifier(text) && !is_part_of_special(text);
    return compared ? text : marker_.mark(text);
  }

  bool is_part_of_special(std::string_view word) const {
    if (std::find(std::begin(kRoles), std::end(kRoles), word) != std::end(kRoles)) return false;
    return std::any_of(special_texts_.begin(), special_texts_.end(),
                       [&](std::string_view text) { return text.find(word) != text.npos; });
  }

  // Spaces need no proof: they belong to a special token only where it swallows those around it.
  std::vector<SpecialSpan> proven_specials() const {
    std::string visible = prompt_;
    for (size_t i = 0; i < visible.size(); ++i) {
      if (!proven_[i] && !is_space(visible[i])) visible[i] = '\x01';
    }
    return tokenizer_.find_specials(visible);
  }

  const Tokenizer& tokenizer_;
  const ChatTemplate& chat_;
  const ChatInput& input_;
  const std::string prompt_;
  const Marker marker_;
  const CancelFlag& cancel_;
  std::vector<bool> proven_;  // per byte of prompt_: the template wrote it
  std::vector<std::string_view> special_texts_;
};

}  // namespace

Status check_length(const Tokenizer& tokenizer, std::string_view prompt,
                    const EncodeLimits& limits) {
  const size_t least = tokenizer.fewest_tokens(prompt);
  if (least <= static_cast<size_t>(limits.context - limits.answer)) return {};
  return {Code::context_exceeded,
          str("the context is ", limits.context, " tokens and the prompt is ", prompt.size(),
              " bytes, at least ", least, " tokens: shorten it"),
          "prompt"};
}

Status cancelled() { return {Code::unavailable, "the client has left", ""}; }

Result<std::vector<int32_t>> encode_chat(const Tokenizer& tokenizer, const ChatTemplate& chat,
                                         const ChatInput& input, const EncodeLimits& limits) {
  Result<std::string> prompt = chat.render(input);
  if (!prompt.ok()) return prompt.status();
  if (Status s = check_length(tokenizer, *prompt, limits); !s.ok()) return s;
  std::vector<std::string> texts = chat.texts();
  for (const OrderedJson* part : {&input.messages, &input.tools, &input.documents, &input.kwargs})
    texts.push_back(part->dump());
  texts.push_back(*prompt);
  std::optional<Marker> marker = Marker::absent_from(texts);
  if (!marker)
    return Status::invalid("expected fewer different private-use characters", "messages");
  Result<size_t> end = prompt->size();
  if (input.continue_final_message) end = end_of_final_message(chat, input, *prompt, *marker);
  if (!end.ok()) return end.status();
  ChatEncoder encoder(tokenizer, chat, input, std::move(*prompt), std::move(*marker),
                      limits.cancel);
  std::vector<int32_t> ids = encoder.encode(*end);
  if (limits.cancel.is_set()) return cancelled();
  if (tokenizer.adds_bos() && (ids.empty() || ids.front() != tokenizer.bos_id()))
    ids.insert(ids.begin(), *tokenizer.bos_id());
  return ids;
}

Result<std::vector<int32_t>> encode_text(const Tokenizer& tokenizer, std::string_view text,
                                         const EncodeLimits& limits) {
  if (Status s = check_length(tokenizer, text, limits); !s.ok()) return s;
  std::vector<int32_t> ids = tokenizer.encode(valid_utf8(text), {}, limits.cancel);
  if (limits.cancel.is_set()) return cancelled();
  if (tokenizer.adds_bos()) ids.insert(ids.begin(), *tokenizer.bos_id());
  return ids;
}

Result<std::vector<int32_t>> encode_whole(const Tokenizer& tokenizer, std::string_view text,
                                          const EncodeLimits& limits) {
  if (Status s = check_length(tokenizer, text, limits); !s.ok()) return s;
  std::vector<int32_t> ids = tokenizer.encode(text, {.add_special = true, .cancel = limits.cancel});
  if (limits.cancel.is_set()) return cancelled();
  return ids;
}

}  // namespace mlxforge

#include "text/grammar.h"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <mutex>
#include <optional>
#include <utility>

#include "rust/bridge.h"

namespace mlxforge {
namespace asio = boost::asio;

namespace {

constexpr int kMaskThreads = 2;
// Beyond this a schema or grammar is refused unread.
constexpr size_t kMaxSourceBytes = 256 * 1024;

rs::TokenTable token_table(const Tokenizer& tokenizer) {
  rs::TokenTable table;
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const bool special = tokenizer.is_special(id);
    const std::string bytes =
        special ? tokenizer.id_to_token(id) : std::string(tokenizer.token_bytes(id));
    for (const char c : bytes) table.bytes.push_back(static_cast<uint8_t>(c));
    table.ends.push_back(static_cast<uint32_t>(table.bytes.size()));
    table.special.push_back(special);
  }
  return table;
}

rs::GrammarKind kind_of(const GrammarSource& source) {
  switch (source.kind) {
    case GrammarSource::Kind::regex:
      return rs::GrammarKind::Regex;
    case GrammarSource::Kind::choice:
      return rs::GrammarKind::Choice;
    case GrammarSource::Kind::lark:
      return rs::GrammarKind::Lark;
    case GrammarSource::Kind::json_schema:
      break;
  }
  return rs::GrammarKind::JsonSchema;
}

rs::GrammarSource rust_source(const GrammarSource& source) {
  return {.kind = kind_of(source),
          .text = source.text,
          .name = source.name,
          .label = source.label,
          .blanks = source.blanks};
}

size_t size_of(const GrammarSource& source) {
  size_t size = source.text.size();
  for (const GrammarSource& part : source.parts) size += part.text.size();
  return size;
}

std::vector<uint32_t> ids_within(const std::vector<int32_t>& ids, int32_t size) {
  std::vector<uint32_t> out;
  for (const int32_t id : ids)
    if (id >= 0 && id < size) out.push_back(static_cast<uint32_t>(id));
  return out;
}

Result<TokenMask> next_mask(rs::Matcher& matcher, size_t n_words) try {
  TokenMask mask(n_words);
  matcher.mask({mask.data(), mask.size()});
  return mask;
} catch (const rust::Error& error) {
  return Status::invalid(error.what());
}

}  // namespace

// The mask that is being computed has its own hold on the matcher.
struct Constraint::State {
  rust::Box<rs::Matcher> matcher;
  asio::thread_pool& threads;
};

Constraint::Constraint(std::shared_ptr<State> state, TokenMask first)
    : state_(std::move(state)), mask_(std::move(first)) {}

Constraint::~Constraint() = default;

const Result<TokenMask>& Constraint::mask() {
  if (next_.valid()) mask_ = next_.get();
  return mask_;
}

void Constraint::accept(int32_t id) {
  if (!mask().ok()) return;
  try {
    state_->matcher->accept(static_cast<uint32_t>(id));
  } catch (const rust::Error& error) {
    mask_ = Status::invalid(error.what());
    return;
  }
  ended_ = state_->matcher->ended();
  if (ended_) return;
  next_ = asio::post(state_->threads, asio::use_future([state = state_, n = mask_->size()] {
                       return next_mask(*state->matcher, n);
                     }));
}

struct Grammar::Impl {
  rust::Box<rs::Matcher> matcher;  // at the beginning of a text
  TokenMask first;
  asio::thread_pool& threads;
};

Grammar::Grammar(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Grammar::~Grammar() = default;

std::unique_ptr<Constraint> Grammar::start() const {
  auto state = std::make_shared<Constraint::State>(impl_->matcher->fork(), impl_->threads);
  return std::unique_ptr<Constraint>(new Constraint(std::move(state), impl_->first));
}

struct GrammarCompiler::Impl {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::vector<int32_t> end_ids;
  asio::thread_pool threads{kMaskThreads};
  std::once_flag once;
  std::optional<rust::Box<rs::Grammars>> grammars;

  // Made when first wanted: it takes a while.
  const rs::Grammars& get_grammars() {
    std::call_once(once, [this] {
      const auto ends = ids_within(end_ids, tokenizer->vocab_size());
      grammars = rs::grammars_of(token_table(*tokenizer), {ends.data(), ends.size()});
    });
    return **grammars;
  }
};

GrammarCompiler::GrammarCompiler(std::shared_ptr<const Tokenizer> tokenizer,
                                 std::vector<int32_t> end_ids)
    : impl_(std::make_unique<Impl>(std::move(tokenizer), std::move(end_ids))) {}
GrammarCompiler::~GrammarCompiler() = default;

Result<std::shared_ptr<const Grammar>> GrammarCompiler::compile(const GrammarSource& source) const
    try {
  if (size_of(source) > kMaxSourceBytes)
    return Status::invalid(str("it is longer than ", kMaxSourceBytes, " bytes"));
  const Tokenizer& tokenizer = *impl_->tokenizer;
  std::vector<rs::GrammarSource> sources = {rust_source(source)};
  for (const GrammarSource& part : source.parts) sources.push_back(rust_source(part));
  const bool after_space = source.begins_with_text && tokenizer.first_space() != FirstSpace::kept;
  auto matcher = impl_->get_grammars().compile({sources.data(), sources.size()}, after_space);
  auto first = next_mask(*matcher, (tokenizer.vocab_size() + 31) / 32);
  if (!first.ok()) return first.status();
  auto impl =
      std::make_unique<Grammar::Impl>(std::move(matcher), std::move(*first), impl_->threads);
  return std::shared_ptr<const Grammar>(new Grammar(std::move(impl)));
} catch (const rust::Error& error) {
  return Status::invalid(error.what());
}

}  // namespace mlxforge

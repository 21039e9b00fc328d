// Time of a grammar's mask, token by token, along texts as a model would write them: from accept()
// to the mask at hand, hand-over between threads included.
//   ninja -C build grammar_bench && build/bin/grammar_bench VOCABULARY.gguf...
#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "files/mmap.h"
#include "text/grammar.h"

namespace mlxforge {
namespace {

using Kind = GrammarSource::Kind;

struct Case {
  const char* name;
  Kind kind;
  const char* source;
  const char* text;
};

constexpr const char* kDocument =
    R"({"title": "The history of tea", "tags": ["drink", "China", "trade"], "pages": 312, "price": 18.5, )"
    R"("author": {"name": "Ada Smith", "email": "ada@example.com", "born": "1961-04-12"}, "summary": "From )"
    R"(the hills of Yunnan to the clippers of the nineteenth century, a leaf that moved \"empires\" and )"
    R"(still starts most mornings.", "available": true, "next": null})";

constexpr Case kCases[] = {
    {"any object", Kind::json_schema, R"({"type":"object"})", kDocument},
    {"closed object", Kind::json_schema,
     R"({"type":"object","properties":{"title":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}},
         "pages":{"type":"integer","minimum":1,"maximum":5000},"price":{"type":"number","minimum":0},
         "author":{"type":"object","properties":{"name":{"type":"string","maxLength":40},
           "email":{"type":"string","format":"email"},"born":{"type":"string","format":"date"}},
           "required":["name","email","born"],"additionalProperties":false},
         "summary":{"type":"string","minLength":20,"maxLength":400},"available":{"type":"boolean"},
         "next":{"anyOf":[{"type":"null"},{"$ref":"#"}]}},
         "required":["title","tags","pages","price","author","summary","available","next"],"additionalProperties":false})",
     kDocument},
    {"pattern", Kind::json_schema,
     R"({"type":"string","pattern":"^([A-Z][a-z]+ ?)+, [0-9]{3,5}$"})",
     R"("Old Market Square North, 4051")"},
    {"regex", Kind::regex, "(The|A) [a-z ]{10,200}\\.",
     "The quick brown fox jumps over the lazy dog and runs away into the woods."},
    {"lark", Kind::lark,
     "start: sum\nsum: term ((\"+\" | \"-\") term)*\nterm: NUM | \"(\" sum \")\"\nNUM: /[0-9]+/",
     "(12+7)-(3-(44+5))+1000-(2+(3+(4+(5+6))))"},
};

double at(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
}

// Microseconds of each token's mask.
std::vector<double> follow(const Grammar& grammar, const std::vector<int32_t>& ids) {
  std::vector<double> times;
  const auto constraint = grammar.start();
  for (const int32_t id : ids) {
    const TimePoint start = Clock::now();
    constraint->accept(id);
    const bool ok = constraint->mask().ok();
    times.push_back(ms_between(start, Clock::now()) * 1000);
    if (!ok || constraint->ended()) break;
  }
  return times;
}

void report(const char* path) {
  const MappedFile file(path);
  const auto tokenizer = std::make_shared<const Tokenizer>(
      Tokenizer::from_gguf(parse_gguf(file.bytes(), path).metadata));
  const GrammarCompiler compiler(tokenizer, tokenizer->stop_ids());
  std::printf("%s: %d tokens\n", path, tokenizer->vocab_size());
  std::vector<double> all;
  for (const Case& c : kCases) {
    const TimePoint start = Clock::now();
    const auto grammar = compiler.compile({.kind = c.kind, .text = c.source});
    const double compile_ms = ms_between(start, Clock::now());
    if (!grammar.ok()) fail("bench", c.name, ": ", grammar.status().message);
    std::vector<double> times;
    for (int i = 0; i < 20; ++i) {
      const auto some = follow(*grammar.value(), tokenizer->encode(c.text));
      times.insert(times.end(), some.begin(), some.end());
    }
    all.insert(all.end(), times.begin(), times.end());
    std::ranges::sort(times);
    std::printf("  %-14s compile %8.2f ms, mask median %6.1f us, p99 %7.1f us, most %7.1f us\n",
                c.name, compile_ms, at(times, 0.5), at(times, 0.99), times.back());
  }
  std::ranges::sort(all);
  std::printf("  %-14s %zu masks, median %6.1f us, p99 %7.1f us\n", "all", all.size(), at(all, 0.5),
              at(all, 0.99));
}

}  // namespace
}  // namespace mlxforge

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) mlxforge::report(argv[i]);
}

#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <sstream>

#include "text/chat_template.h"
#include "text/fixtures_test.h"

namespace mlxforge {
namespace {

using namespace testing_text;

// llama.cpp's vocabulary files; each .inp holds texts, each .out the ids that Hugging Face's slow
// or original tokenizer gave for them.

class LlamaCppVocab : public testing::TestWithParam<const char*> {};

TEST_P(LlamaCppVocab, GivesTheRecordedIds) {
  const Tokenizer tokenizer = load_vocab(GetParam());
  const std::string inputs = read_file(vocab_path(GetParam()) + ".inp");
  std::istringstream outputs(read_file(vocab_path(GetParam()) + ".out"));
  const std::string separator = "\n__ggml_vocab_test__\n";
  size_t begin = 0;
  int texts = 0;
  for (size_t end; (end = inputs.find(separator, begin)) != inputs.npos;
       begin = end + separator.size(), ++texts) {
    std::string line;
    std::getline(outputs, line);
    std::istringstream numbers(line);
    Ids expected;
    for (int32_t id; numbers >> id;) expected.push_back(id);
    const std::string text = inputs.substr(begin, end - begin);
    EXPECT_EQ(tokenizer.encode(text), expected) << '"' << text << '"';
    EXPECT_EQ(tokenizer.decode(expected), text);
  }
  EXPECT_GT(texts, 40);
}

INSTANTIATE_TEST_SUITE_P(Pre, LlamaCppVocab,
                         testing::Values("gpt-2", "llama-bpe", "llama-spm", "qwen2", "starcoder",
                                         "refact", "command-r", "phi-3"));

void expect_encodings(const Tokenizer& tokenizer, const OrderedJson& expected, bool with_affixes) {
  EXPECT_EQ(tokenizer.vocab_size(), expected["vocab_size"].get<int32_t>());
  for (const auto& t : expected["texts"]) {
    const std::string text = t["text"];
    SCOPED_TRACE(text);
    EXPECT_EQ(tokenizer.encode(text), t["plain"].get<Ids>());
    EXPECT_EQ(tokenizer.encode(text, {.parse_special = true}), t["parsed"].get<Ids>());
    if (with_affixes) {
      EXPECT_EQ(tokenizer.encode(text, {.add_special = true, .parse_special = true}),
                t["whole"].get<Ids>());
    }
  }
  for (const auto& d : expected["decodes"])
    EXPECT_EQ(tokenizer.decode(d["ids"].get<Ids>()), d["text"].get<std::string>())
        << d["ids"].dump();
}

class Small : public testing::TestWithParam<const char*> {};

TEST_P(Small, FromJsonAsTokenizersDoes) {
  expect_encodings(from_json_fixture(GetParam()), fixture_json("encodings.json")[GetParam()], true);
}

INSTANTIATE_TEST_SUITE_P(Vocab, Small,
                         testing::Values("smollm", "llama3", "qwen2", "spm", "spm_first"));

class SmallGguf : public testing::TestWithParam<const char*> {};

TEST_P(SmallGguf, FromGgufAsFromJson) {
  expect_encodings(from_gguf_fixture(GetParam()), fixture_json("encodings.json")[GetParam()], true);
}

INSTANTIATE_TEST_SUITE_P(Vocab, SmallGguf, testing::Values("smollm", "llama3", "qwen2", "spm"));

TEST(Tokenizer, ScoresAsSentencePieceDoes) {
  const Tokenizer tokenizer = from_gguf_fixture("spm");
  const OrderedJson encodings = fixture_json("encodings.json");
  for (const auto& t : encodings["spm"]["sentencepiece"])
    EXPECT_EQ(tokenizer.encode(t["text"].get<std::string>()), t["ids"].get<Ids>()) << t["text"];
}

TEST(Tokenizer, SmolLM2sOwnVocabulary) {
  const Tokenizer tokenizer = from_gguf_file("build/models/SmolLM2-135M-Instruct.Q4_1.gguf");
  expect_encodings(tokenizer, fixture_json("smollm2.json"), false);
}

TEST(Tokenizer, Llama3DigitsAndWholeWords) {  // cases 20, 21
  const Tokenizer tokenizer = load_vocab("llama-bpe");
  EXPECT_EQ(tokenizer.encode("3"), Ids{18});
  EXPECT_EQ(tokenizer.encode("33"), Ids{1644});
  EXPECT_EQ(tokenizer.encode("333"), Ids{8765});
  EXPECT_EQ(tokenizer.encode("3333"), (Ids{8765, 18}));
  EXPECT_EQ(tokenizer.encode("33333"), (Ids{8765, 1644}));
  EXPECT_EQ(tokenizer.encode("333333"), (Ids{8765, 8765}));
  EXPECT_EQ(tokenizer.encode(" Việt"), Ids{101798});
}

// --- files that cannot be used ------------------------------------------------------------------

// A GGUF fixture's metadata with some keys changed or left out.
class Edited {
 public:
  explicit Edited(const std::string& name)
      : file_("reference/fixtures_text/tokenizers/" + name + ".gguf"),
        values_(parse_gguf(file_.bytes(), name).metadata.values()) {}

  Edited& without(const std::string& key) {
    values_.erase(keep("tokenizer.ggml." + key));
    return *this;
  }
  Edited& text(const std::string& key, const std::string& value) {
    std::string bytes(8, '\0');
    bytes[0] = static_cast<char>(value.size());
    return set(key, {.type = GgufType::string, .bytes = bytes_of(keep(bytes + value))});
  }
  Edited& flag(const std::string& key, bool value) {
    return set(key,
               {.type = GgufType::boolean, .bytes = bytes_of(keep(std::string(1, char(value))))});
  }
  Edited& number(const std::string& key, uint32_t value) {
    const std::string bytes(reinterpret_cast<const char*>(&value), 4);
    return set(key, {.type = GgufType::u32, .bytes = bytes_of(keep(bytes))});
  }
  Tokenizer load() const { return Tokenizer::from_gguf(GgufMetadata("edited", values_)); }
  std::string error() const {
    try {
      load();
      return "";
    } catch (const Error& e) {
      return e.what();
    }
  }

 private:
  Edited& set(const std::string& key, GgufValue value) {
    values_[keep("tokenizer.ggml." + key)] = value;
    return *this;
  }
  std::string_view keep(const std::string& text) { return kept_.emplace_back(text); }
  static std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
  }

  MappedFile file_;
  std::map<std::string_view, GgufValue> values_;
  std::deque<std::string> kept_;
};

TEST(Tokenizer, AnUnknownPreTokenizerIsRefusedByName) {  // case 20
  for (const std::string pre : {"default", "tekken", "Llama-BPE"}) {
    const std::string error = Edited("llama3").text("pre", pre).error();
    EXPECT_NE(error.find(pre), error.npos) << error;
    EXPECT_NE(error.find("llama-bpe"), error.npos) << error;
  }
  const std::string absent = Edited("llama3").without("pre").error();
  EXPECT_NE(absent.find("tokenizer.ggml.pre"), absent.npos) << absent;
  EXPECT_NE(absent.find("smollm"), absent.npos) << absent;
}

TEST(Tokenizer, WhatIsMissingIsSaid) {  // case 21
  EXPECT_NE(Edited("smollm").without("merges").error().find("merges are missing"),
            std::string::npos);
  EXPECT_NE(Edited("spm").without("scores").error().find("scores are missing"), std::string::npos);
  EXPECT_NE(Edited("spm").text("model", "t5").error().find("got \"t5\""), std::string::npos);
  EXPECT_NE(Edited("spm").number("bos_token_id", 9999).error().find("9999"), std::string::npos);
  EXPECT_THROW(Edited("smollm").without("tokens").load(), Error);
  EXPECT_THROW(Edited("smollm").without("model").load(), Error);
}

TEST(Tokenizer, LlamaTypeNeedsNothingButScores) {  // case 21
  const Tokenizer whole = from_gguf_fixture("spm");
  const Tokenizer bare = Edited("spm").without("token_type").load();
  for (const char* text : {"The dog sleeps", "  é 日本 12"})
    EXPECT_EQ(bare.encode(text), whole.encode(text));
}

TEST(Tokenizer, BothFormsOfMergesGiveTheSameIds) {  // case 21
  OrderedJson json = fixture_json("tokenizers/llama3.json");
  for (auto& merge : json["model"]["merges"])
    merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  const Tokenizer strings = Tokenizer::from_json(json.dump());
  const Tokenizer pairs = from_json_fixture("llama3");
  const OrderedJson all1 = fixture_json("encodings.json");
  for (const auto& t : all1["llama3"]["texts"])
    EXPECT_EQ(strings.encode(t["text"].get<std::string>()),
              pairs.encode(t["text"].get<std::string>()));
}

TEST(Tokenizer, AWordThatNoMergeMakes) {  // case 21
  OrderedJson json = fixture_json("tokenizers/llama3.json");
  const int32_t id = json["model"]["vocab"].size();
  json["model"]["vocab"]["Ġzyx"] = id;
  EXPECT_EQ(Tokenizer::from_json(json.dump()).encode(" zyx"), Ids{id});
  json["model"]["ignore_merges"] = false;
  EXPECT_GT(Tokenizer::from_json(json.dump()).encode(" zyx").size(), 1u);
}

TEST(Tokenizer, PlainTextNeverMakesASpecialToken) {
  OrderedJson json = fixture_json("tokenizers/llama3.json");  // ignore_merges
  const int32_t id = json["model"]["vocab"].size();
  json["model"]["vocab"]["stop"] = id;
  OrderedJson added = json["added_tokens"][0];
  added["id"] = id;
  added["content"] = "stop";
  json["added_tokens"].push_back(added);
  const Tokenizer tokenizer = Tokenizer::from_json(json.dump());
  EXPECT_EQ(tokenizer.encode("stop", {.parse_special = true}), Ids{id});
  const Ids plain = tokenizer.encode("stop");
  EXPECT_EQ(std::count(plain.begin(), plain.end(), id), 0);
  EXPECT_EQ(tokenizer.decode(plain), "stop");
}

TEST(Tokenizer, FlagsSayWhatStandsAroundAText) {
  const auto around = [](const Tokenizer& t) {
    return t.encode("a", {.add_special = true}).size() - t.encode("a").size();
  };
  EXPECT_EQ(around(Edited("spm").load()), 1u);
  EXPECT_EQ(around(Edited("spm").flag("add_eos_token", true).load()), 2u);
  EXPECT_EQ(around(Edited("spm").flag("add_bos_token", false).load()), 0u);
  EXPECT_EQ(around(Edited("smollm").load()), 0u);
  EXPECT_EQ(around(Edited("smollm").flag("add_bos_token", true).load()), 1u);
  EXPECT_TRUE(Edited("llama3").load().adds_bos());
  const Tokenizer bare = Edited("spm").flag("add_space_prefix", false).load();
  EXPECT_EQ(bare.decode(bare.encode(" the")), " the");
  EXPECT_NE(bare.encode("the"), bare.encode(" the"));
}

TEST(Tokenizer, StopIdsAreAllThatEndATurn) {  // case 27
  const Tokenizer llama = from_gguf_fixture("llama3");
  EXPECT_EQ(llama.stop_ids(),
            (Ids{*llama.token_to_id("<|end_of_text|>"), *llama.token_to_id("<|eot_id|>")}));
  const Tokenizer json = from_json_fixture("smollm", {{"eos_token", {{"content", "<|im_end|>"}}}});
  EXPECT_EQ(json.stop_ids(), Ids{*json.eos_id()});
  EXPECT_EQ(json.special_names().at("eos_token"), "<|im_end|>");
}

TEST(Tokenizer, TokensOfTheConfigAreAdded) {
  const int32_t size = from_json_fixture("smollm").vocab_size();
  const Json config = {{"pad_token", "<pad>"},
                       {"added_tokens_decoder",
                        {{std::to_string(size), {{"content", "<new>"}, {"special", true}}}}}};
  const Tokenizer tokenizer = from_json_fixture("smollm", config);
  EXPECT_EQ(tokenizer.token_to_id("<new>"), size);
  EXPECT_EQ(tokenizer.token_to_id("<pad>"), size + 1);
  EXPECT_TRUE(tokenizer.is_special(size) && tokenizer.is_special(size + 1));
  EXPECT_EQ(tokenizer.vocab_size(), size + 2);
  const Json wrong = {{"added_tokens_decoder", {{"3", {{"content", "<new>"}, {"special", true}}}}}};
  EXPECT_THROW(from_json_fixture("smollm", wrong), Error);
  EXPECT_THROW(from_json_fixture("smollm", {{"added_tokens_decoder", {{"x", "y"}}}}), Error);
  EXPECT_THROW(from_json_fixture("smollm", {{"add_bos_token", "yes"}}), Error);
}

TEST(Tokenizer, BrokenJsonIsAnError) {
  const std::string whole = fixture("tokenizers/smollm.json");
  EXPECT_THROW(Tokenizer::from_json(""), Error);
  EXPECT_THROW(Tokenizer::from_json("{}"), Error);
  EXPECT_THROW(Tokenizer::from_json("\xFF\xFE"), Error);
  EXPECT_THROW(Tokenizer::from_json(whole.substr(0, whole.size() / 2)), Error);
  EXPECT_THROW(Tokenizer::from_json(std::string(200'000, '[')), Error);
  OrderedJson json = OrderedJson::parse(whole);
  json["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  try {
    Tokenizer::from_json(json.dump());
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("WordPiece"), std::string::npos) << e.what();
  }
}

TEST(Tokenizer, TextThatIsNotUtf8IsReplaced) {
  const Tokenizer tokenizer = from_json_fixture("smollm");
  EXPECT_EQ(tokenizer.encode("a\xFF\xF0\x9F"), tokenizer.encode("a\uFFFD\uFFFD"));
}

}  // namespace
}  // namespace mlxforge

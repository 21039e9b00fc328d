// /v1/embeddings and /v1/rerank end to end over an engine that makes vectors from the prompts' ids.
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <cmath>
#include <cstring>

#include "server/testing/test_server.h"

namespace mlxforge {
namespace {

struct Rig : TestServer {
  explicit Rig(FakeEngine::Limits limits = {}) : TestServer(always({}), {}, limits) {
    engine->run(std::chrono::microseconds(50));
  }
  OrderedJson embed(const OrderedJson& body, int status = 200) {
    const HttpAnswer answer = HttpClient(port).post("/v1/embeddings", to_text(body));
    EXPECT_EQ(answer.status, status) << answer.body;
    return OrderedJson::parse(answer.body);
  }
};

std::vector<float> expected(std::string_view text, size_t dimensions = 4) {
  auto vector = fake_embedding(bytes_of(text));
  vector.resize(dimensions);
  double squares = 0;
  for (const float x : vector) squares += double{x} * x;
  for (float& x : vector) x = static_cast<float>(x / std::sqrt(squares));
  return vector;
}

TEST(Embeddings, AreNormalisedAndInTheOrderOfTheInputs) {
  Rig rig;
  std::vector<std::string> texts;
  for (int i = 0; i < 100; ++i) texts.push_back(str("text ", i));  // several waves
  const OrderedJson reply = rig.embed({{"input", texts}});
  ASSERT_EQ(reply["data"].size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(reply["data"][i]["index"], i);
    EXPECT_EQ(reply["data"][i]["embedding"].get<std::vector<float>>(), expected(texts[i]));
  }
  EXPECT_EQ(reply["usage"]["prompt_tokens"], 10 * 6 + 90 * 7);
  EXPECT_EQ(reply["model"], "tiny");
}

TEST(Embeddings, Base64IsTheSameNumbers) {
  Rig rig;
  for (const int dimensions : {1, 2, 3, 4}) {
    const std::string text = rig.embed({{"input", "abc"},
                                        {"encoding_format", "base64"},
                                        {"dimensions", dimensions}})["data"][0]["embedding"];
    std::vector<unsigned char> bytes(text.size());
    EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char*>(text.data()),
                    static_cast<int>(text.size()));
    std::vector<float> got(dimensions);
    std::memcpy(got.data(), bytes.data(), got.size() * sizeof(float));
    EXPECT_EQ(got, expected("abc", dimensions));
    EXPECT_EQ(text.size(), (dimensions * 4 + 2) / 3 * 4);
  }
}

TEST(Embeddings, AFailureIsTheRequestsOwn) {
  Rig rig({.max_ctx = 5});
  const OrderedJson reply = rig.embed({{"input", {"a", "far too long"}}}, 400);
  EXPECT_EQ(reply["error"]["param"], "input");
  EXPECT_EQ(reply["error"]["code"], "context_length_exceeded");
  EXPECT_TRUE(eventually([&] { return rig.engine->active() == 0; }));
  rig.embed({{"input", "a"}});
}

TEST(Rerank, NeedsADeclaredEmbedding) {
  Rig rig;
  const HttpAnswer answer =
      HttpClient(rig.port).post("/v1/rerank", R"({"query":"a","documents":["b"]})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(OrderedJson::parse(answer.body)["error"]["param"], "model");
}

}  // namespace
}  // namespace mlxforge

// Every option of the program: declared once, with its default, in the structs below, and once in
// the field list (options.cpp), with its name and meaning. The command line, the environment
// (MLXFORGE_<NAME>), the config file and docs/options.md come from that list. Precedence: flag,
// environment, config file, default.
//
// Threads: plain data, filled by main before any thread starts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/log.h"

namespace mlxforge {

// The command line, environment or config file cannot be used: exit status 2.
struct UsageError : Error {
  using Error::Error;
};

enum class Device { automatic, cpu, cuda, metal };
enum class Activations {
  automatic,
  int8,
  float32
};  // automatic: float-accurate integers where weights are coded
// What K and V are kept in. automatic: the checkpoint's float dtype; f16 for quantised GGUF, f32
// under Activations::float32.
enum class KvDtype { automatic, f32, f16, bf16 };
enum class KernelChoice { automatic, reference };
// Whether answers may begin with reasoning between <think> and </think>. automatic: if the chat
// template or the tokenizer knows these.
enum class ReasoningChoice { automatic, on, off };
// How the model writes tool calls. automatic: as its chat template does.
enum class ToolParserChoice { automatic, hermes, mistral_args, mistral, llama3, json };

// How the engine computes and what it may use.
struct EngineOptions {
  Device device = Device::automatic;
  int threads = 0;          // CPU compute threads; 0: default_threads()
  int prefill_chunk = 128;  // prompt tokens of one sequence per step
  int max_batch = 64;       // sequences per step
  int max_ctx = 0;          // tokens per sequence; 0: min(model, what the KV budget holds)
  int max_waiting = 256;    // requests in the queue; more get 429
  int64_t kv_budget = 0;    // bytes of KV blocks; 0: by formula, printed at start
  Activations activations = Activations::automatic;
  KvDtype kv_dtype = KvDtype::automatic;
  KernelChoice kernels = KernelChoice::automatic;
};

// What one client may take from the server.
struct HttpOptions {
  int64_t max_header_bytes = 16 << 10;
  int64_t max_body_bytes = 4 << 20;
  int max_connections = 4096;
  int idle_timeout = 75;   // seconds
  int read_timeout = 60;   // seconds
  int write_timeout = 60;  // seconds
};

// Who may use the server.
struct AccessOptions {
  std::vector<std::string> api_key;
  std::string api_key_file;
  std::vector<std::string> cors_origin;
  std::vector<std::string> allowed_host;
};

// What one API key may ask for; without keys, everybody together. 0: no limit.
struct RateOptions {
  int requests_per_minute = 0;
  int tokens_per_minute = 0;
};

struct ServeOptions {
  std::string host = "127.0.0.1";
  int port = 8080;                 // 0: any free one, printed at start
  std::vector<std::string> alias;  // further model names accepted in requests
  std::string unix_socket;         // a path; empty: host and port
  int unix_socket_mode = 0600;
  std::string tls_cert, tls_key;  // files
  AccessOptions access;
  ToolParserChoice tool_parser = ToolParserChoice::automatic;
  ReasoningChoice reasoning = ReasoningChoice::automatic;
  RateOptions rates;
  HttpOptions http;
  std::string otlp_endpoint;  // a URL; empty: the environment's
  bool strict = false;
  bool allow_request_template = false;
};

// For generate and chat; a server takes these from each request.
struct SamplingOptions {
  float temperature = 0;  // 0: greedy
  float top_p = 1;
  int top_k = 0;
  float min_p = 0;
  std::optional<uint64_t> seed;  // none: a random one, logged
};

struct BenchOptions {
  std::vector<int> batch = {1};
  int prompt = 512;
  int gen = 128;
  int depth = 0;
};

enum class Against { none, float32 };  // float32: the engine of --activations float

struct PerplexityOptions {
  Against against = Against::none;
  int ctx = 0;     // tokens per window; 0: min(2048, what a request may have)
  int tokens = 0;  // to predict at most; 0: all of the file's
};

struct Options {
  std::string model;  // a folder, a .gguf file; empty: the default model that set-up installed
  std::string config;
  std::string chat_template;  // a file
  LogLevel log_level = LogLevel::info;
  LogFormat log_format = LogFormat::pretty;
  EngineOptions engine;
  ServeOptions serve;
  SamplingOptions sampling;
  BenchOptions bench;
  PerplexityOptions perplexity;
  bool print_config = false;
  bool ignore_eos = false;
  bool raw = false;
  bool json = false;
  bool weights = false;
  std::string ids;  // .npy files
  std::string out;
  std::map<std::string_view, std::string> sources;  // option -> where its value came from
};

struct OptionField {
  std::string_view name;   // "max-ctx": --max-ctx, MLXFORGE_MAX_CTX, "max-ctx" in the config file
  std::string_view value;  // the value as help shows it; empty: a switch
  std::string_view commands;  // the commands that take it, separated by spaces; empty: every one
  std::string_view doc;
  bool is_secret = false;  // its value is not shown
  bool is_list = false;    // comma-separated; the flag may be repeated
  // Throws Error with what it expected. Leaves options alone then.
  void (*parse)(Options& options, std::string_view text) = nullptr;
  std::string (*show)(const Options& options) = nullptr;  // as parse would read it; empty: not set

  bool is_switch() const { return value.empty(); }
  bool applies_to(std::string_view command) const;
  std::string flag() const;         // --max-ctx
  std::string environment() const;  // MLXFORGE_MAX_CTX
};

std::span<const OptionField> option_fields();

// Parses text into the field; `source` is where the text came from, such as "--port" or
// "MLXFORGE_PORT". Throws UsageError naming it.
void set_option(Options& options, const OptionField& field, std::string_view text,
                std::string_view source);

// Applies every set MLXFORGE_<NAME>. An empty variable counts as not set.
void set_options_from_environment(Options& options);

// What --print-config prints: a line for each option of the command, its value and its source.
std::string options_in_effect(const Options& options, std::string_view command);

// docs/options.md: the field list as a table.
std::string options_markdown();

}  // namespace mlxforge

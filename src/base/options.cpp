#include "base/options.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/option_makers.h"

namespace mlxforge {
namespace {

constexpr int64_t kBig = 1 << 30;
constexpr int64_t kDay = 24 * 3600;
using O = Options;
using E = EngineOptions;
using S = SamplingOptions;
using A = AccessOptions;
using R = RateOptions;
using H = HttpOptions;
using B = BenchOptions;
using P = PerplexityOptions;

constexpr OptionField kFields[] = {
    field<&O::model>(
        {"model", "MODEL", "",
         "A model folder or a .gguf file; without it, the default model that set-up installed."}),
    field<&O::config>({"config", "FILE", "",
                       "A JSON object of options by these names, such as {\"port\": 9000}."}),
    field<&O::print_config>(
        {"print-config", "", "",
         "Print every option of the command with its value and where that comes from, and end."}),
    field<&O::engine, &E::device>({"device", "auto|cpu|cuda|metal", "",
                                   "Where to compute; auto takes a GPU if MLX has one."}),
    number<0, 1024, &O::engine, &E::threads>(
        {"threads", "N", "", "CPU compute threads; 0 takes the cores that this process may use."}),
    number<1, kBig, &O::engine, &E::prefill_chunk>(
        {"prefill-chunk", "N", "",
         "Prompt tokens per step, a quarter of it beside running answers; fewer keep those fluent, "
         "more are faster."}),
    number<1, 4096, &O::engine, &E::max_batch>(
        {"max-batch", "N", "", "Requests that run together."}),
    number<0, kBig, &O::engine, &E::max_ctx>(
        {"max-ctx", "N", "",
         "Tokens per request, prompt and answer; 0 takes the smaller of the model's and what the "
         "KV budget holds."}),
    number<1, kBig, &O::engine, &E::max_waiting>(
        {"max-waiting", "N", "serve", "Requests that may wait; one more gets 429."}),
    bytes<&O::engine, &E::kv_budget>(
        {"kv-budget", "BYTES|auto", "",
         "Memory for keys and values, such as 512MiB or 2G; auto prints what it took."}),
    field<&O::engine, &E::activations>({"activations", "auto|int8|float", "",
                                        "Arithmetic on quantised weights: auto is float-accurate, "
                                        "int8 faster and less exact, float exact and slow."}),
    field<&O::engine, &E::kv_dtype>({"kv-dtype", "auto|f32|f16|bf16", "",
                                     "What keys and values are kept in; auto is the checkpoint's "
                                     "float dtype: f16 for quantised "
                                     "GGUF, f32 under --activations float."}),
    field<&O::engine, &E::kernels>(
        {"kernels", "auto|reference", "",
         "Our kernels where the device has them, or the reference from stock MLX ops."}),
    field<&O::chat_template>(
        {"chat-template", "FILE", "", "A Jinja chat template to use instead of the model's."}),
    field<&O::serve, &ServeOptions::tool_parser>(
        {"tool-parser", "auto|hermes|mistral-args|mistral|llama3|json", "serve",
         "How the model writes tool calls; auto goes by its chat template."}),
    field<&O::serve, &ServeOptions::reasoning>(
        {"reasoning", "auto|on|off", "serve",
         "Whether answers may begin with reasoning between <think> and </think>; auto goes by the "
         "chat template and the tokenizer."}),
    field<&O::log_level>(
        {"log-level", "debug|info|warn|error", "", "The least level that is logged."}),
    field<&O::log_format>(
        {"log-format", "pretty|json", "", "Log lines for people, or JSON objects, one a line."}),
    field<&O::serve, &ServeOptions::host>(
        {"host", "ADDRESS", "serve", "The address to listen on."}),
    number<0, 65535, &O::serve, &ServeOptions::port>(
        {"port", "N", "serve", "The port to listen on; 0 takes any free one."}),
    field<&O::serve, &ServeOptions::unix_socket>(
        {"unix-socket", "PATH", "serve",
         "Listen on this Unix socket instead of on an address and a port."}),
    mode<&O::serve, &ServeOptions::unix_socket_mode>(
        {"unix-socket-mode", "MODE", "serve",
         "The socket file's permissions, octal: 660 lets its group connect."}),
    field<&O::serve, &ServeOptions::tls_cert>(
        {"tls-cert", "FILE", "serve",
         "Serve HTTPS with this certificate and its chain (PEM); a renewed file is taken up "
         "without a restart."}),
    field<&O::serve, &ServeOptions::tls_key>(
        {"tls-key", "FILE", "serve", "The certificate's key (PEM, without a passphrase)."}),
    field<&O::serve, &ServeOptions::alias>(
        {"alias", "NAME", "serve", "A further model name that requests may use; may be repeated."}),
    secret(field<&O::serve, &ServeOptions::access, &A::api_key>(
        {"api-key", "KEY", "serve",
         "A key that requests must bring; may be repeated. Other users of the machine can see "
         "flags: the environment or --api-key-file keep it secret."})),
    field<&O::serve, &ServeOptions::access, &A::api_key_file>(
        {"api-key-file", "FILE", "serve",
         "Keys, one a line: KEY or NAME:KEY, the name being for the log."}),
    field<&O::serve, &ServeOptions::access, &A::cors_origin>(
        {"cors-origin", "ORIGIN", "serve",
         "An origin such as https://chat.example whose pages may use the server, * for every one; "
         "may be repeated."}),
    field<&O::serve, &ServeOptions::access, &A::allowed_host>(
        {"allowed-host", "NAME", "serve",
         "A name by which a server on a loopback address may be called, such as a proxy's; may be "
         "repeated."}),
    number<0, kBig, &O::serve, &ServeOptions::rates, &R::requests_per_minute>(
        {"requests-per-minute", "N", "serve",
         "POST requests that each API key may send in a minute, or everybody together without "
         "keys; "
         "one more gets 429. 0 is no limit."}),
    number<0, kBig, &O::serve, &ServeOptions::rates, &R::tokens_per_minute>(
        {"tokens-per-minute", "N", "serve",
         "The same for tokens, of prompts and answers: a key that has used them up waits. 0 is no "
         "limit."}),
    field<&O::serve, &ServeOptions::otlp_endpoint>(
        {"otlp-endpoint", "URL", "serve",
         "An OpenTelemetry collector such as http://127.0.0.1:4318 that gets a span of each "
         "request; without it OTEL_EXPORTER_OTLP_ENDPOINT counts."}),
    field<&O::serve, &ServeOptions::strict>(
        {"strict", "", "serve",
         "Refuse request fields that nobody knows instead of ignoring them."}),
    size<1 << 10, 1 << 20, &O::serve, &ServeOptions::http, &H::max_header_bytes>(
        {"max-header-bytes", "BYTES", "serve",
         "The largest head of a request (request line and headers); a larger one gets 431."}),
    size<1 << 10, 1 << 30, &O::serve, &ServeOptions::http, &H::max_body_bytes>(
        {"max-body-bytes", "BYTES", "serve",
         "The largest body of a request; a larger one gets 413."}),
    number<1, 1 << 20, &O::serve, &ServeOptions::http, &H::max_connections>(
        {"max-connections", "N", "serve", "Connections at a time; one more gets 503."}),
    number<1, kDay, &O::serve, &ServeOptions::http, &H::idle_timeout>(
        {"idle-timeout", "SECONDS", "serve",
         "A connection without a request for so long is closed."}),
    number<1, kDay, &O::serve, &ServeOptions::http, &H::read_timeout>(
        {"read-timeout", "SECONDS", "serve",
         "A request that takes longer from its first to its last byte gets 408."}),
    number<1, kDay, &O::serve, &ServeOptions::http, &H::write_timeout>(
        {"write-timeout", "SECONDS", "serve",
         "A client that takes nothing of its answer for so long is cut off."}),
    field<&O::serve, &ServeOptions::allow_request_template>(
        {"allow-request-template", "", "serve",
         "Chat requests may bring their own Jinja template; for clients that are trusted."}),
    real<0, &O::sampling, &S::temperature>(
        {"temperature", "T", "generate chat", "Sampling temperature; 0 is greedy."}),
    real<1, &O::sampling, &S::top_p>({"top-p", "P", "generate chat",
                                      "Sample among the most likely tokens that hold P together."}),
    number<0, kBig, &O::sampling, &S::top_k>(
        {"top-k", "K", "generate chat", "Sample among the K most likely tokens; 0 is off."}),
    real<1, &O::sampling, &S::min_p>({"min-p", "P", "generate chat",
                                      "Drop tokens less likely than P times the most likely one."}),
    field<&O::sampling, &S::seed>(
        {"seed", "N", "generate chat",
         "The same seed gives the same text; without it, a random one is taken and logged."}),
    field<&O::ignore_eos>({"ignore-eos", "", "generate",
                           "Go on after an end-of-sequence token; it then counts as a token."}),
    field<&O::raw>(
        {"raw", "", "generate",
         "Give PROMPT to the model as it is, without the chat template; only BOS is added."}),
    field<&O::json>({"json", "", "generate bench perplexity",
                     "Print JSON: one object, or for bench one a line."}),
    field<&O::ids>({"ids", "IDS.npy", "logits", "Token ids: int32 or int64, shape (T) or (1, T)."}),
    field<&O::out>(
        {"out", "LOGITS.npy", "logits", "Where to write the logits: float32, (T, vocab)."}),
    field<&O::weights>({"weights", "", "inspect",
                        "One line a tensor (key, shape, dtype, bytes), then peak memory."}),
    field<&O::bench, &B::batch>(
        {"batch", "N", "bench", "Batch sizes to measure; may be repeated."}),
    number<1, kBig, &O::bench, &B::prompt>({"prompt", "N", "bench", "Prompt tokens to prefill."}),
    number<1, kBig, &O::bench, &B::gen>({"gen", "N", "bench", "Tokens to decode per sequence."}),
    number<0, kBig, &O::bench, &B::depth>(
        {"depth", "N", "bench", "Tokens already in the cache when decode starts."}),
    field<&O::perplexity, &P::against>({"against", "none|float", "perplexity",
                                        "Also run --activations float (with its own KV dtype) and "
                                        "compare every position with it."}),
    number<0, kBig, &O::perplexity, &P::ctx>(
        {"ctx", "N", "perplexity",
         "Tokens per window; 0 takes 2048, or fewer where the context is shorter."}),
    number<0, kBig, &O::perplexity, &P::tokens>(
        {"tokens", "N", "perplexity", "Predict at most N tokens of FILE; 0 takes all."}),
};

}  // namespace

std::span<const OptionField> option_fields() { return kFields; }

bool OptionField::applies_to(std::string_view command) const {
  if (commands.empty()) return true;
  const auto names = split(commands, ' ');
  return std::find(names.begin(), names.end(), command) != names.end();
}

std::string OptionField::flag() const { return str("--", name); }

std::string OptionField::environment() const {
  std::string result = "MLXFORGE_";
  for (char c : name) result += c == '-' ? '_' : static_cast<char>(std::toupper(c));
  return result;
}

void set_option(Options& options, const OptionField& field, std::string_view text,
                std::string_view source) {
  try {
    if (text.empty()) throw Error("expected a value, got an empty one");
    field.parse(options, text);
    options.sources[field.name] = source;
  } catch (const Error& e) {
    throw UsageError(str("[options] ", source, ": ", e.what()));
  }
}

void set_options_from_environment(Options& options) {
  for (const OptionField& field : option_fields()) {
    const std::string name = field.environment();
    const char* text = std::getenv(name.c_str());
    if (text != nullptr && *text != '\0') set_option(options, field, text, name);
  }
}

std::string options_in_effect(const Options& options, std::string_view command) {
  std::string result;
  for (const OptionField& field : option_fields()) {
    if (!field.applies_to(command)) continue;
    const auto source = options.sources.find(field.name);
    const bool is_set = source != options.sources.end();
    const std::string value = is_set && field.is_secret ? "(hidden)" : field.show(options);
    result += str(field.name, " = ", value, "  # ", is_set ? source->second : "default", "\n");
  }
  return result;
}

std::string options_markdown() {
  std::string result =
      "# Options\n\nMade from the field list in src/base/options.cpp; a test keeps the two equal.\n"
      "A flag wins over its environment variable, that over the config file (`--config`), that "
      "over the default.\n"
      "An environment variable that is set but empty counts as not set; an empty value of a flag "
      "or in the config file is refused.\n\n"
      "| flag | environment | default | commands | meaning |\n| --- | --- | --- | --- | --- |\n";
  for (const OptionField& field : option_fields()) {
    const std::string fallback = field.show(Options{});
    const auto escaped = [](std::string_view text) { return replace_all(text, "|", "\\|"); };
    result +=
        str("| `", field.flag(), field.is_switch() ? "" : " ", escaped(field.value), "` | `",
            field.environment(), "` | ", fallback.empty() ? "" : "`" + fallback + "`", " | ",
            field.commands.empty() ? "all" : field.commands, " | ", escaped(field.doc), " |\n");
  }
  return result;
}

}  // namespace mlxforge

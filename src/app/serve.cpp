// serve: the HTTP server over a loaded model.
#include <numeric>
#include <string>

#include "app/commands.h"
#include "app/embedding_config.h"
#include "app/generation_config.h"
#include "app/session.h"
#include "base/option_values.h"
#include "server/server.h"
#include "text/grammar.h"
#include "text/reasoning_tokens.h"
#include "text/tool_format.h"
#include "text/tool_prompt.h"

namespace mlxforge {
namespace {

HttpLimits http_limits(const HttpOptions& options) {
  HttpLimits limits;
  limits.header_bytes = static_cast<size_t>(options.max_header_bytes);
  limits.body_bytes = static_cast<size_t>(options.max_body_bytes);
  limits.connections = options.max_connections;
  limits.idle = std::chrono::seconds(options.idle_timeout);
  limits.read = std::chrono::seconds(options.read_timeout);
  limits.write = std::chrono::seconds(options.write_timeout);
  return limits;
}

AccessRules access_rules(const AccessOptions& options) try {
  AccessRules rules{.cors_origins = options.cors_origin, .allowed_hosts = options.allowed_host};
  for (const std::string& key : options.api_key) rules.keys.add(key);
  if (!options.api_key_file.empty()) rules.keys.add_file(options.api_key_file);
  return rules;
} catch (const Error& e) {
  throw UsageError(str("[options] ", e.what()));
}

TlsFiles tls_files(const ServeOptions& options) {
  if (options.tls_cert.empty() != options.tls_key.empty())
    throw UsageError("[options] --tls-cert and --tls-key go together, got one of them");
  return {options.tls_cert, options.tls_key};
}

std::string otlp_endpoint(const ServeOptions& options) {
  if (!options.otlp_endpoint.empty() && !options.otlp_endpoint.starts_with("http://"))
    throw UsageError("[options] expected --otlp-endpoint http://HOST:PORT, got " +
                     options.otlp_endpoint);
  return options.otlp_endpoint;
}

ServerOptions server_options(const Options& options) {
  ServerOptions result;
  result.host = options.serve.host;
  result.port = static_cast<uint16_t>(options.serve.port);
  result.unix_socket = options.serve.unix_socket;
  result.unix_socket_mode = options.serve.unix_socket_mode;
  result.tls = tls_files(options.serve);
  result.access = access_rules(options.serve.access);
  result.rates = {
      .requests_per_minute = static_cast<double>(options.serve.rates.requests_per_minute),
      .tokens_per_minute = static_cast<double>(options.serve.rates.tokens_per_minute)};
  result.otlp_endpoint = otlp_endpoint(options.serve);
  result.strict = options.serve.strict;
  result.limits = http_limits(options.serve.http);
  return result;
}

std::string template_text(const Session& session) {
  if (!session.chat_template) return {};
  const auto texts = session.chat_template->texts();
  return std::accumulate(texts.begin(), texts.end(), std::string());
}

const ToolFormat& choose_tool_format(const Session& session, ToolParserChoice choice) {
  if (choice != ToolParserChoice::automatic) return *tool_format(show_value(choice));
  return tool_format_of(template_text(session));
}

bool reasons(const Session& session, ReasoningChoice choice) {
  if (choice != ReasoningChoice::automatic) return choice == ReasoningChoice::on;
  return session.tokenizer->token_to_id(kThinkEnd) ||
         template_text(session).find(kThinkEnd) != std::string::npos;
}

std::shared_ptr<const ModelContext> model_context(const Session& session, const Options& options) {
  auto model = std::make_shared<ModelContext>();
  model->id = session.files.name;
  model->aliases = options.serve.alias;
  session.text();  // a server without one could serve nothing
  model->tokenizer = session.tokenizer;
  model->chat_template = session.chat_template;
  model->tool_format = &choose_tool_format(session, options.serve.tool_parser);
  model->template_reads_tools = session.chat_template && reads_tools(*session.chat_template);
  if (reasons(session, options.serve.reasoning))
    model->reasoning = std::make_shared<const ReasoningTokens>(session.tokenizer);
  model->grammars = std::make_shared<const GrammarCompiler>(session.tokenizer, session.stop_ids);
  model->allow_request_template = options.serve.allow_request_template;
  model->max_ctx = session.max_ctx;
  model->vocab_size = session.vocab_size;
  model->defaults = sampling_defaults(session.files.generation_config);
  model->embedding = embedding_model(session.files, session.d_model);
  model->engine = session.worker.get();
  return model;
}

}  // namespace

int run_serve(const Options& options, Arguments) {
  prepare_device(options);
  Server server(server_options(options));
  server.drain_on_signals();
  server.start();
  const std::unique_ptr<Session> session = load_session(options, server.step_sink());
  server.set_model(model_context(*session, options));
  log_info("ready: ", session->files.name, " at ", server.url(), "/v1");
  server.wait();
  return 0;
}

}  // namespace mlxforge

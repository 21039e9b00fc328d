#include "app/session.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "app/console.h"
#include "app/model_path.h"
#include "base/clock.h"
#include "engine/load.h"

namespace mlxforge {
namespace {

void add_ids(std::vector<int32_t>& ids, const Json& value, const char* file) {
  const auto add = [&](const Json& id) {
    if (!id.is_number_integer() || id < 0 || id > std::numeric_limits<int32_t>::max())
      fail("app", "expected eos_token_id in ", file, " to be an id or a list of ids, got ",
           value.dump());
    ids.push_back(id.get<int32_t>());
  };
  if (value.is_array())
    std::for_each(value.begin(), value.end(), add);
  else
    add(value);
}

void add_eos(std::vector<int32_t>& ids, const Json& object, const char* file) {
  if (!object.is_object()) return;
  const auto eos = object.find("eos_token_id");
  if (eos != object.end() && !eos->is_null()) add_ids(ids, *eos, file);
}

std::shared_ptr<const ChatTemplate> load_template(const Options& options, const ModelFiles& files,
                                                  const Tokenizer& tokenizer) {
  std::optional<TemplateSource> source = TemplateSource::of(files);
  if (!options.chat_template.empty())
    source = TemplateSource{.text = std::string(MappedFile(options.chat_template).text()),
                            .tool_use = ""};
  if (source) return std::make_shared<ChatTemplate>(*source, tokenizer.special_names());
  log_warn(
      files.name,
      " has no chat template: chat is refused, completions work; --chat-template FILE gives one");
  return nullptr;
}

}  // namespace

const Tokenizer& Session::text() const {
  if (!tokenizer)
    fail("app", "expected ", files.name,
         " to have a tokenizer, got none; give token ids (IDS.npy)");
  return *tokenizer;
}

std::vector<int32_t> stop_set(const Json& config, const Json& generation_config,
                              const std::vector<int32_t>& tokenizer_ids) {
  std::vector<int32_t> ids = tokenizer_ids;
  add_eos(ids, config, "config.json");
  add_eos(ids, generation_config, "generation_config.json");
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

void prepare_device(const Options& options) { set_default_device(options.engine.device); }

std::unique_ptr<Session> load_session(const Options& options, StepSink sink) {
  const TimePoint start = Clock::now();
  auto session = std::make_unique<Session>();
  session->files = open_model(find_model(options.model, this_executable()));
  const ModelFiles& files = session->files;
  Progress progress("Loading " + files.name);
  TextLimits text{.n_valid = std::numeric_limits<int>::max()};
  if (files.has_tokenizer()) {
    session->tokenizer = std::make_shared<Tokenizer>(Tokenizer::of(files));
    session->chat_template = load_template(options, files, *session->tokenizer);
    text = {session->tokenizer->vocab_size(), session->tokenizer->stop_ids()};
  }
  text.stop_ids = stop_set(files.config, files.generation_config, text.stop_ids);
  session->stop_ids = text.stop_ids;
  // From here on nothing may throw before the worker has loaded: it refers to locals.
  const auto load = [&] {
    return load_engine(files, options.engine, text, [&](double done) { progress.update(done); });
  };
  session->worker = std::make_unique<Worker>(load, options.engine.max_waiting, std::move(sink));
  session->worker->wait_ready();
  session->worker->call([&](Engine& engine) {
    session->vocab_size = engine.spec().vocab;
    session->d_model = engine.spec().d_model;
    session->max_ctx = std::min(engine.options().max_ctx, engine.capacity());
  });
  log_info("loaded ", files.name, " in ", static_cast<int>(ms_between(start, Clock::now())),
           " ms; context ", session->max_ctx, " tokens");
  return session;
}

StepSink StepQueue::sink() {
  return [this](std::vector<StepEvent> events) {
    {
      std::lock_guard lock(mutex_);
      std::move(events.begin(), events.end(), std::back_inserter(events_));
    }
    ready_.notify_one();
  };
}

std::vector<StepEvent> StepQueue::take() {
  std::unique_lock lock(mutex_);
  ready_.wait(lock, [&] { return !events_.empty(); });
  return std::exchange(events_, {});
}

}  // namespace mlxforge

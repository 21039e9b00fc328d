// chat: a conversation in the terminal. Answers go to standard output, notices to standard error.
#include <atomic>
#include <csignal>
#include <iostream>

#include "app/answer.h"
#include "app/commands.h"
#include "app/console.h"
#include "app/line_reader.h"
#include "text/prompt.h"

namespace mlxforge {
namespace {

constexpr std::string_view kHelp =
    "/system       show the system message\n"
    "/system TEXT  set the system message and start over\n"
    "/nosystem     have none and start over\n"
    "/reset        forget the conversation, keep the system message\n"
    "/help         show this\n"
    "/quit         leave (as the end of input does)\n"
    "Ctrl-C stops an answer.\n";

std::atomic<bool> interrupted = false;

// While an answer is being written, Ctrl-C stops the answer and not the program.
class InterruptGuard {
 public:
  InterruptGuard() : previous_(std::signal(SIGINT, [](int) { interrupted = true; })) {
    interrupted = false;
  }
  ~InterruptGuard() { std::signal(SIGINT, previous_); }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  void (*previous_)(int);
};

class Chat {
 public:
  Chat(const Session& session, StepQueue& queue, SamplingParams sampling)
      : session_(session), queue_(queue), sampling_(sampling) {
    reset();
  }

  // False when the conversation is over.
  bool handle(const std::string& line) {
    const bool pasted = line.find('\n') != line.npos;  // "/usr/bin/env ...": a message
    if (line.starts_with(kSystem) || (line.starts_with('/') && !pasted)) return command(line);
    if (!line.empty()) ask(line);
    return true;
  }

 private:
  static constexpr std::string_view kSystem = "/system ";

  bool command(const std::string& line) {
    if (line == "/quit" || line == "/exit") return false;
    if (line == "/help") {
      std::cerr << kHelp;
    } else if (line == "/reset") {
      reset();
      std::cerr << "(forgotten)\n";
    } else if (line == "/system") {
      show_system();
    } else if (line == "/nosystem") {
      set_system("");
    } else if (line.starts_with(kSystem)) {
      set_system(line.substr(kSystem.size()));
    } else {
      std::cerr << "no such command; /help lists them\n";
    }
    return true;
  }

  void show_system() const {
    if (system_.empty())
      std::cerr << "(no system message; /system TEXT sets one)\n";
    else
      std::cerr << "(system message: " << system_
                << ")\n(/system TEXT sets another, /nosystem has none)\n";
  }

  void set_system(std::string text) {
    system_ = std::move(text);
    reset();
    std::cerr << (system_.empty() ? "(no system message)\n" : "(system message set)\n");
  }

  void reset() {
    input_ = {};
    if (!system_.empty()) input_.messages.push_back({{"role", "system"}, {"content", system_}});
  }

  // An answer that fails leaves the conversation as it was.
  void ask(const std::string& line) {
    input_.messages.push_back({{"role", "user"}, {"content", line}});
    try {
      input_.messages.push_back({{"role", "assistant"}, {"content", answer()}});
    } catch (const Error& e) {
      report_error(str(e.what(), "; /reset starts over"), 1);
      input_.messages.erase(input_.messages.size() - 1);
    }
  }

  std::string answer() {
    auto ids = encode_chat(session_.text(), *session_.chat_template, input_);
    if (!ids.ok()) fail("app", ids.status().message);
    Request request;
    request.prompt = std::move(ids).value();
    request.sampling = sampling_;
    request.max_tokens = session_.max_ctx;

    const InterruptGuard guard;
    const TypingHidden hidden;
    Detokenizer detokenizer(session_.text());
    std::string text;
    run_request(*session_.worker, queue_, std::move(request), [&](const StepEvent& event) {
      const std::string piece = text_of(event, detokenizer);
      text += piece;
      print(piece);
      return !interrupted;
    });
    print("\n");
    return text;
  }

  const Session& session_;
  StepQueue& queue_;
  const SamplingParams sampling_;
  std::string system_;
  ChatInput input_;
};

}  // namespace

int run_chat(const Options& options, Arguments) {
  StepQueue queue;
  prepare_device(options);
  const std::unique_ptr<Session> session = load_session(options, queue.sink());
  if (session->chat_template == nullptr)
    fail("app", "expected a model with a chat template, got ", session->files.name,
         " without one; --chat-template FILE gives one");
  Chat chat(*session, queue, sampling_params(options.sampling));
  LineReader reader("> ");
  if (reader.interactive())
    std::cerr << "Talk with " << session->files.name << "; /help lists the commands.\n";
  while (const auto line = reader.next())
    if (!chat.handle(*line)) break;
  return 0;
}

}  // namespace mlxforge

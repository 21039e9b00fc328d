#include "app/line_reader.h"

#include <histedit.h>
#include <termios.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <iostream>
#include <string_view>

namespace mlxforge {
namespace {

// While a line is edited, the terminal says where a paste begins and ends (bracketed paste).
class PasteMode {
 public:
  PasteMode() : previous_(std::signal(SIGINT, leave)) { send("\033[?2004h"); }
  ~PasteMode() {
    send(kOff);
    std::signal(SIGINT, previous_);
  }
  PasteMode(const PasteMode&) = delete;
  PasteMode& operator=(const PasteMode&) = delete;

 private:
  static constexpr std::string_view kOff = "\033[?2004l";

  static void send(std::string_view text) {
    if (::write(STDOUT_FILENO, text.data(), text.size()) < 0) return;  // a terminal that is gone
  }
  static void leave(int signal) {
    send(kOff);
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }

  void (*previous_)(int);
};

// Bound to the mark before a paste: everything up to the mark behind it is text.
unsigned char insert_paste(EditLine* edit, int) {
  static constexpr std::wstring_view kEnd = L"\033[201~";
  std::wstring text;
  while (!text.ends_with(kEnd)) {
    wchar_t c = 0;
    if (el_wgetc(edit, &c) != 1) return CC_EOF;
    text += c == L'\r' ? L'\n' : c;  // terminals send a pasted end of line as Enter
  }
  text.resize(text.size() - kEnd.size());
  return el_winsertstr(edit, text.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
}

}  // namespace

struct LineReader::Editor {
  explicit Editor(std::string text) : prompt(std::move(text)) {
    std::setlocale(LC_CTYPE, "");
    HistEvent event;
    history(lines.get(), &event, H_SETSIZE, 1000);
    el_set(edit.get(), EL_CLIENTDATA, this);
    el_set(
        edit.get(), EL_PROMPT, +[](EditLine* e) {
          void* self = nullptr;
          el_get(e, EL_CLIENTDATA, &self);
          return static_cast<Editor*>(self)->prompt.data();
        });
    el_set(edit.get(), EL_EDITOR, "emacs");
    el_set(edit.get(), EL_SIGNAL, 1);  // the terminal is put right before a signal is acted on
    el_set(edit.get(), EL_HIST, history, lines.get());
    el_set(edit.get(), EL_ADDFN, "insert-paste", "Insert a pasted text", insert_paste);
    el_set(edit.get(), EL_BIND, "\\e[200~", "insert-paste", nullptr);
    el_source(edit.get(), nullptr);  // ~/.editrc
  }

  std::optional<std::string> next() {
    const PasteMode paste;
    int n = 0;
    const char* text = el_gets(edit.get(), &n);
    if (text == nullptr || n <= 0) return std::nullopt;
    HistEvent event;
    if (*text != '\n') history(lines.get(), &event, H_ENTER, text);
    return std::string(text, text + n);
  }

  std::string prompt;
  std::unique_ptr<EditLine, void (*)(EditLine*)> edit{el_init("mlxforge", stdin, stdout, stderr),
                                                      el_end};
  std::unique_ptr<History, void (*)(History*)> lines{history_init(), history_end};
};

LineReader::LineReader(std::string prompt) {
  if (isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0)
    editor_ = std::make_unique<Editor>(std::move(prompt));
}

LineReader::~LineReader() = default;

std::optional<std::string> LineReader::next() {
  if (editor_ != nullptr) {
    auto line = editor_->next();
    while (line && line->ends_with('\n')) line->pop_back();
    return line;
  }
  std::string line;
  if (!std::getline(std::cin, line)) return std::nullopt;
  return line;
}

struct TypingHidden::Terminal : termios {};

TypingHidden::TypingHidden() : before_(std::make_unique<Terminal>()) {
  if (tcgetattr(STDIN_FILENO, before_.get()) != 0) {
    before_.reset();
    return;
  }
  termios hidden = *before_;
  hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON);
  tcsetattr(STDIN_FILENO, TCSANOW, &hidden);
}

TypingHidden::~TypingHidden() {
  if (before_) tcsetattr(STDIN_FILENO, TCSANOW, before_.get());
}

}  // namespace mlxforge

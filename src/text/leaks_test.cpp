// A Jinja namespace that holds itself is a reference cycle, which minijinja does not collect; a
// template is the model's file, not a caller's. The leak sanitizer is told, by the only frames that
// Rust's stacks show it.
extern "C" const char* __lsan_default_suppressions();  // NOLINT(bugprone-reserved-identifier)

extern "C" const char* __lsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "leak:minijinja::functions::builtins::namespace\n"
         "leak:alloc::collections::btree::map::entry::VacantEntry\n";
}

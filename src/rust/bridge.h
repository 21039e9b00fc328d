// The Rust libraries as C++ sees them: mlxforge::rs::Tokenizer (tokenizers), mlxforge::rs::Template
// (minijinja), mlxforge::rs::Grammars and Matcher (llguidance), mlxforge::rs::Traces
// (opentelemetry), each in a rust::Box that owns it. Their functions are listed in
// src/rust/src/lib.rs; const ones may be called from any thread. Text given to them must be UTF-8.
//
// They report failures as rust::Error; call them through checked(), which makes that an Error of
// ours.
#pragma once

#include <stdexcept>
#include <string_view>

#include "base/cancel_flag.h"
#include "base/check.h"
#include "mlxforge_rust/src/lib.rs.h"
#include "rust/cxx.h"

namespace mlxforge {

// checked("text", "tokenizer.json", [&] { return rs::tokenizer_from_json(...); }) returns what the
// call returns, or throws Error("[text] tokenizer.json: <its message>").
template <class Call>
auto checked(std::string_view module, std::string_view what, Call call) {
  try {
    return call();
  } catch (const rust::Error& error) {
    fail(module, what, ": ", error.what());
  } catch (const std::invalid_argument& error) {  // rust::Str, rust::String: not UTF-8
    fail(module, what, ": ", error.what());
  }
}

}  // namespace mlxforge

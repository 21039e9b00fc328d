#include "server/metrics/prometheus.h"

#include <charconv>
#include <cmath>
#include <functional>

namespace mlxforge {
namespace {

std::string escaped(std::string_view text, bool quotes) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || (quotes && c == '"')) out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

std::string number(double value) {
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

}  // namespace

void PrometheusText::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  out_.append("# HELP ").append(name).append(" ").append(escaped(help, false)).append("\n");
  out_.append("# TYPE ").append(name).append(" ").append(type).append("\n");
}

void PrometheusText::line(std::string_view suffix, double value, const MetricLabels& more) {
  out_.append(name_).append(suffix);
  char separator = '{';
  for (const auto& labels : {std::cref(labels_), std::cref(more)})
    for (const auto& [name, text] : labels.get()) {
      out_ += separator;
      out_.append(name).append("=\"").append(escaped(text, true)).append("\"");
      separator = ',';
    }
  if (separator == ',') out_ += '}';
  out_.append(" ").append(number(value)).append("\n");
}

// Buckets are cumulative, and the last one is the count.
void PrometheusText::histogram(const Histogram& histogram) {
  const auto bounds = histogram.bounds();
  double total = 0;
  for (size_t i = 0; i <= bounds.size(); ++i) {
    total += static_cast<double>(histogram.count(i));
    line("_bucket", total, {{"le", number(i < bounds.size() ? bounds[i] : HUGE_VAL)}});
  }
  line("_sum", histogram.sum(), {});
  line("_count", total, {});
}

}  // namespace mlxforge

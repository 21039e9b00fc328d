// Prometheus' text format 0.0.4: families of samples, with their escapes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/metrics/histogram.h"

namespace mlxforge {

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

class PrometheusText {
 public:
  // `labels` stand on every sample.
  explicit PrometheusText(MetricLabels labels) : labels_(std::move(labels)) {}

  // The samples that follow belong to it. `type`: counter, gauge or histogram.
  void family(std::string_view name, std::string_view type, std::string_view help);
  void sample(double value, const MetricLabels& more = {}) { line("", value, more); }
  void histogram(const Histogram& histogram);

  std::string take() { return std::move(out_); }

 private:
  void line(std::string_view suffix, double value, const MetricLabels& more);

  MetricLabels labels_;
  std::string name_;
  std::string out_;
};

}  // namespace mlxforge

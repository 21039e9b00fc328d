// The input of a response as the list of items that GET /v1/responses/{id}/input_items shows.
#pragma once

#include "server/json.h"

namespace mlxforge {

// `input` is a string, or items that append_input has read. Each item has an id, its own or a new
// one.
OrderedJson listed_items(const OrderedJson& input);

}  // namespace mlxforge

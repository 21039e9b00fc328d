// The JSON files of this folder, which embed.py joins: schemas of the API's requests and answers.
#pragma once

#include <string_view>

namespace mlxforge {

extern const std::string_view kOpenApiSchemas;

}  // namespace mlxforge

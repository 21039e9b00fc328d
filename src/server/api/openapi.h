// The API as an OpenAPI 3.1 document: the fields of requests from the tables by which they are
// read, what tables cannot say and the shapes of answers from the schemas in server/openapi/.
#pragma once

#include "server/json.h"

namespace mlxforge {

OrderedJson openapi_document();

}  // namespace mlxforge

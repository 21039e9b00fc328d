"""Joins the schemas in this folder and writes them as C++: kOpenApiSchemas, a JSON object of what each file holds by its name.

embed.py FOLDER OUTPUT.cpp
"""

import json
import sys
from pathlib import Path


def main(folder, output):
    files = {file.stem: json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))}
    text = json.dumps(files, separators=(",", ":"))
    output.write_text(
        '#include "server/openapi/schemas.h"\n\nnamespace mlxforge {\n'
        f'const std::string_view kOpenApiSchemas = R"json({text})json";\n'
        "}  // namespace mlxforge\n"
    )


main(Path(sys.argv[1]), Path(sys.argv[2]))

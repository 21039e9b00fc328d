fn main() {
    cxx_build::bridge("src/lib.rs").std("c++20").include("..").compile("mlxforge_cxx");
    println!("cargo:rerun-if-changed=src/lib.rs");
}

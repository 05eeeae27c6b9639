//! Where each program stands in memory, by the linker scripts beside this file.

fn main() {
    let here = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let processor = std::env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    // Without a segment for the headers of the file.
    println!("cargo::rustc-link-arg=-n");
    for (program, script) in [("wst-boot", "boot"), ("wst-boot-tiny", "boot"), ("app", "app")] {
        println!("cargo::rustc-link-arg-bin={program}=-T{here}/{script}-{processor}.ld");
        println!("cargo::rerun-if-changed={script}-{processor}.ld");
    }
}

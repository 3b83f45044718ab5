//! Tells the SDK which Rust compiles it, for the `User-Agent`.

use std::{env, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let output = env::var_os("RUSTC").and_then(|rustc| Command::new(rustc).arg("--version").output().ok());
    let text = output.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    // `rustc 1.88.0 (6b00bc388 2025-06-23)`
    println!("cargo::rustc-env=RUST_VERSION={}", text.split_whitespace().nth(1).unwrap_or("unknown"));
}

//! The program: hands its arguments to `cli` and exits with what it says.
fn main() {}

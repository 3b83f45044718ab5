//! `sdk-generator <schemas> <released document> <operations> <folder> <client>`: writes `types.rs` and `operations.rs`, the generated part of the SDK.
//!
//! Typify makes the types of the schemas; enumerations are written here, as they have to hold values that they do not
//! know. So are the methods, as thin as can be: what a call does is the business of `sdk/`.

mod operations;
mod types;

use std::{env, error::Error, fs, path::Path};

use proc_macro2::TokenStream;

fn main() -> Result<(), Box<dyn Error>> {
    let [schemas, released, operations, folder, client] =
        env::args().skip(1).collect::<Vec<_>>().try_into().map_err(|_| "five arguments, please")?;
    let operations = serde_json::from_str::<Vec<operations::Operation>>(&fs::read_to_string(operations)?)?;
    let released = serde_json::from_str::<serde_json::Value>(&fs::read_to_string(released)?)?;
    let mut document = serde_json::from_str::<serde_json::Value>(&fs::read_to_string(schemas)?)?;
    let schemas = document["components"]["schemas"].as_object_mut().ok_or("no schemas")?;
    let bare = operations.iter().filter_map(operations::Operation::bare).collect();
    write(&folder, "types.rs", types::emit(schemas, &released["components"]["schemas"], &bare)?)?;
    write(&folder, "operations.rs", operations::emit(&operations, &client))
}

fn write(folder: &str, name: &str, tokens: TokenStream) -> Result<(), Box<dyn Error>> {
    Ok(fs::write(Path::new(folder).join(name), prettyplease::unparse(&syn::parse2(tokens)?))?)
}

//! `content-gateway-sdk-generator <document> <file>`: writes the Rust SDK of a prepared OpenAPI 3.0 document.
//!
//! Progenitor makes the types and the client; on top of it come `procedures`, which take the parameters of a procedure
//! and return its output.

use std::{collections::BTreeMap, env, error::Error, fs};

use heck::{ToSnakeCase, ToUpperCamelCase};
use proc_macro2::TokenStream;
use progenitor_impl::{GenerationSettings, Generator, TypePatch};
use quote::{format_ident, quote};
use serde_json::{Map, Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let [document, target] = env::args().skip(1).collect::<Vec<_>>().try_into().map_err(|_| "two arguments, please")?;
    let mut document: Value = serde_json::from_str(&fs::read_to_string(document)?)?;
    let schemas = document["components"]["schemas"].as_object_mut().ok_or("no schemas")?;
    tell_absent_from_null(schemas);
    let settings = settings(schemas);
    let generated = Generator::new(&settings).generate_tokens(&serde_json::from_value(document.clone())?)?;
    let procedures = procedures(&document)?;
    let file = syn::parse2(quote! { #generated #procedures })?;
    Ok(fs::write(target, prettyplease::unparse(&file))?)
}

/// Makes the nullable members of updates a `Change`, and their lists optional: `None` then leaves what is there, and null
/// or an empty list can be sent.
fn tell_absent_from_null(schemas: &mut Map<String, Value>) {
    for (_, schema) in schemas.iter_mut().filter(|(name, _)| name.contains("Update")) {
        let required = names(&schema["required"]);
        let Some(properties) = schema["properties"].as_object_mut() else { continue };
        for (_, property) in properties.iter_mut().filter(|(name, _)| !required.contains(name)) {
            if property["nullable"] == true {
                *property = json!({ "$ref": "#/components/schemas/Change" });
            } else if property["type"] == "array" {
                property["nullable"] = true.into();
            }
        }
    }
    schemas.insert("Change".into(), json!({ "type": "string" }));
}

/// Inputs whose required members all have a plain default get one, for `..Default::default()`. The generator itself
/// gives one to those without required members.
fn settings(schemas: &Map<String, Value>) -> GenerationSettings {
    let mut settings = GenerationSettings::default();
    settings.with_replacement("Change", "crate::Change", std::iter::empty());
    let mut defaulting = TypePatch::default();
    defaulting.with_derive("Default");
    for (name, schema) in schemas.iter().filter(|(name, _)| name.ends_with("Input")) {
        let required = names(&schema["required"]);
        let is_plain = |name: &String| schema["properties"][name].get("type").is_some();
        if !required.is_empty() && required.iter().all(is_plain) {
            settings.with_patch(name, &defaulting);
        }
    }
    settings
}

/// A struct for each router, with a method for each of its procedures.
fn procedures(document: &Value) -> Result<TokenStream, Box<dyn Error>> {
    let mut routers: BTreeMap<&str, Vec<TokenStream>> = BTreeMap::new();
    for operation in document["paths"].as_object().ok_or("no paths")?.values().map(|path| &path["post"]) {
        let router = operation["tags"][0].as_str().ok_or("an operation without tag")?;
        routers.entry(router).or_default().push(method(operation)?);
    }
    let routers = routers.iter().map(|(router, methods)| {
        let name = format_ident!("{}Procedures", router.to_upper_camel_case());
        let doc = format!(" The procedures of `{router}`.");
        quote! {
            #[doc = #doc]
            pub struct #name<'a>(pub(crate) &'a super::Client, pub(crate) Option<&'a str>);
            impl<'a> #name<'a> {
                /// The procedures for one write, with a value of your own, such as a UUID: called again with the same one,
                /// it is not done again, but answered the same.
                pub fn once(self, idempotency_key: &'a str) -> Self {
                    Self(self.0, Some(idempotency_key))
                }
                #(#methods)*
            }
        }
    });
    Ok(quote! {
        /// The procedures without their envelopes: parameters in, output out.
        pub mod procedures {
            use super::types;
            use crate::{Error, unwrap};
            #(#routers)*
        }
    })
}

fn method(operation: &Value) -> Result<TokenStream, Box<dyn Error>> {
    let text = |member: &str| operation[member].as_str().ok_or(format!("an operation without {member}"));
    let id = text("operationId")?;
    let call = format_ident!("{}", id.to_snake_case());
    let name = format_ident!("{}", text("x-procedure")?.to_snake_case());
    let request = format_ident!("{}Request", id.to_upper_camel_case());
    let output = format_ident!("{}", text("x-output")?.to_upper_camel_case());
    let doc = format!(" {}", text("description")?);
    let input = operation["x-input"].as_str().map(|input| format_ident!("{}", input.to_upper_camel_case()));
    let parameter = input.as_ref().map(|input| quote! { , json: types::#input });
    let body = match input {
        Some(_) => quote! { types::#request { json, meta: None } },
        None => quote! { types::#request::default() },
    };
    let key = operation.get("parameters").map(|_| quote! { self.1, });
    Ok(quote! {
        #[doc = #doc]
        pub async fn #name(&self #parameter) -> Result<types::#output, Error> {
            Ok(unwrap(self.0.#call(#key &#body).await).await?.result.data.json)
        }
    })
}

fn names(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

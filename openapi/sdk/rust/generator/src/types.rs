//! The types of inputs and outputs.

use std::{collections::BTreeMap, error::Error};

use heck::{ToSnakeCase, ToUpperCamelCase};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use serde_json::{Map, Value, json};
use typify_impl::{TypeDetails, TypeSpace, TypeSpacePatch, TypeSpaceSettings};

/// The types of all schemas, which are those of JSON Schema 2020-12. Those of the last release tell what services that are
/// older than the SDK don't answer. `bare` has the names of inputs, and those of the only members that they must have.
pub fn emit(
    schemas: &mut Map<String, Value>,
    released: &Value,
    bare: &BTreeMap<&str, &str>,
) -> Result<TokenStream, Box<dyn Error>> {
    let notes = deprecated_members(schemas);
    let changes = tell_absent_from_null(schemas)?;
    let_older_services_lack(schemas, released);
    describe_references(schemas);
    let settings = settings(schemas, &changes);
    let enums = schemas.iter().filter(|(_, schema)| is_enum(schema)).map(|(name, schema)| open_enum(name, schema));
    let enums = enums.collect::<Vec<_>>();
    let mut space = TypeSpace::new(&settings);
    let definitions = schemas.iter().map(|(name, schema)| Ok((name, serde_json::from_value(schema.clone())?)));
    space.add_ref_types(definitions.collect::<Result<Vec<_>, serde_json::Error>>()?)?;
    let types = mark_members(space.to_stream(), &notes)?;
    let conversions = bare.iter().map(|(name, member)| conversion(&space, name, member)).collect::<Option<Vec<_>>>();
    let conversions = conversions.ok_or("an input has not the member that it must have")?;
    // What derives from these types uses all of their members.
    let is_deprecating = !notes.is_empty() || schemas.values().any(|schema| schema["x-deprecated-values"].is_object());
    let allowed = is_deprecating.then(|| quote! { #![allow(deprecated)] });
    Ok(quote! { #allowed #types #(#enums)* #(#conversions)* })
}

/// The reasons of deprecated members, by the names of their types and their own.
fn deprecated_members(schemas: &Map<String, Value>) -> BTreeMap<(String, String), String> {
    let members = schemas.iter().flat_map(|(name, schema)| {
        let properties = schema["properties"].as_object().into_iter().flatten();
        properties.filter_map(move |(member, property)| {
            let reason = property["x-deprecated-reason"].as_str()?;
            Some(((name.clone(), member.to_snake_case()), reason.to_owned()))
        })
    });
    members.collect()
}

/// Marks the members that are deprecated, which Typify passes over.
fn mark_members(types: TokenStream, notes: &BTreeMap<(String, String), String>) -> Result<TokenStream, Box<dyn Error>> {
    let mut file = syn::parse2::<syn::File>(types)?;
    for item in &mut file.items {
        let syn::Item::Struct(item) = item else { continue };
        for field in &mut item.fields {
            let name = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
            if let Some(note) = notes.get(&(item.ident.to_string(), name)) {
                field.attrs.push(syn::parse_quote! { #[deprecated(note = #note)] });
            }
        }
    }
    Ok(quote! { #file })
}

/// Makes an input of the value of the only member that it must have.
fn conversion(space: &TypeSpace, name: &str, member: &str) -> Option<TokenStream> {
    let input = space.iter_types().find(|found| found.name() == name)?;
    let TypeDetails::Struct(members) = input.details() else { return None };
    let member = member.to_snake_case();
    let (_, value) = members.properties().find(|(name, _)| *name == member)?;
    let rest = (members.properties().count() > 1).then(|| quote! { ..Default::default() });
    let member = format_ident!("{member}");
    let value = space.get_type(&value).ok()?;
    let from_borrowed = matches!(value.details(), TypeDetails::String).then(|| {
        let name = format_ident!("{name}");
        quote! {
            impl From<&str> for #name {
                fn from(#member: &str) -> Self {
                    Self { #member: #member.into(), #rest }
                }
            }
        }
    });
    let (name, value) = (format_ident!("{name}"), value.ident());
    Some(quote! {
        impl From<#value> for #name {
            fn from(#member: #value) -> Self {
                Self { #member, #rest }
            }
        }
        #from_borrowed
    })
}

fn is_enum(schema: &Value) -> bool {
    schema["enum"].is_array()
}

/// Makes the nullable members of updates a `Change`, and their other lists optional: `None` then leaves what is there, and null
/// or an empty list can be sent. Returns the types of these changes, by the names of schemas that stand for them.
fn tell_absent_from_null(schemas: &mut Map<String, Value>) -> Result<BTreeMap<String, String>, Box<dyn Error>> {
    let mut changes = BTreeMap::new();
    let mut change = |name: String, kind: String, description: &Value| {
        let reference = json!({ "$ref": format!("#/components/schemas/{name}"), "description": description });
        changes.insert(name, kind);
        reference
    };
    for (_, schema) in schemas.iter_mut().filter(|(name, _)| name.contains("Update")) {
        let required = required(schema);
        let Some(properties) = schema["properties"].as_object_mut() else { continue };
        for (_, property) in properties.iter_mut().filter(|(name, _)| !required.contains(name)) {
            if property["type"] == json!(["string", "null"]) {
                *property = change("Change".into(), "crate::Change".into(), &property["description"]);
            } else if property["type"] == json!(["array", "null"]) {
                let item = property["items"]["$ref"].as_str().and_then(|path| path.rsplit('/').next());
                let item = item.ok_or("a list that an update can clear has items without a name")?;
                let kind = format!("crate::Change<::std::vec::Vec<crate::types::{item}>>");
                *property = change(format!("ChangeOf{item}List"), kind, &property["description"]);
            } else if property["type"] == "array" {
                property["type"] = json!(["array", "null"]);
            }
        }
    }
    schemas.extend(changes.keys().map(|name| (name.clone(), json!({ "type": "string" }))));
    Ok(changes)
}

/// Makes members that are newer than the last release optional in outputs; counts, texts and lists are 0 or empty then.
fn let_older_services_lack(schemas: &mut Map<String, Value>, released: &Value) {
    for (name, schema) in schemas.iter_mut().filter(|(name, _)| !name.ends_with("Input")) {
        let Some(known) = released[name]["required"].as_array() else { continue };
        let (old, new) = required(schema).into_iter().partition::<Vec<_>, _>(|member| known.contains(&json!(member)));
        for member in &new {
            let property = &mut schema["properties"][member];
            let nothing = match property["type"].as_str() {
                Some("integer" | "number") => json!(0),
                Some("string") if property.get("format").is_none() => json!(""),
                Some("boolean") => json!(false),
                Some("array") => json!([]),
                _ => continue,
            };
            let description = property["description"].as_str().unwrap_or_default();
            property["description"] = format!("{description}. {nothing} if the service is older than that").into();
            property["default"] = nothing;
        }
        if !new.is_empty() {
            schema["required"] = json!(old);
        }
    }
}

/// A member that only refers to a schema is described as that.
fn describe_references(schemas: &mut Map<String, Value>) {
    let descriptions =
        schemas.iter().map(|(name, schema)| (format!("#/components/schemas/{name}"), schema["description"].clone()));
    let descriptions = descriptions.collect::<BTreeMap<_, _>>();
    let members = schemas.values_mut().filter_map(|schema| schema.get_mut("properties")?.as_object_mut()).flatten();
    for (_, member) in members.filter(|(_, member)| member.get("description").is_none()) {
        if let Some(description) = member["$ref"].as_str().and_then(|name| descriptions.get(name)) {
            member["description"] = description.clone();
        }
    }
}

/// Inputs whose required members all have a plain default get one, for `..Default::default()`; Typify itself gives one to
/// those without required members. Outputs are `non_exhaustive`, as they may get members.
fn settings(schemas: &Map<String, Value>, changes: &BTreeMap<String, String>) -> TypeSpaceSettings {
    let mut settings = TypeSpaceSettings::default();
    settings.with_map_type("::std::collections::BTreeMap");
    settings.with_derive("PartialEq".into());
    for (name, kind) in changes {
        settings.with_replacement(name, kind, std::iter::empty());
    }
    for (name, schema) in schemas {
        let is_plain = |member: &String| schema["properties"][member]["type"].is_string();
        let required = required(schema);
        if is_enum(schema) {
            settings.with_replacement(name, format!("crate::types::{name}"), std::iter::empty());
        } else if !name.ends_with("Input") {
            settings.with_patch(name, TypeSpacePatch::default().with_attr("#[non_exhaustive]"));
        } else if !required.is_empty() && required.iter().all(is_plain) {
            settings.with_patch(name, TypeSpacePatch::default().with_derive("Default"));
        }
    }
    settings
}

fn required(schema: &Value) -> Vec<String> {
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn open_enum(name: &str, schema: &Value) -> TokenStream {
    let doc = format!(" {}", schema["description"].as_str().unwrap_or(name));
    let name = format_ident!("{name}");
    let values = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>();
    let docs = values.iter().map(|value| format!(" `{value}`"));
    let marks = values.iter().map(|value| {
        let note = schema["x-deprecated-values"][value].as_str()?;
        Some(quote! { #[deprecated(note = #note)] })
    });
    let variants = values.iter().map(|value| format_ident!("{}", value.to_upper_camel_case())).collect::<Vec<_>>();
    quote! {
        #[doc = #doc]
        #[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(from = "String", into = "String")]
        #[non_exhaustive]
        pub enum #name {
            #(#[doc = #docs] #marks #variants,)*
            /// A value that this version of the SDK does not know.
            Unknown(String),
        }

        impl #name {
            /// The value as it is sent.
            pub fn as_str(&self) -> &str {
                match self {
                    #(Self::#variants => #values,)*
                    Self::Unknown(value) => value,
                }
            }
        }

        impl std::fmt::Display for #name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl From<String> for #name {
            fn from(value: String) -> Self {
                match value.as_str() {
                    #(#values => Self::#variants,)*
                    _ => Self::Unknown(value),
                }
            }
        }

        impl From<&str> for #name {
            fn from(value: &str) -> Self {
                value.to_owned().into()
            }
        }

        impl From<#name> for String {
            fn from(value: #name) -> Self {
                value.as_str().into()
            }
        }
    }
}

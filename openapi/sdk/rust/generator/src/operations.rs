//! The methods.

use heck::{ToSnakeCase, ToUpperCamelCase};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use serde::Deserialize;

/// An operation, as `prepare.mjs` tells of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    id: String,
    router: String,
    name: String,
    path: String,
    summary: String,
    description: String,
    access: String,
    writes: bool,
    input: Option<String>,
    output: String,
    output_members: Vec<String>,
    item: Option<String>,
}

/// A struct for each router, with a method for each of its operations; what the client has to offer them; and what paging
/// needs to know of the outputs of lists.
pub fn emit(operations: &[Operation]) -> TokenStream {
    let mut routers = operations.iter().map(|operation| operation.router.as_str()).collect::<Vec<_>>();
    routers.dedup();
    let entries = routers.iter().map(|router| entry(router));
    let structs = routers.iter().map(|router| {
        let members = operations.iter().filter(|operation| operation.router == *router);
        router_struct(router, members.map(methods))
    });
    let lists = operations.iter().filter_map(listing);
    quote! {
        //! The operations of the contract.
        use std::sync::Arc;
        use crate::{Call, ContentGateway, ListAll, Listing, Page, call::Operation, client::Shared, types};

        impl ContentGateway { #(#entries)* }
        #(#structs)*
        #(#lists)*
    }
}

fn entry(router: &str) -> TokenStream {
    let doc = format!(" The operations `{router}.…`.");
    let name = format_ident!("{router}");
    let operations = operations_of(router);
    quote! {
        #[doc = #doc]
        pub fn #name(&self) -> #operations {
            #operations(Arc::clone(&self.shared))
        }
    }
}

fn operations_of(router: &str) -> Ident {
    format_ident!("{}Operations", router.to_upper_camel_case())
}

fn router_struct(router: &str, methods: impl Iterator<Item = TokenStream>) -> TokenStream {
    let doc = format!(" The operations `{router}.…`. Each method makes a [`Call`], which is sent when it is awaited.");
    let name = operations_of(router);
    quote! {
        #[doc = #doc]
        #[derive(Clone, Debug)]
        pub struct #name(Arc<Shared>);
        impl #name { #(#methods)* }
    }
}

fn methods(operation: &Operation) -> TokenStream {
    let Operation { id, path, writes, output_members: members, .. } = operation;
    let name = format_ident!("{}", operation.name.to_snake_case());
    let output = format_ident!("{}", operation.output);
    let input = operation.input.as_ref().map(|input| format_ident!("{input}"));
    let parameter = input.as_ref().map(|input| quote! { , input: types::#input });
    let argument = if input.is_some() {
        quote! { &input }
    } else {
        quote! { &() }
    };
    let doc = doc(operation, None);
    let constant = quote! { &Operation { id: #id, path: #path, writes: #writes, members: &[#(#members),*] } };
    if operation.item.is_none() {
        return quote! {
            #(#[doc = #doc])*
            pub fn #name(&self #parameter) -> Call<types::#output> {
                Call::new(&self.0, #constant, #argument)
            }
        };
    }
    let all = format_ident!("{name}_all");
    let all_doc = self::doc(operation, Some(&name.to_string()));
    quote! {
        #(#[doc = #doc])*
        pub fn #name(&self #parameter) -> Call<Page<types::#output>> {
            Call::page(&self.0, #constant, #argument)
        }

        #(#[doc = #all_doc])*
        pub fn #all(&self #parameter) -> ListAll<types::#output> {
            ListAll::new(self.#name(input))
        }
    }
}

/// The lines of the comment of a method, or of the one that walks through the pages of the method `walked`.
fn doc(operation: &Operation, walked: Option<&str>) -> Vec<String> {
    let mut paragraphs = match walked {
        None => vec![format!("{}.", operation.summary), operation.description.clone()],
        Some(list) => vec![
            format!("{}: all records of [`{list}`](Self::{list}), a page at a time.", operation.summary),
            "Without a `limit`, or with 0, pages hold 100 records; without a `page`, the first is where it starts."
                .into(),
        ],
    };
    paragraphs.push(match operation.access.as_str() {
        "public" => "No key is needed.".into(),
        scope => format!("Needs a key with the scope `{scope}`."),
    });
    let separated = paragraphs.iter().flat_map(|paragraph| [String::new(), format!(" {paragraph}")]);
    separated.skip(1).collect()
}

fn listing(operation: &Operation) -> Option<TokenStream> {
    let item = format_ident!("{}", operation.item.as_ref()?);
    let output = format_ident!("{}", operation.output);
    Some(quote! {
        impl Listing for types::#output {
            type Record = types::#item;

            fn next_cursor(&self) -> Option<&str> {
                self.next_cursor.as_deref()
            }

            fn into_records(self) -> Vec<types::#item> {
                self.items
            }
        }
    })
}

//! The methods.

use heck::{ToShoutySnakeCase, ToSnakeCase, ToUpperCamelCase};
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
    deprecated: Option<String>,
    access: String,
    writes: bool,
    input: Option<String>,
    output: String,
    output_members: Vec<String>,
    item: Option<String>,
    followed: Option<String>,
    bare: Option<String>,
    #[serde(default)]
    limited: bool,
}

/// How many records are listed at once, where the caller doesn't say.
const LIMIT: u32 = 20;

impl Operation {
    /// The name of the input whose place the value of a member can take, and of that.
    pub fn bare(&self) -> Option<(&str, &str)> {
        Some((self.input.as_deref()?, self.bare.as_deref()?))
    }
}

/// A struct for each router, with a method for each of its operations; what the client has to offer them; and what paging
/// needs to know of the outputs of lists, and following of those of feeds.
///
/// `client` is the name of the client.
pub fn emit(operations: &[Operation], client: &str) -> TokenStream {
    let client = format_ident!("{client}");
    let mut routers = operations.iter().map(|operation| operation.router.as_str()).collect::<Vec<_>>();
    routers.dedup();
    let entries = routers.iter().map(|router| entry(router));
    let structs = routers.iter().map(|router| {
        let members = operations.iter().filter(|operation| operation.router == *router);
        router_struct(router, members.map(methods))
    });
    let constants = operations.iter().map(constant);
    let names = operations.iter().map(constant_of);
    let lists = operations.iter().filter_map(listing);
    let feeds = operations.iter().filter_map(feed).collect::<Vec<_>>();
    let used = (!feeds.is_empty()).then(|| quote! { use crate::{Feed, Follow}; });
    quote! {
        //! The operations of the contract.
        use std::sync::Arc;
        use crate::{
            Call, #client, ListAll, ListPages, Listing, Page, call::operation::Operation, client::Shared, types,
        };

        #used

        #(#constants)*

        /// All of them.
        pub(crate) static OPERATIONS: &[&Operation] = &[#(&#names),*];

        impl #client { #(#entries)* }
        #(#structs)*
        #(#lists)*
        #(#feeds)*
    }
}

fn entry(router: &str) -> TokenStream {
    let doc = format!(" The operations `{router}.…`.");
    let name = format_ident!("{}", router.to_snake_case());
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

fn constant_of(operation: &Operation) -> Ident {
    format_ident!("{}", operation.id.to_shouty_snake_case())
}

fn constant(operation: &Operation) -> TokenStream {
    let Operation { id, path, writes, output_members: members, .. } = operation;
    let name = constant_of(operation);
    quote! { static #name: Operation = Operation::known(#id, #path, #writes, &[#(#members),*]); }
}

fn methods(operation: &Operation) -> TokenStream {
    let constant = constant_of(operation);
    let name = format_ident!("{}", operation.name.to_snake_case());
    let output = format_ident!("{}", operation.output);
    let input = operation.input.as_ref().map(|input| format_ident!("{input}"));
    let is_value = operation.bare.is_some();
    let limit = operation.limited.then(|| quote! { .with_limit(#LIMIT) });
    let (parameter, argument) = match &input {
        None => (None, quote! { &() }),
        Some(input) if is_value => {
            (Some(quote! { , input: impl Into<types::#input> }), quote! { &Into::<types::#input>::into(input) })
        }
        Some(input) => (Some(quote! { , input: types::#input }), quote! { &input }),
    };
    let doc = doc(operation, Walk::None);
    let mark = operation.deprecated.as_ref().map(|note| quote! { #[deprecated(note = #note)] });
    if operation.item.is_none() {
        let follow = operation.followed.as_ref().map(|_| {
            let doc = self::doc(operation, Walk::Feed);
            let tail_doc = self::doc(operation, Walk::Tail);
            let stream = stream_of(operation);
            // They call the method that is deprecated as well.
            let mark = mark.as_ref().map(|mark| quote! { #mark #[allow(deprecated)] });
            quote! {
                #(#[doc = #doc])*
                #mark
                pub fn follow(&self #parameter) -> Follow<types::#output> {
                    Follow::new(self.#name(input), &#stream, true)
                }

                #(#[doc = #tail_doc])*
                #mark
                pub fn tail(&self #parameter) -> Follow<types::#output> {
                    Follow::new(self.#name(input), &#stream, false)
                }
            }
        });
        return quote! {
            #(#[doc = #doc])*
            #mark
            pub fn #name(&self #parameter) -> Call<types::#output> {
                Call::new(&self.0, &#constant, #argument)#limit
            }

            #follow
        };
    }
    let all = format_ident!("{name}_all");
    let pages = format_ident!("{name}_pages");
    let all_doc = self::doc(operation, Walk::Records);
    let pages_doc = self::doc(operation, Walk::Pages);
    quote! {
        #(#[doc = #doc])*
        #mark
        pub fn #name(&self #parameter) -> Call<Page<types::#output>> {
            Call::page(&self.0, &#constant, #argument)#limit
        }

        #(#[doc = #all_doc])*
        #mark
        pub fn #all(&self #parameter) -> ListAll<types::#output> {
            ListAll::new(Call::page(&self.0, &#constant, #argument))
        }

        #(#[doc = #pages_doc])*
        #mark
        pub fn #pages(&self #parameter) -> ListPages<types::#output> {
            ListPages::new(Call::page(&self.0, &#constant, #argument))
        }
    }
}

/// What a method goes through: nothing, or what a list or a feed returns.
enum Walk {
    None,
    Records,
    Pages,
    Feed,
    Tail,
}

/// The lines of the comment of a method.
fn doc(operation: &Operation, walk: Walk) -> Vec<String> {
    let Operation { summary, description, name, .. } = operation;
    let list = name.to_snake_case();
    let pages = "`limit` is the size of a page: 100 unless set. Without a `page` or a `cursor`, the first is where it starts.";
    let mut paragraphs = match walk {
        Walk::None => vec![format!("{summary}."), description.clone()],
        Walk::Records => vec![
            format!("{summary}: all records of [`{list}`](Self::{list}), a page at a time."),
            format!("{pages} How many records may come in all is said by [`max_records`](ListAll::max_records)."),
        ],
        Walk::Feed => vec![
            format!("{summary}: all of [`{list}`](Self::{list}) from where the input says, a page at a time."),
            "They come as they happen, by the stream of [`tail`](Self::tail), or page after page where there is none; without a \
             start, from now on. After a restart from its [`cursor`](Follow::cursor), an event may come again: each comes at \
             least once."
                .into(),
        ],
        Walk::Tail => vec![
            format!("{summary}: as they happen, by a stream; without a start, from now on."),
            "It is opened anew where it was when it breaks, and is an error if it cannot be opened. It takes no turn of \
             `max_connections`; `limit` counts for nothing. After a restart from its [`cursor`](Follow::cursor), an event may come \
             again: each comes at least once."
                .into(),
        ],
        Walk::Pages => vec![format!("{summary}: all pages of [`{list}`](Self::{list})."), pages.into()],
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

/// The name of the stream of a feed.
fn stream_of(operation: &Operation) -> Ident {
    format_ident!("{}_STREAM", constant_of(operation))
}

fn feed(operation: &Operation) -> Option<TokenStream> {
    let item = format_ident!("{}", operation.followed.as_ref()?);
    let output = format_ident!("{}", operation.output);
    let stream = stream_of(operation);
    let id = format!("{}.tail", operation.router);
    let path = format!("/api/trpc/{id}");
    Some(quote! {
        static #stream: Operation = Operation::known(#id, #path, false, &[]);

        impl Feed for types::#output {
            type Event = types::#item;

            fn next_cursor(&self) -> &str {
                &self.next_cursor
            }

            fn has_more(&self) -> bool {
                self.has_more
            }

            fn into_events(self) -> Vec<types::#item> {
                self.items
            }
        }
    })
}

//! Prints what transcript.txt holds.

use std::{env, error::Error};

use content_gateway::{
    Call, Change, ContentGateway, Error as GatewayError,
    types::{
        DownloadInput, ExtraInfoInput, GameBatchCreateInput, GameGetByIdInput, GameInput, GameListInput, GameSort,
        GameToggleFavoriteInput, ImagePostInput, ImageUpdateInput,
    },
};
use futures_util::TryStreamExt;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let gateway = ContentGateway::from_env()?;
    let anyone = ContentGateway::builder().without_api_key().build()?;
    let reader = ContentGateway::builder().api_key(env::var("GATEWAY_READ_KEY")?).build()?;

    let me = gateway.user().me().await?;
    println!("me: {}, may {}", me.nickname, join(&me.api_key.scopes, ", ", ToString::to_string));

    // The document of the last release wants a page always.
    #[allow(clippy::useless_conversion)]
    let page = GameListInput { limit: 20.into(), page: 1.into(), ..Default::default() };
    let empty = anyone.game().list(page.clone()).await?;
    println!("list: {} of {}", empty.items.len(), empty.total);

    let created = gateway
        .game()
        .create(GameInput {
            title: "星の伝説 〜𠮷野の丘〜".into(),
            description: Some("失われた星を探す。".into()),
            game_type: Some("RPG".into()),
            tag_names: vec!["ファンタジー".into(), "Dragons".into(), "长篇".into()],
            extra_info: Some(ExtraInfoInput {
                original_author: Some("青い丘工房".into()),
                downloads: vec![DownloadInput {
                    name: "Mirror 1".into(),
                    url: "https://files.example.com/hoshi.zip".into(),
                    ..Default::default()
                }],
                ..Default::default()
            }),
            ..Default::default()
        })
        .await?;
    let tags = join(&created.tags, ", ", |tag| tag.name.clone());
    println!("create: {}, {}, tagged {tags}", created.title, created.game_type.unwrap_or_default());

    let read = anyone.game().get_by_id(GameGetByIdInput { id: created.id.clone() }).await?;
    let mirrors = join(&read.extra_info.downloads, ", ", |download| download.name.clone());
    let author = read.extra_info.original_author.unwrap_or_default();
    println!("read: {} By {author}, from {mirrors}", read.description.unwrap_or_default());

    for _ in 0..2 {
        let favorite = gateway.game().toggle_favorite(GameToggleFavoriteInput { game_id: created.id.clone() }).await?;
        println!("favorite: {}, {}", favorite.favorited, favorite.favorite_count);
    }

    let games = ["一の巻", "二の巻", "三の巻"].map(|title| GameInput { title: title.into(), ..Default::default() });
    let batch = gateway.game().batch_create(GameBatchCreateInput { games: games.into() }).await?;
    println!("batch: {}", join(&batch.items, ", ", |game| game.title.clone()));

    let search = GameListInput { search: Some("巻".into()), sort_by: Some(GameSort::Oldest), ..page };
    let found = anyone.game().list(search.clone()).await?;
    println!("search 巻: {} of {}", found.items.len(), found.total);

    let walked = anyone.game().list_all(GameListInput { limit: 2.into(), ..search }).try_collect::<Vec<_>>().await?;
    println!("walk 巻: {}", join(&walked, ", ", |game| game.title.clone()));

    let by_id = GameGetByIdInput { id: created.id };
    let reply = anyone.game().get_by_id(by_id).header("X-Request-Id", "scenario").with_response().await?;
    println!("reply: {} to {}, attempts {}", reply.status, reply.request_id.unwrap_or_default(), reply.attempts);

    let post = gateway
        .image()
        .create(ImagePostInput {
            title: "路地裏".into(),
            images: vec!["https://images.example.com/rain.webp".into()],
            description: Some("雨の夜".into()),
            ..Default::default()
        })
        .await?;
    println!("describe: {}", post.description.unwrap_or_default());

    let update = ImageUpdateInput { id: post.id, description: Some(Change::Clear), ..Default::default() };
    let cleared = gateway.image().update(update).await?;
    println!("clear: {}", cleared.description.unwrap_or("none".into()));

    let only = GameInput { title: "一度きり".into(), ..Default::default() };
    let first = gateway.game().create(only.clone()).idempotency_key("scenario").await?;
    let again = gateway.game().create(only).idempotency_key("scenario").await?;
    println!("again: {}, {}", again.title, if again.id == first.id { "the same" } else { "another" });

    let faulty = GameInput { title: "".into(), cover_url: Some("cover".into()), ..Default::default() };
    refused(gateway.game().create(faulty)).await?;
    let second = GameInput { title: "二度目".into(), ..Default::default() };
    refused(gateway.game().create(second).idempotency_key("scenario")).await?;
    refused(anyone.game().create(GameInput { title: "無名".into(), ..Default::default() })).await?;
    refused(reader.game().create(GameInput { title: "読者".into(), ..Default::default() })).await?;
    let nothing = anyone.game().get_by_id(GameGetByIdInput { id: "nothing".into() });
    if let Some(error) = refused(nothing.header("X-Request-Id", "scenario")).await? {
        println!("{error}");
    }
    Ok(())
}

/// Prints why the gateway refuses a call, if it does.
async fn refused<T: Send + 'static>(call: Call<T>) -> Result<Option<GatewayError>, Box<dyn Error>> {
    let Err(error) = call.await else {
        println!("not refused");
        return Ok(None);
    };
    let Some(failure) = error.as_api() else { return Err(error.into()) };
    let issues = join(&failure.issues, "; ", |issue| format!("{} {} {}", issue.path, issue.code, issue.message));
    let separator = if issues.is_empty() { "" } else { ": " };
    println!("{} {}{separator}{issues}", failure.status, error.reason().unwrap_or_default());
    Ok(Some(error))
}

fn join<T>(items: &[T], separator: &str, text: impl Fn(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(separator)
}

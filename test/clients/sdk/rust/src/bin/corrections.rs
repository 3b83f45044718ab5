// {{#game.update}}
//! Prints what corrections.txt holds: an author changes and deletes what it published. `Change::Clear` is null, and a member
//! that is `None` stays.

use std::error::Error;

use content_gateway::{
    Call, Change, ContentGateway,
    types::{ExtraInfoInput, ExtraInfoUpdateInput, Game, GameInput, GameListInput, GameUpdateInput, ImagePostInput},
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let gateway = ContentGateway::from_env()?;
    let game = gateway
        .game()
        .create(GameInput {
            title: "書き間違い".into(),
            version: Some("Ver1.0".into()),
            is_free: Some(false),
            extra_info: Some(ExtraInfoInput {
                original_author: Some("青い丘工房".into()),
                file_size: Some("1.5GB".into()),
                platforms: vec!["Windows".into()],
                ..Default::default()
            }),
            ..Default::default()
        })
        .await?;
    show("create", &game);

    let cleared = ExtraInfoUpdateInput {
        original_author: Some(Change::Clear),
        platforms: Some(vec![]),
        ..Default::default()
    };
    let clear = GameUpdateInput {
        id: game.id.clone(),
        title: Some("直した題".into()),
        version: Some(Change::Clear),
        extra_info: Some(cleared),
        ..Default::default()
    };
    show("clear", &gateway.game().update(clear).await?);
    let author = Some(Change::To("赤い丘工房".into()));
    let extra_info = Some(ExtraInfoUpdateInput { original_author: author, ..Default::default() });
    let set = GameUpdateInput { id: game.id.clone(), extra_info, ..Default::default() };
    show("set", &gateway.game().update(set).await?);

    list_of(&gateway, &game.author.id).await?;
    let gone = gateway.game().delete(game.id.as_str()).await?.id == game.id;
    deleted_once(gone, gateway.game().delete(game.id.as_str())).await?;
    list_of(&gateway, &game.author.id).await?;
    let images = vec!["https://images.example.com/rain.webp".into()];
    let post = ImagePostInput { title: "路地裏".into(), images, ..Default::default() };
    let post = gateway.image().create(post).await?;
    let gone = gateway.image().delete(post.id.as_str()).await?.id == post.id;
    deleted_once(gone, gateway.image().delete(post.id.as_str())).await
}

fn show(step: &str, game: &Game) {
    let none = || "none".to_owned();
    let extra = game.extra_info.clone();
    let version = game.version.clone().unwrap_or_else(none);
    let author = extra.original_author.unwrap_or_else(none);
    let size = extra.file_size.unwrap_or_else(none);
    let platform = extra.platforms.into_iter().next().unwrap_or_else(none);
    println!("{step}: {}, {version}, by {author}, {size}, on {platform}, free: {}", game.title, game.is_free);
}

async fn list_of(gateway: &ContentGateway, author: &str) -> Result<(), Box<dyn Error>> {
    let input = GameListInput { author_id: Some(author.into()), ..Default::default() };
    let page = gateway.game().list(input).await?;
    println!("by author: {}", page.items.first().map_or("none", |game| &game.title));
    Ok(())
}

async fn deleted_once<T: Send + 'static>(is_same: bool, again: Call<T>) -> Result<(), Box<dyn Error>> {
    let Err(error) = again.await else { return Err("it is deleted twice".into()) };
    let Some(failure) = error.as_api() else { return Err(error.into()) };
    let same = if is_same { "the same" } else { "another" };
    println!("delete: {same}, then {} {}", failure.status, error.reason().unwrap_or_default());
    Ok(())
}
// {{/game.update}}

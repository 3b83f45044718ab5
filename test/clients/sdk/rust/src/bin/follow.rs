// {{#events}}
//! Prints the events of games that it creates itself: asynchronously or, called with `blocking`, without futures.

use std::{env, error::Error};

use content_gateway::{
    ContentGateway,
    types::{Event, EventInclusion, EventListInput, EventStart, EventType, GameInput},
};

fn main() -> Result<(), Box<dyn Error>> {
    let gateway = ContentGateway::from_env()?;
    let start = EventListInput { start: Some(EventStart::Latest), ..Default::default() };
    let now = gateway.event().list(start).send_blocking()?;
    for number in 1..=3 {
        gateway.game().create(game(number)).send_blocking()?;
    }
    let input = EventListInput {
        after: Some(now.next_cursor),
        types: vec![EventType::GameCreated],
        include: Some(EventInclusion::Record),
        ..Default::default()
    };
    let has_cursor = match env::args().nth(1).as_deref() {
        Some("blocking") => follow_blocking(&gateway, input)?,
        _ => tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(follow(&gateway, input))?,
    };
    println!("cursor: {}", if has_cursor { "there" } else { "none" });
    Ok(())
}

fn game(number: usize) -> GameInput {
    GameInput { title: format!("follow {number}"), ..Default::default() }
}

fn print(event: &Event) {
    println!("{} {}", event.type_, event.game.as_ref().map(|game| game.title.as_str()).unwrap_or_default());
}

async fn follow(gateway: &ContentGateway, input: EventListInput) -> Result<bool, Box<dyn Error>> {
    let mut events = gateway.event().follow(input);
    for count in 1..=4 {
        print(&events.next().await.ok_or("the feed ended")??);
        if count == 3 {
            gateway.game().create(game(4)).await?;
        }
    }
    Ok(events.cursor().is_some())
}

fn follow_blocking(gateway: &ContentGateway, input: EventListInput) -> Result<bool, Box<dyn Error>> {
    let mut events = gateway.event().follow(input).iter_blocking();
    for count in 1..=4 {
        print(&events.next().ok_or("the feed ended")??);
        if count == 3 {
            gateway.game().create(game(4)).send_blocking()?;
        }
    }
    Ok(events.cursor().is_some())
}
// {{/events}}

//! Calls from code that is not asynchronous: the same calls, driven by one thread for the whole process.

use std::{future::IntoFuture, sync::OnceLock};

use tokio::runtime::{Builder, Runtime};

// {{#events}}
use crate::{Feed, Follow};
// {{/events}}
use crate::{Call, ListAll, ListPages, Listing, Page, Response, WithResponse, error::Error};

/// Connections live on between calls, so somebody has to look after them meanwhile.
fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("{{rust.crate}}").enable_all().build();
        runtime.expect("no thread can be started")
    })
}

impl<T: Send + 'static> Call<T> {
    /// Sends it, and waits for the output.
    ///
    /// # Errors
    ///
    /// Those of the call when it is awaited.
    ///
    /// # Panics
    ///
    /// In asynchronous code, which must await it instead.
    pub fn send_blocking(self) -> Result<T, Error> {
        runtime().block_on(self.into_future())
    }
}

impl<T: Send + 'static> WithResponse<T> {
    /// Sends it, and waits for the output and what comes along with it.
    ///
    /// # Errors
    ///
    /// Those of the call when it is awaited.
    ///
    /// # Panics
    ///
    /// In asynchronous code, which must await it instead.
    pub fn send_blocking(self) -> Result<Response<T>, Error> {
        runtime().block_on(self.into_future())
    }
}

impl<T: Listing> ListPages<T> {
    /// The pages for code that is not asynchronous. Asked for the next one in asynchronous code, it panics.
    pub fn iter_blocking(self) -> BlockingPages<T> {
        BlockingPages(self)
    }
}

/// All pages of a list, for code that is not asynchronous: [`ListPages::iter_blocking`].
#[derive(Debug)]
#[must_use = "nothing is fetched before the first page is asked for"]
pub struct BlockingPages<T: Listing>(ListPages<T>);

impl<T: Listing> Iterator for BlockingPages<T> {
    type Item = Result<Page<T>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        runtime().block_on(self.0.next())
    }
}

impl<T: Listing> ListAll<T> {
    /// The records for code that is not asynchronous. Asked for the next one in asynchronous code, it panics.
    pub fn iter_blocking(self) -> BlockingIter<T> {
        BlockingIter(self)
    }
}

/// All records of a list, for code that is not asynchronous: [`ListAll::iter_blocking`].
#[derive(Debug)]
#[must_use = "nothing is fetched before the first record is asked for"]
pub struct BlockingIter<T: Listing>(ListAll<T>);

impl<T: Listing> Iterator for BlockingIter<T> {
    type Item = Result<T::Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        runtime().block_on(self.0.next())
    }
}

// {{#events}}
impl<T: Feed> Follow<T> {
    /// The events for code that is not asynchronous. Asked for the next one in asynchronous code, it panics.
    pub fn iter_blocking(self) -> BlockingFollow<T> {
        BlockingFollow(self)
    }
}

/// The events of a feed, for code that is not asynchronous: [`Follow::iter_blocking`].
#[derive(Debug)]
#[must_use = "nothing is fetched before the first event is asked for"]
pub struct BlockingFollow<T: Feed>(Follow<T>);

impl<T: Feed> BlockingFollow<T> {
    /// From where to go on after a restart: [`Follow::cursor`].
    pub fn cursor(&self) -> Option<&str> {
        self.0.cursor()
    }
}

impl<T: Feed> Iterator for BlockingFollow<T> {
    type Item = Result<T::Event, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        runtime().block_on(self.0.next())
    }
}
// {{/events}}

use std::{fmt, time::Duration};

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

/// What can be set for one call, and most of it for all calls of a client.
#[derive(Clone, Default)]
pub(crate) struct Options {
    pub(crate) timeout: Option<Duration>,
    pub(crate) connect_timeout: Option<Duration>,
    pub(crate) max_retries: Option<u32>,
    pub(crate) headers: HeaderMap,
    pub(crate) idempotency_key: Option<String>,
    /// What is wrong with one of them; told when the call is sent.
    pub(crate) fault: Option<String>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("timeout", &self.timeout)
            .field("connect_timeout", &self.connect_timeout)
            .field("max_retries", &self.max_retries)
            // Values may be secrets.
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("idempotency_key", &self.idempotency_key)
            .finish_non_exhaustive()
    }
}

impl Options {
    pub(crate) fn timeout(&mut self, timeout: Duration) {
        self.timeout = self.positive("timeout", timeout);
    }

    pub(crate) fn connect_timeout(&mut self, timeout: Duration) {
        self.connect_timeout = self.positive("connect timeout", timeout);
    }

    pub(crate) fn max_retries(&mut self, retries: u32) {
        self.max_retries = Some(retries);
    }

    pub(crate) fn idempotency_key(&mut self, key: String) {
        self.idempotency_key = Some(key);
    }

    pub(crate) fn header(&mut self, name: &str, value: &str) {
        match (HeaderName::try_from(name), HeaderValue::from_str(value)) {
            (Ok(name), Ok(mut value)) => {
                value.set_sensitive(name == AUTHORIZATION);
                self.headers.insert(name, value);
            }
            (Ok(name), Err(_)) => {
                self.fault = Some(format!("the value of {name} has characters that no header can hold"))
            }
            (Err(_), _) => self.fault = Some(format!("{name:?} is no name of a header")),
        }
    }

    fn positive(&mut self, name: &str, duration: Duration) -> Option<Duration> {
        if duration.is_zero() {
            self.fault = Some(format!("the {name} must be more than 0"));
        }
        Some(duration)
    }
}

/// The methods that set options, for a builder whose options are at the given place.
macro_rules! option_methods {
    ($($place:ident).+) => {
        /// How long each attempt may take, from connecting to the end of the reply; 30 s unless set.
        pub fn timeout(mut self, timeout: std::time::Duration) -> Self {
            self.$($place).+.timeout(timeout);
            self
        }

        /// How long each attempt may take to connect, TLS included; 5 s unless set.
        pub fn connect_timeout(mut self, timeout: std::time::Duration) -> Self {
            self.$($place).+.connect_timeout(timeout);
            self
        }

        /// How often a failed attempt is repeated; 2 unless set, 0 for never.
        pub fn max_retries(mut self, retries: u32) -> Self {
            self.$($place).+.max_retries(retries);
            self
        }

        /// A header to send along. It wins over what the SDK would send by that name.
        pub fn header(mut self, name: &str, value: &str) -> Self {
            self.$($place).+.header(name, value);
            self
        }
    };
}
pub(crate) use option_methods;

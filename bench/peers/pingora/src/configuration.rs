//! The configuration file: a word and its value on each line. `origin` and `host` may come several times.
use std::fs;

#[derive(Default)]
pub struct Configuration {
    pub http: String,
    pub https: String,
    pub certificate: String,
    pub key: String,
    pub origins: Vec<String>,
    pub hosts: Vec<String>,
    /// Connections to the origins that may wait for their next request.
    pub kept: usize,
    pub log: Option<String>,
}

impl Configuration {
    pub fn read(file: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let mut configuration = Self::default();
        for line in fs::read_to_string(file)?.lines() {
            let Some((word, value)) = line.trim().split_once(' ') else { continue };
            let value = value.trim().to_string();
            match word {
                "http" => configuration.http = value,
                "https" => configuration.https = value,
                "certificate" => configuration.certificate = value,
                "key" => configuration.key = value,
                "origin" => configuration.origins.push(value),
                "host" => configuration.hosts.push(value),
                "kept" => configuration.kept = value.parse()?,
                "log" => configuration.log = Some(value),
                "#" => {}
                _ => return Err(format!("unknown word {word}").into()),
            }
        }
        Ok(configuration)
    }
}

//! From a server to the authorization server that it trusts: RFC 9728, then RFC 8414 and OpenID Connect Discovery.

use hyper::Uri;
use serde::Deserialize;

use super::challenge::Challenge;
use super::fetch::{self, address};
use super::{LoginError, TELL};
use crate::child::http::address::origin;
use crate::child::http::client::{Client, shortened};

/// What a server is towards authorization servers.
#[derive(Debug)]
pub(super) struct Resource {
    /// Its name (RFC 8707).
    pub(super) name: String,
    /// The authorization server.
    pub(super) issuer: String,
    /// What there is to ask for.
    pub(super) scopes: Vec<String>,
}

/// What an authorization server says about itself. Its endpoints may be used.
#[derive(Debug, Deserialize)]
pub(super) struct Authority {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    pub(super) registration_endpoint: Option<String>,
    #[serde(default)]
    pub(super) scopes_supported: Vec<String>,
    #[serde(default)]
    pub(super) code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    pub(super) token_endpoint_auth_methods_supported: Vec<String>,
    /// RFC 9207, 3.
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
    /// Where it takes tokens back (RFC 7009).
    pub(super) revocation_endpoint: Option<String>,
    /// It reads the document at an `https` address that is a client's id (Client ID Metadata Document, 5).
    #[serde(default)]
    pub(super) client_id_metadata_document_supported: bool,
}

/// Finds out what the server at `url`, which gave `challenge`, is; `None` if nothing says so.
pub(super) async fn resource(
    client: &Client,
    url: &Uri,
    challenge: &Challenge,
) -> Result<Option<Resource>, LoginError> {
    #[derive(Deserialize)]
    struct Document {
        resource: String,
        #[serde(default)]
        authorization_servers: Vec<String>,
        #[serde(default)]
        scopes_supported: Vec<String>,
    }
    const WHOSE: &str = "the server's description as a protected resource";
    let places = match &challenge.resource_metadata {
        Some(place) => vec![address(place, WHOSE)?],
        None => well_known(url, "oauth-protected-resource", WHOSE)?,
    };
    let is_told = challenge.resource_metadata.is_some();
    for place in places {
        let answer = fetch::get(client, &place).await?;
        if !answer.status.is_success() {
            if is_told {
                let what = format!("{WHOSE} cannot be had at {place} ({})", answer.told());
                return Err(LoginError::new(what, TELL));
            }
            continue;
        }
        let document: Document = answer.json(WHOSE)?;
        if !covers(&document.resource, url) {
            let shown = shortened(document.resource.as_bytes());
            let what = format!("{WHOSE} is of another one: `{shown}` in place of `{url}`");
            return Err(LoginError::new(what, "check its `url`"));
        }
        let issuer = document.authorization_servers.into_iter().next();
        let issuer = issuer.ok_or_else(|| LoginError::new(format!("{WHOSE} names no authorization server"), TELL))?;
        return Ok(Some(Resource { name: document.resource, issuer, scopes: document.scopes_supported }));
    }
    Ok(None)
}

impl Resource {
    /// A server that nothing describes: before revision 2025-06-18 each was its own authorization server.
    pub(super) fn of_old(url: &Uri) -> Resource {
        Resource { name: url.to_string(), issuer: origin(url).to_string(), scopes: Vec::new() }
    }
}

/// Asks the authorization server `issuer` about itself.
pub(super) async fn authority(client: &Client, issuer: &str) -> Result<Authority, LoginError> {
    const WHOSE: &str = "the authorization server";
    let base = address(issuer, WHOSE)?;
    let mut places = well_known(&base, "oauth-authorization-server", WHOSE)?;
    places.truncate(1);
    places.extend(well_known(&base, "openid-configuration", WHOSE)?.into_iter().take(1));
    let path = base.path().trim_end_matches('/');
    if !path.is_empty() {
        places.push(address(&format!("{}{path}/.well-known/openid-configuration", origin(&base)), WHOSE)?);
    }
    for place in places {
        let answer = fetch::get(client, &place).await?;
        if !answer.status.is_success() {
            continue;
        }
        let authority: Authority = answer.json("what the authorization server says about itself")?;
        // RFC 8414, 3.3. The slash of an empty path is none.
        if authority.issuer.trim_end_matches('/') != issuer.trim_end_matches('/') {
            let said = shortened(authority.issuer.as_bytes());
            let what =
                format!("{WHOSE} at `{issuer}` calls itself `{said}`, so that one of the two is not who it seems");
            return Err(LoginError::new(what, TELL));
        }
        if !authority.code_challenge_methods_supported.iter().any(|method| method == "S256") {
            let what = format!("{WHOSE} {issuer} does not say that it protects codes (PKCE with `S256`)");
            return Err(LoginError::new(what, TELL));
        }
        address(&authority.authorization_endpoint, "its authorization endpoint")?;
        address(&authority.token_endpoint, "its token endpoint")?;
        return Ok(authority);
    }
    Err(LoginError::new(format!("{WHOSE} {issuer} says nothing about itself"), TELL))
}

/// Where the document `name` about `url` may be: with its path behind the well-known one (RFC 8414, 3.1), and without.
fn well_known(url: &Uri, name: &str, whose: &str) -> Result<Vec<Uri>, LoginError> {
    let path = url.path().trim_end_matches('/');
    let mut paths = vec![path];
    if !path.is_empty() {
        paths.push("");
    }
    let place = |path: &str| address(&format!("{}/.well-known/{name}{path}", origin(url)), whose);
    paths.into_iter().map(place).collect()
}

/// Whether `resource` names the server at `url`, or a part of its host that it belongs to.
fn covers(resource: &str, url: &Uri) -> bool {
    let Ok(resource) = crate::child::http::address::parse(resource) else { return false };
    let path = resource.path().trim_end_matches('/');
    let is_below = url.path().strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    origin(&resource) == origin(url) && is_below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_documents_may_be() {
        for (url, expected) in [
            ("https://a.example/", &["https://a.example/.well-known/x"][..]),
            (
                "https://a.example:8/b/c/?d",
                &["https://a.example:8/.well-known/x/b/c", "https://a.example:8/.well-known/x"],
            ),
        ] {
            let found = well_known(&url.parse().expect("a URL"), "x", "it").expect("places");
            assert_eq!(found.iter().map(Uri::to_string).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn what_a_resource_covers() {
        let url = "https://a.example/b/mcp".parse().expect("a URL");
        for (resource, expected) in [
            ("https://a.example/b/mcp", true),
            ("https://A.example:443/b/", true),
            ("https://a.example", true),
            ("https://a.example/b/m", false),
            ("https://a.example/c", false),
            ("https://b.example/b/mcp", false),
            ("http://a.example/b/mcp", false),
            ("b", false),
        ] {
            assert_eq!(covers(resource, &url), expected, "{resource}");
        }
    }
}

"""An imitation of MediaWiki's Action API as Wikipedia runs it: the part that looking up an article needs.

Facts: https://www.mediawiki.org/wiki/API:Query, API:Search, API:Etiquette, Extension:TextExtracts,
Manual:Maxlag_parameter, and https://www.mediawiki.org/wiki/API:JSON_version_2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from turnkeeper.testing.services import Answer, Asked, Service

__all__ = ("Encyclopedia",)

_PARAMETERS = frozenset(
    {
        *("action", "format", "formatversion", "maxlag", "titles", "pageids", "redirects", "prop"),
        *(
            "explaintext",
            "exsectionformat",
            "exintro",
            "exlimit",
            "converttitles",
            "inprop",
            "ppprop",
            "plnamespace",
            "pllimit",
        ),
        *("generator", "gsrsearch", "gsrlimit", "gsrnamespace"),
    }
)
_INVALID = re.compile(r"[<>\[\]{}#\x00-\x1f\x7f\ufffd]")
_PATH = re.compile(r"(?:/(?P<language>[a-z-]+))?/w/api\.php")


@dataclass(slots=True)
class _Edition:
    articles: dict[str, str] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    meanings: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def titles(self) -> list[str]:
        return [*self.articles, *self.meanings]

    def id_of(self, title: str) -> int:
        return 1000 + self.titles.index(title)

    def title_of(self, page_id: str) -> str | None:
        number = int(page_id) - 1000 if page_id.isdigit() else -1
        return self.titles[number] if 0 <= number < len(self.titles) else None


class Encyclopedia(Service):
    """Wikipedia for tests: `Encyclopedia({"Ada Lovelace": "Ada Lovelace was …"})`.

    `articles` are plain texts by title, with headings as `== Life ==`; `redirects` lead from one title to another;
    `meanings` are disambiguation pages, each with the titles that it links. `edition("de", …)` adds those of another
    language. At `transport()`, the edition is the first part of the host (`de.wikipedia.org`); at `listen()`, the
    first of the path: `f"{url}/{{language}}/w/api.php"` is the address then.
    """

    def __init__(
        self,
        articles: Mapping[str, str],
        *,
        redirects: Mapping[str, str] | None = None,
        meanings: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        super().__init__()
        self._editions: dict[str, _Edition] = {}
        self.edition("en", articles, redirects=redirects, meanings=meanings)

    def edition(
        self,
        language: str,
        articles: Mapping[str, str],
        *,
        redirects: Mapping[str, str] | None = None,
        meanings: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Add the edition of a language."""
        listed = {title: tuple(links) for title, links in (meanings or {}).items()}
        self._editions[language] = _Edition(dict(articles), dict(redirects or {}), listed)

    def answer(self, asked: Asked) -> Answer:
        """One request of the API."""
        at = _PATH.fullmatch(asked.path)
        if at is None or asked.method != "GET":
            return self._refused(404, f"{asked.method} {asked.path} is not the API")
        language = at["language"] or asked.host.split(".")[0]
        edition = self._editions.get(language)
        if edition is None:
            return Answer(status=404, body=b"No wiki found")
        agent = asked.headers.get("user-agent", "")
        if not re.match(r"\S+/\S+ \(.+\)", agent):
            return self._refused(403, f"the User-Agent {agent!r} does not say who asks")
        given = dict(asked.query)
        if len(given) != len(asked.query):
            return self._error("badparameter", "a parameter is given twice")
        unknown = sorted(set(given) - _PARAMETERS)
        if unknown:
            self.complaints.append(f"unrecognized parameters: {', '.join(unknown)}")
        if (given.get("action"), given.get("format"), given.get("formatversion")) != ("query", "json", "2"):
            return self._error("badvalue", "action=query, format=json and formatversion=2 are what is imitated here")
        if not given.get("maxlag", "").isdigit():
            self.complaints.append("no maxlag")
        return Answer(body=self._query(edition, language, given))

    def busy(self, seconds: int) -> Answer:
        """What a server says that lags behind, as a fault."""
        info = f"Waiting for 10.64.0.1: {seconds}.1 seconds lagged."
        return Answer(
            body={"error": {"code": "maxlag", "info": info, "lag": seconds + 0.1, "type": "db"}, "servedby": "mw1"},
            headers={"Retry-After": str(seconds), "MediaWiki-API-Error": "maxlag"},
        )

    def _refused(self, status: int, why: str) -> Answer:
        self.complaints.append(why)
        return Answer(status=status, body=why.encode())

    def _error(self, code: str, info: str) -> Answer:
        self.complaints.append(f"{code}: {info}")
        return Answer(body={"error": {"code": code, "info": info}}, headers={"MediaWiki-API-Error": code})

    def _query(self, edition: _Edition, language: str, given: dict[str, str]) -> dict[str, Any]:
        query: dict[str, Any] = {}
        pages: list[dict[str, Any]] = []
        if given.get("generator") == "search":
            limit = int(given.get("gsrlimit", "10"))
            found = _search(edition, given.get("gsrsearch", ""))[:limit]
            pages = [{**_page(edition, title), "index": index} for index, title in enumerate(found, start=1)]
        elif "pageids" in given:
            for one in given["pageids"].split("|"):
                title = edition.title_of(one)
                missing = {"pageid": int(one) if one.isdigit() else 0, "missing": True}
                pages.append(missing if title is None else _page(edition, title))
        else:
            for one in given.get("titles", "").split("|"):
                pages.append(_titled(edition, one, query, follow="redirects" in given))
        props = given.get("prop", "").split("|")
        if "extracts" in props and "exintro" not in given and len(pages) > 1:
            self.complaints.append("whole extracts are given of one page at a time")
        for page in pages:
            if "pageid" in page and "missing" not in page:
                _describe(edition, language, page, props, given)
        if pages:
            query["pages"] = pages
        return {"batchcomplete": True, **({"query": query} if query else {})}


def _page(edition: _Edition, title: str) -> dict[str, Any]:
    return {"pageid": edition.id_of(title), "ns": 0, "title": title}


def _titled(edition: _Edition, written: str, query: dict[str, Any], *, follow: bool) -> dict[str, Any]:
    """The page of a title: its first letter made a capital, and a redirect followed if that was asked for."""
    if not written.strip() or _INVALID.search(written):
        reason = f'The requested page title contains invalid characters: "{written[:1]}".'
        return {"title": written, "invalidreason": reason, "invalid": True}
    plain = " ".join(written.replace("_", " ").split())
    title = plain[:1].upper() + plain[1:]
    if title != written:
        query.setdefault("normalized", []).append({"fromencoded": False, "from": written, "to": title})
    target = edition.redirects.get(title)
    if target is not None and follow:
        query.setdefault("redirects", []).append({"from": title, "to": target})
        title = target
    return _page(edition, title) if title in edition.titles else {"ns": 0, "title": title, "missing": True}


def _describe(
    edition: _Edition, language: str, page: dict[str, Any], props: Sequence[str], given: Mapping[str, str]
) -> None:
    title = page["title"]
    links = edition.meanings.get(title)
    text = edition.articles.get(title, f"{title} may refer to:")
    if "extracts" in props:
        headed = text if given.get("exsectionformat") == "wiki" else re.sub(r"={2,} ?(.+?) ?={2,}", r"\1", text)
        page["extract"] = headed if "explaintext" in given else f"<p>{headed}</p>"
    if "pageprops" in props and links is not None:
        page["pageprops"] = {"disambiguation": ""}
    if "info" in props and given.get("inprop") == "url":
        url = f"https://{language}.wikipedia.org/wiki/{quote(title.replace(' ', '_'))}"
        page |= {"fullurl": url, "canonicalurl": url}
    if "links" in props:
        page["links"] = [{"ns": 0, "title": link} for link in (links or ())[: int(given.get("pllimit", "10"))]]


def _search(edition: _Edition, words: str) -> list[str]:
    """Titles whose page has every word of the search, those that have them in their title first."""
    wanted = re.findall(r"\w+", words.casefold())
    ranked: list[tuple[int, int, str]] = []
    for title in edition.titles:
        inside = set(re.findall(r"\w+", f"{title} {edition.articles.get(title, '')}".casefold()))
        named = set(re.findall(r"\w+", title.casefold()))
        if wanted and set(wanted) <= inside:
            ranked.append((-len(named & set(wanted)), len(ranked), title))
    return [title for _, _, title in sorted(ranked)]

"""News of three desks, searched with filters on metadata, ranked by a cross-encoder, and shown in a page."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from browsing.browser import open_browser
from browsing.web_chat import served_page, web_chat
from corpora.news import DESKS, TOWNS, YEARS, Report, write_news
from model_servers.tiny_cross_encoder import write_tiny_cross_encoder
from served.project import Asker, Project

pytestmark = [pytest.mark.network, pytest.mark.halved]
QUESTION = "How many houses were flooded in Millbrook?"


@dataclass(frozen=True)
class News:
    """The reports, a client of the server that searches them, and the address of the example page."""

    reports: list[Report]
    asker: Asker
    origin: str

    def report(self, desk: str, town: str, year: int) -> Report:
        """The report of a desk, town and year."""
        [found] = [it for it in self.reports if (it.desk, it.town, it.year) == (desk, town, year)]
        return found


@pytest.fixture(scope="module")
def news(new_project: Callable[..., Project], tmp_path_factory: pytest.TempPathFactory) -> Iterator[News]:
    folder = tmp_path_factory.mktemp("news")
    reports = write_news(folder / "news")
    model = write_tiny_cross_encoder(folder / "scorer", [*DESKS.values(), *TOWNS])
    project = new_project(folder)
    careful = f"query: {{reranker_strategy: cross-encoder, reranker_model: {model}, rerank_weight: 1.0}}\n"
    jobs = {
        f"config/ingest/{desk}.yaml": f"collection: {desk}\npaths: [news/{desk}]\nmetadata: {{desk: {desk}}}\n"
        for desk in DESKS
    }
    project.write({"config/profiles/careful.yaml": careful, **jobs})
    for desk in DESKS:
        project.run("ingest", "--job", desk, "--json")
    with served_page() as origin, project.served(cors_origins=f'["{origin}"]') as asker:
        yield News(reports, asker, origin)


@pytest.mark.parametrize("year", YEARS)
def test_a_filter_on_the_year_distinguishes_similar_reports(year: int, news: News) -> None:
    answer = news.asker.ask(QUESTION, where=[f"year={year}"])
    wanted = news.report("weather", "Millbrook", year)
    assert str(wanted.figure) in answer["answer"]
    assert answer["citations"][0]["source"].endswith(wanted.name)
    assert {context["metadata"]["year"] for context in answer["chunks"]} == {year}


def test_a_filter_on_metadata_set_by_a_job_selects_the_articles_of_one_news_desk(news: News) -> None:
    found = news.asker.search("What happened in Quillhaven?", where=["desk=sport", "year>=2021"])
    assert found
    assert {chunk["metadata"]["desk"] for chunk in found} == {"sport"}
    assert {chunk["metadata"]["year"] for chunk in found} <= {2021, 2023}
    assert {chunk["collection"] for chunk in found} == {"sport"}


def test_a_filter_with_an_unknown_value_is_refused_with_the_known_values(news: News) -> None:
    answer = news.asker.server.client.post("/v1/search", json={"question": QUESTION, "where": ["dask=sport"]})
    assert answer.status_code in {400, 422}
    assert "desk" in answer.text


def test_the_cross_encoder_ranks_the_candidates_that_a_filter_allows(news: News) -> None:
    where = ["desk=council", "year=2023"]
    usual = news.asker.search("lime trees", where=where)
    careful = news.asker.search("lime trees", where=where, profile="careful")
    assert {it["node_id"] for it in usual} == {it["node_id"] for it in careful}
    assert [it["node_id"] for it in usual] != [it["node_id"] for it in careful]
    scores = [it["score"] for it in careful]
    assert scores == sorted(scores, reverse=True)
    again = news.asker.search("lime trees", where=where, profile="careful")
    assert [it["node_id"] for it in again] == [it["node_id"] for it in careful]


def test_the_web_page_sends_filters_and_a_profile(news: News) -> None:
    wanted = news.report("weather", "Millbrook", 2021)
    with open_browser() as browser, web_chat(browser, news.origin, news.asker.server.address) as chat:
        chat.page.locator("#collections input").first.wait_for(state="attached")
        chat.page.click("#connection summary")
        chat.page.get_by_label("weather", exact=True).check()
        chat.page.fill("#where", "year=2021; desk=weather")
        chat.page.fill("#profile", "careful")
        assert str(wanted.figure) in chat.ask(QUESTION)
        card = chat.page.locator(".turn .card.cited").first
        assert wanted.name in card.locator(".where").inner_text()
        assert str(wanted.figure) in card.locator("mark").first.inner_text()
        chat.page.fill("#where", "dask=weather")
        chat.begin(QUESTION)
        chat.page.locator("#trouble:not([hidden])").wait_for()
        assert "desk" in chat.page.locator("#trouble").inner_text()
        assert chat.elsewhere == []

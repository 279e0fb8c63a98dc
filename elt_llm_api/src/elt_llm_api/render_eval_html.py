"""The report of `elt-llm eval --html`: one file that loads nothing, for light and dark screens of any width."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from elt_llm_api.render import counted, plain
from elt_llm_api.render_eval import CERTAIN, COLUMNS, note_lines, verdict
from elt_llm_api.svg_plots import Bar, Interval, bars, intervals, stacks

if TYPE_CHECKING:
    from elt_llm_query.evaluate.reports import AskedResult, ProfileReport
    from elt_llm_query.evaluate.significance import Comparison

    from elt_llm_api.evaluation import Evaluated

PLOTTED = ("ndcg@10", "recall@10", "mrr@10", "hit@10")
HARDEST = 25
STEPS = ((1, "first"), (3, "2 to 3"), (10, "4 to 10"), (100, "11 to 100"))
_STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#5b6570;--page:#fff;--line:#d5dae0;--bar:#2563a8;--bad:#b3261e;
--s0:#1a4f8b;--s1:#3f7fc1;--s2:#7fb0de;--s3:#bdd6ee;--s4:#c9ccd1}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ed;--soft:#a3adb8;--page:#14181d;--line:#343c46;--bar:#6aa9ea;
--bad:#ff8a80;--s0:#8fc4ff;--s1:#5a97d6;--s2:#38689c;--s3:#264567;--s4:#4a4f57}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:62rem;background:var(--page);color:var(--ink);
font:1rem/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}h3{font-size:.95rem;margin:0 0 .25rem}
p{margin:.25rem 0;color:var(--soft)}
.bad{color:var(--bad);font-weight:600}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;min-width:100%}
th,td{padding:.3rem .6rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th:first-child,td:first-child{text-align:left}
td.words{white-space:normal;min-width:14rem;overflow-wrap:anywhere}
.plots{display:grid;margin-top:1.25rem;
grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));gap:1.25rem 2rem}
svg{width:100%;max-width:34rem;height:auto;display:block}
svg text{font-size:12px;fill:var(--ink)}
.bar{fill:var(--bar)}.track{fill:var(--line);opacity:.45}.mark{fill:var(--ink)}
polyline{fill:none;stroke-width:2;stroke:var(--bar)}.line1{stroke:var(--bad)}
.key i.line0{background:var(--bar)}.key i.line1{background:var(--bad)}
.step0{fill:var(--s0)}.step1{fill:var(--s1)}.step2{fill:var(--s2)}.step3{fill:var(--s3)}.step4{fill:var(--s4)}
.key i{display:inline-block;width:.8em;height:.8em;margin:0 .3em 0 .8em}
.key i.step0{background:var(--s0)}.key i.step1{background:var(--s1)}.key i.step2{background:var(--s2)}
.key i.step3{background:var(--s3)}.key i.step4{background:var(--s4)}
"""


def html_report(evaluated: "Evaluated") -> str:
    """The whole page."""
    reports = evaluated.reports
    told = f"{counted(reports[0].queries, 'question')}, {counted(len(reports), 'profile')}."
    return html_page(f"How {reports[0].dataset} is searched", told, _sections(evaluated))


def html_page(title: str, told: str, sections: Iterable[str]) -> str:
    """A page that loads nothing; `told` is one sentence of text, the sections are HTML."""
    body, title = "\n".join(sections), _safe(title)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{title}</h1><p>{_safe(told)}</p>\n"
        f"{body}\n</body></html>\n"
    )


def _sections(evaluated: "Evaluated") -> Iterator[str]:
    reports = evaluated.reports
    for sentence in evaluated.failed:
        yield f'<p class="bad">{_safe(sentence)}</p>'
    yield "<h2>Figures</h2>" + _figures(reports)
    yield '<div class="plots">' + "".join(_plot(figure, reports) for figure in PLOTTED) + _times(reports) + "</div>"
    yield "<h2>Where the first right place stands</h2>" + _places(reports)
    if evaluated.compared:
        yield _compared(evaluated.compared)
    yield _hardest(reports)
    notes = [f"<p>{_safe(line)}</p>" for line in note_lines(reports)]
    if notes:
        yield "<h2>Notes</h2>" + "".join(notes)


def _figures(reports: "Sequence[ProfileReport]") -> str:
    best = {figure: max(report.figures[figure] for report in reports) for figure in COLUMNS}
    rows = []
    for report in reports:
        cells = [_safe(report.profile)]
        for figure in COLUMNS:
            shown = f"{report.figures[figure]:.4f}"
            cells.append(f"<strong>{shown}</strong>" if report.figures[figure] == best[figure] else shown)
        rows.append([*cells, f"{report.latency_p50_ms:.1f}", f"{report.latency_p95_ms:.1f}"])
    return table(["profile", *COLUMNS.values(), "p50 ms", "p95 ms"], rows)


def _plot(figure: str, reports: "Sequence[ProfileReport]") -> str:
    rows = [Bar(plain(one.profile), one.figures[figure], f"{one.figures[figure]:.4f}") for one in reports]
    return f"<div><h3>{COLUMNS[figure]}</h3>{bars(COLUMNS[figure], rows)}</div>"


def _times(reports: "Sequence[ProfileReport]") -> str:
    longest = max(report.latency_p95_ms for report in reports) or 1.0
    rows = [
        Bar(
            plain(one.profile), one.latency_p50_ms / longest, f"{one.latency_p50_ms:.0f} ms",
            one.latency_p95_ms / longest,
        )
        for one in reports
    ]  # fmt: skip
    title = "Time of half the questions; the line: of 95 in 100"
    return f"<div><h3>{title}</h3>{bars(title, rows)}</div>"


def _places(reports: "Sequence[ProfileReport]") -> str:
    names = [*(name for _, name in STEPS), "not found"]
    key = "".join(f'<i class="step{number}"></i>{name}' for number, name in enumerate(names))
    rows = [(plain(report.profile), _shares(report)) for report in reports]
    return f'<p class="key">{key}</p>{stacks("Where the first right place stands", rows)}'


def _shares(report: "ProfileReport") -> list[float]:
    """For each step the share of the questions whose first right place stands there, what is not found last."""
    counts = [0] * (len(STEPS) + 1)
    for result in report.results:
        rank = _first(result)
        counts[next((number for number, (last, _) in enumerate(STEPS) if rank is not None and rank <= last), -1)] += 1
    return [count / len(report.results) for count in counts]


def _compared(compared: "Comparison") -> str:
    widest = max((max(abs(one.low), abs(one.high)) for one in compared.differences), default=0.0) * 1.1 or 1.0
    rows = [
        Interval(COLUMNS[one.figure], one.mean / widest, one.low / widest, one.high / widest, f"{one.mean:+.4f}")
        for one in compared.differences
    ]
    title = f"{compared.second} less {compared.first}"
    cells = [
        [
            COLUMNS[one.figure], f"{one.mean:+.4f}", f"{one.low:+.4f} to {one.high:+.4f}", f"{one.p_value:.4f}",
            str(one.better), str(one.worse), verdict(one.p_value),
        ]
        for one in compared.differences
    ]  # fmt: skip
    header = ["figure", "difference", "95 % interval", "p", "better", "worse", ""]
    return (
        f"<h2>{_safe(title)}</h2>{intervals(plain(title), rows)}{table(header, cells)}"
        f"<p>p under {CERTAIN:g} is called a real difference: profiles that are alike would seldom differ so much.</p>"
    )


def _hardest(reports: "Sequence[ProfileReport]") -> str:
    """The questions that the profiles together answer worst, with the rank of the first right place."""
    results = list(zip(*(report.results for report in reports), strict=True))
    missed = [row for row in results if any(_first(result) != 1 for result in row)]
    missed.sort(key=lambda row: sum(result.figures["ndcg@10"] for result in row))
    if not missed:
        return "<h2>Hardest questions</h2><p>Every profile has a right place first for every question.</p>"
    rows = [[_safe(row[0].question), *(str(_first(result) or "-") for result in row)] for row in missed[:HARDEST]]
    header = ["question", *(_safe(report.profile) for report in reports)]
    told = "Rank of the first right place; - where it was not found."
    return f"<h2>Hardest questions</h2><p>{told}</p>{table(header, rows, words=True)}"


def _first(result: "AskedResult") -> int | None:
    return min((rank for rank in result.relevant.values() if rank is not None), default=None)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, words: bool = False) -> str:
    """A table that scrolls by itself where it is wider than the screen; cells are HTML already."""
    head = "".join(f'<th scope="col">{cell}</th>' for cell in header)
    first = '<td class="words">' if words else "<td>"
    body = "".join(f"<tr>{first}{row[0]}</td>{''.join(f'<td>{cell}</td>' for cell in row[1:])}</tr>" for row in rows)
    return f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _safe(text: str) -> str:
    return escape(plain(text))

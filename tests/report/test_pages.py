"""Reports as HTML files, in a real browser: what people see, find, press and link to."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import re
import shutil
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet
import pytest

from logicgen.data.data_recipe import DataRecipe
from logicgen.data.dataset import load_dataset
from logicgen.errors import LogicgenError
from logicgen.evaluate.predictions import SCHEMA, About, described
from logicgen.report.comparison import compare
from logicgen.report.evaluation import write_report
from logicgen.report.evaluation_files import read_predictions, write_predictions
from logicgen.report.html.comparison_page import write_comparison_page
from logicgen.report.html.dataset_page import dataset_document, write_dataset_page
from logicgen.report.html.document import rendered
from logicgen.report.html.evaluation_page import evaluation_document, write_evaluation_page
from logicgen.report.html.example_rows import explanations
from logicgen.solvers import Verdict
from logicgen.tasks import load_task
from tests.data.data_sets import make
from tests.report.live_reports import FOLDER, renewed


def evaluated(folder, task, triples, **about):
    """An evaluation of (problem, stored answer, prediction), with verdicts of the solver."""
    task = load_task(task)
    columns = {name: [] for name in SCHEMA.names}
    for row, (problem, answer, prediction) in enumerate(triples):
        problem = task.encode(task.read_problem(problem))
        symbols = len({*problem.split()} & set("abcdefghij"))
        values = dict.fromkeys(SCHEMA.names) | {
            "row": row,
            "embedding_seed": 0,
            "symbols": symbols,
            "length": len(problem.split()),
            "problem": problem,
            "answer": answer,
            "prediction": prediction,
            "verdict": str(task.verdict(problem, prediction, answer)),
        }
        for name, value in values.items():
            columns[name].append(value)
    said = {"model": "a model", "data": "some data", "split": "grid", **about}
    known = About(task=task.name, symbols=(1, 2), length=(1, 6), **said)
    folder.mkdir(parents=True, exist_ok=True)
    write_predictions(described(columns, SCHEMA, known), folder)
    return folder


def prefix(task, text):
    task = load_task(task)
    return task.encode(task.read_answer(text))


def traces(*examples):
    return [(p, prefix("ltl", answer), prefix("ltl", guess)) for p, answer, guess in examples]


LTL_TRIPLES = traces(
    ("a U (b & X !b)", "b ; {!b}", "b ; {1}"),
    ("F a & G (b -> X c)", "{a & !b}", "{a & !b}"),
    ("G F a & F G b", "{a & b}", "{a}"),
    ("a & X a", "a ; a ; {1}", "{a}"),
    ("G (a | X b) & F c", "{a & c}", "{a}"),
    ("X X c & a", "a ; 1 ; c ; {1}", "a ; 1 ; {!c}"),
)
ASSIGNMENTS = [
    (p, prefix("propositional", a), prefix("propositional", g))
    for p, a, g in [
        ("(a | b) & (c ^ d)", "a=1, c=1, d=0", "a=1, c=1"),
        ("a & b | c", "c=1", "a=1, b=1"),
        ("a", "a=1", "a=0"),
    ]
]
STRINGS = {
    "copying": [("a b c d", "a b c d", "a c c d"), ("a b", "a b", "a b b")],
    "lookup": [("a -> b c -> d a -> b c a ->", "d b", "d d")],
    "permutation": [("a b c > c a ; d e f >", "f d", "f d")],
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """One report of each kind."""
    top = tmp_path_factory.mktemp("reports")
    found = {}
    for task, triples in {"ltl": LTL_TRIPLES, "propositional": ASSIGNMENTS, **STRINGS}.items():
        write_report(evaluated(top / task, task, triples))
        found[task] = top / task / "report.html"
    other = [(p, a, a) if i % 2 else (p, a, g) for i, (p, a, g) in enumerate(LTL_TRIPLES)]
    evaluated(top / "other", "ltl", other, model="another model")
    compare([top / "ltl", top / "other"], top / "compared")
    found["comparison"] = top / "compared" / "report.html"
    make(top / "data")
    found["data set"] = write_dataset_page(load_dataset(top / "data"), top / "data.html")
    return found


KINDS = ["ltl", "propositional", *STRINGS, "comparison", "data set"]


def keys(page):
    return page.eval_on_selector_all(
        "#table tbody tr td:first-child", "cells => cells.map(cell => cell.textContent)"
    )


# -- every kind -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_opens_from_disk_and_can_be_used_by_all(reports, visit, kind):
    from axe_playwright_python.sync_playwright import Axe

    page = visit(reports[kind])
    page.click("#table tbody tr")
    assert page.inner_text("#example h3").startswith("Example ")
    for theme in ("light", "dark"):
        if page.get_attribute("html", "data-theme") != theme:
            page.click("#theme")
        assert page.get_attribute("html", "data-theme") == theme
        found = Axe().run(page).response["violations"]
        assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []


def test_the_same_predictions_give_the_same_bytes(reports, tmp_path):
    again = write_evaluation_page(reports["ltl"].parent, tmp_path / "again.html", workers=2)
    assert again.read_bytes() == reports["ltl"].read_bytes()


# -- finding --------------------------------------------------------------------------------------


def test_a_cell_leads_to_its_examples_and_back(reports, visit):
    page = visit(reports["ltl"])
    everything = keys(page)
    assert everything == [str(row) for row in range(len(LTL_TRIPLES))]
    cell = page.locator('.map td button[data-place="2 7"]')
    said = cell.get_attribute("aria-label")
    assert said.startswith("2 symbols, length 7, 0.0% [0.0, 65.8], 2 examples: incorrect 2")
    cell.hover()
    assert "2 examples: incorrect 2" in page.inner_text("#tip")
    cell.click()
    assert keys(page) == ["0", "2"]
    assert page.url.endswith("#symbols=2&length=7")
    assert cell.get_attribute("aria-pressed") == "true"
    for step, there in ((page.go_back, len(everything)), (page.go_forward, 2)):
        step()
        page.locator(f"#found:has-text('{there} examples of')").wait_for()
    cell.click()  # once more takes the choice back
    assert keys(page) == everything


def test_numbers_of_symbols_lengths_verdicts_and_words_filter_together(reports, visit):
    page = visit(reports["ltl"])
    page.click(".map tbody th button >> text=3")
    assert keys(page) == ["1", "4"]
    page.click(".facet button:has-text('incorrect')")
    assert keys(page) == ["4"]
    assert page.inner_text("#found") == "1 example of 6"
    page.click("#clear")
    page.click(".map tfoot button >> text=5")
    assert keys(page) == ["5"]
    page.click("#clear")
    page.fill("#search", "falsifies Ga")
    assert keys(page) == []
    page.fill("#search", "which falsifies FGb")  # of a reason
    assert keys(page) == ["2"]
    assert "q=which+falsifies+FGb" in page.url
    page.click("#clear")
    page.click(".facet.choices button:text-matches('^U ')")
    assert keys(page) == ["0"]


def test_any_column_sorts(reports, visit):
    page = visit(reports["ltl"])
    page.click("#table th button:has-text('length')")
    of = {
        row: len(load_task("ltl").encode(load_task("ltl").read_problem(t[0])).split())
        for row, t in enumerate(LTL_TRIPLES)
    }
    lengths = [of[int(key)] for key in keys(page)]
    assert lengths == sorted(lengths)
    page.click("#table th button:has-text('length')")
    assert [of[int(key)] for key in keys(page)] == sorted(lengths, reverse=True)
    assert page.get_attribute("#table th[aria-sort]", "aria-sort") == "descending"


def test_a_link_leads_to_the_same_example(reports, visit):
    page = visit(reports["ltl"], "#verdict=incorrect&sort=-length")
    page.click("#table tbody tr:nth-child(2)")
    shown = page.inner_text("#example")
    page.click("#example button:has-text('Copy link')")
    link = page.evaluate("globalThis.copied")
    assert "example=" in link
    again = visit(reports["ltl"], "#" + link.partition("#")[2])
    assert again.inner_text("#example").replace("Copied", "Copy link") == shown
    assert keys(again) == keys(page)
    again.click("#example button:has-text('Next')")
    assert again.inner_text("#example h3") == f"Example {keys(again)[2]}"
    again.click("#example button:has-text('Close')")
    assert again.inner_text("#example") == ""


@pytest.mark.parametrize(
    "view",
    ["#example=99", "#symbols=x&length=-", "#sort=nothing&page=-4", "#%%%", "#examples", "#page=9"],
)
def test_a_link_that_means_nothing_does_no_harm(reports, visit, view):
    page = visit(reports["ltl"], view)
    assert len(keys(page)) == len(LTL_TRIPLES)


def test_the_keyboard_goes_through_the_map(reports, visit):
    page = visit(reports["ltl"])
    place = "document.activeElement.dataset.place"
    page.locator('.map td button[data-place="2 5"]').focus()
    page.keyboard.press("ArrowRight")  # over the gap at length 6
    assert page.evaluate(place) == "2 7"
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(place) == "2 5"
    page.keyboard.press("ArrowDown")
    assert page.evaluate(place) == "2 5"  # nothing is there
    page.keyboard.press("Enter")
    assert page.url.endswith("#symbols=2&length=5")
    assert page.locator('.map td button[tabindex="0"]').count() == 1


def test_numbers_are_copied_as_csv(reports, visit):
    page = visit(reports["ltl"], "#symbols=2&length=7")
    page.click("#csv")
    table = list(csv.DictReader(io.StringIO(page.evaluate("globalThis.copied"))))
    assert [row["key"] for row in table] == ["0", "2"]
    assert table[0]["problem"] == "a U (b & X!b)"
    assert table[0]["verdict"] == "incorrect"
    page.click("figure button:has-text('Copy as CSV')")
    cells = list(csv.DictReader(io.StringIO(page.evaluate("globalThis.copied"))))
    assert {(row["symbols"], row["length"]): float(row["share"]) for row in cells}["2", "7"] == 0


def test_the_keyboard_stays_where_it_is(reports, visit):
    page = visit(reports["ltl"])
    focused = "document.activeElement.dataset.key"
    for control, key in (
        (".facet.choices button:has-text('incorrect')", "verdict=incorrect"),
        ("#table th button:has-text('length')", "sort length"),
    ):
        page.focus(control)
        page.keyboard.press("Enter")
        assert page.evaluate(focused) == key
    page.click("#table tbody tr")
    page.focus("#example button:has-text('Next')")
    page.keyboard.press("Enter")
    assert page.evaluate(focused) == "Next"
    shown = page.inner_text("#example h3").removeprefix("Example ")
    page.click("#example button:has-text('Close')")
    assert page.evaluate(focused) == f"example {shown}"


def test_who_skips_the_maps_keeps_the_view(reports, visit):
    page = visit(reports["ltl"], "#verdict=incorrect")
    page.focus(".skip")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "examples"
    assert page.url.endswith("#verdict=incorrect")


def test_a_filter_that_nothing_passes_can_be_taken_back(reports, visit):
    page = visit(reports["ltl"], "#verdict=invalid&symbols=9")
    assert keys(page) == []
    pressed = page.locator(".facet button[aria-pressed=true]")
    assert pressed.all_inner_texts() == ["9", "invalid 0"]
    pressed.nth(1).click()
    pressed.first.click()
    assert len(keys(page)) == len(LTL_TRIPLES)
    entries = page.evaluate("history.length")
    page.click("#clear")
    assert page.evaluate("history.length") == entries


# -- what an example shows -------------------------------------------------------------------------


def test_a_wrong_trace_shows_the_word_that_falsifies(reports, visit):
    page = visit(reports["ltl"], "#example=2")
    assert "it allows" in page.inner_text("#example .reason")
    assert "falsifies the formula" in page.inner_text("#example .says >> nth=1")
    whole = page.locator(".timeline tr.whole td")
    assert whole.first.inner_text() == "0"
    tree = page.locator("#example svg g")
    assert tree.count() == 7
    assert tree.first.get_attribute("class") == "f"
    titles = [each.text_content() for each in tree.locator("title").all()]
    assert titles[0] == "(GF a) & (FG b): false" or titles[0].endswith(": false")


def test_the_tree_shows_the_position_that_is_pressed(reports, visit):
    page = visit(reports["ltl"], "#example=5")  # X X c & a, answered by a trace without c
    columns = page.locator(".timeline thead button").count()
    task = load_task("ltl")
    problem, _, guess = LTL_TRIPLES[5]
    parsed = task.read_problem(problem)
    found = task.explain(parsed, task.decode_answer(guess), Verdict.INCORRECT)
    assert columns == len(found.letters)
    for position in range(columns):
        page.locator(".timeline thead button").nth(position).click()
        shown = [each.get_attribute("class") for each in page.locator("#example svg g").all()]
        # The tree is drawn in another order than prefix notation: compare how many are true.
        assert shown.count("t") == sum(truth[position] == "1" for truth in found.truth)


def test_an_assignment_shows_values_and_what_is_left_open(reports, visit):
    page = visit(reports["propositional"], "#example=0")
    assert "true are: a, c, d" in page.inner_text("#example .drawings")
    page = visit(reports["propositional"], "#example=1")  # a=1, b=1 for a & b | c
    kinds = [each.get_attribute("class") for each in page.locator("#example svg g").all()]
    assert sorted(kinds) == ["", "t", "t", "t", "t"]
    page = visit(reports["propositional"], "#example=2")
    assert page.locator("#example svg g").first.get_attribute("class") == "f"


def test_strings_show_the_difference_and_what_decides(reports, visit):
    page = visit(reports["copying"], "#example=0")
    tokens = page.locator("#example dd.tokens >> nth=2").locator(".token")
    assert [t.get_attribute("class") for t in tokens.all()] == [
        "token same", "token other", "token same", "token same",
    ]  # fmt: skip
    page = visit(reports["lookup"], "#example=0")
    marked = "token => token.classList.contains('deciding')"
    problem = page.locator("#example dd.tokens").first.locator(".token")
    places = [i for i, token in enumerate(problem.all()) if token.evaluate(marked)]
    assert places == [0, 2, 6, 8, 10]  # of the second key, whose value is wrong
    page.locator("#example button.token").first.click()
    places = [i for i, token in enumerate(problem.all()) if token.evaluate(marked)]
    assert places == [3, 5, 9]


def test_a_comparison_says_who_is_right(reports, visit):
    page = visit(reports["comparison"])
    assert page.locator("figure").count() == 3  # two maps and their difference
    page.click(".facet.choices button:text-matches('^only another model')")
    assert keys(page) == ["5"]
    page.click("#table tbody tr")
    verdicts = page.locator("#example dl.answers .verdict").all_inner_texts()
    assert verdicts == ["incorrect", "exact"]


def test_a_data_set_is_found_by_split(reports, visit):
    page = visit(reports["data set"])
    page.click(".facet.choices button:text-matches('^grid ')")
    assert all(key.isdigit() for key in keys(page))
    assert page.locator("#table tbody tr td:nth-child(2)").first.inner_text() == "grid"
    held = "figure:has-text('test: examples') .map td button:not([aria-label*=', 0 examples'])"
    cell = page.locator(held).first
    cell.click()
    assert "split=test" in page.url
    assert page.locator("#table tbody tr td:nth-child(2)").first.inner_text() == "test"
    assert "SHA-256" in page.inner_text("main")


# -- what must not happen --------------------------------------------------------------------------

HOSTILE = [
    "<script>globalThis.hacked = 1</script>",
    "</script><img src=x onerror='globalThis.hacked = 2'>",
    "--><iframe src='javascript:parent.hacked = 3'></iframe>",
    "]]>{{ 7 * 7 }}{% raw %}",
    "abc\u202edcba\u2066",
    "\x1b[31mred\x07\x00",
    '=HYPERLINK("http://example.org")',
    "' onmouseover='globalThis.hacked = 4",
    "__proto__",
    "\ud800 lone",
]


def test_nothing_from_data_becomes_part_of_the_page(tmp_path, visit):
    name = "<b>model</b><script>globalThis.hacked = 5</script>\u202e"
    triples = [("a & b", "a=1", guess.encode("utf-8", "replace").decode()) for guess in HOSTILE]
    folder = evaluated(tmp_path / "hostile", "propositional", triples, model=name, data="</title>")
    path = write_evaluation_page(folder, tmp_path / "<i>.html")
    text = path.read_text()
    assert text.count("<script") == 2
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", text)
    page = visit(path)
    assert "<b>model</b>" in page.inner_text("h1")
    assert "\\u202e" in page.inner_text("h1")
    for key in keys(page):
        page.evaluate(f"location.hash = 'example={key}'")
        page.locator(f"#example h3:text-is('Example {key}')").wait_for()
    table = page.inner_text("#table")
    assert "<script>globalThis.hacked = 1</script>" in table
    assert "\\x1b[31mred\\x07\\x00" in table
    assert page.evaluate("typeof globalThis.hacked") == "undefined"
    assert page.locator("img, iframe, object, embed, form[action]").count() == 0
    page.click("#csv")
    copied = page.evaluate("globalThis.copied")
    assert "'=HYPERLINK" in copied


def test_no_page_holds_characters_that_command_a_screen(reports, tmp_path):
    for name in ("one\u202eeno", "two \udcff"):
        triples = [("a & b", "a=1", guess.encode("utf-8", "replace").decode()) for guess in HOSTILE]
        evaluated(tmp_path / name.encode("ascii", "replace").decode(), "propositional", triples)
    folders = sorted(path for path in tmp_path.iterdir())
    runs = [
        (name, *read_predictions(folder))
        for name, folder in zip(("one\u202eeno", "two \udcff"), folders, strict=True)
    ]
    write_comparison_page(runs, tmp_path)
    for path in (*reports.values(), tmp_path / "report.html"):
        text = json.dumps(held_by(path), ensure_ascii=False)
        assert not re.search("[\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\x7f-\x9f]", text)
        assert not re.search(r"\\u00[01](?!a|9)", text)


def test_the_page_allows_no_network(reports):
    for path in reports.values():
        text = path.read_text()
        (policy,) = re.findall('Content-Security-Policy" content="([^"]*)"', text)
        assert policy.startswith("default-src 'none'; script-src 'sha256-")
        assert "unsafe" not in policy
        assert not re.search(r"(src|href)=[\"']?(https?:)?//", text)
        assert " style=" not in text


# -- sizes and odd input ---------------------------------------------------------------------------


def test_of_many_answers_the_wrong_ones_come_first_and_the_page_says_so(tmp_path, visit):
    triples = [LTL_TRIPLES[i % len(LTL_TRIPLES)] for i in range(60)]
    folder = evaluated(tmp_path / "many", "ltl", triples)
    table, about = read_predictions(folder)
    wrong = sum(v not in ("exact", "correct") for v in table["verdict"].to_pylist())
    document = evaluation_document(table, about, most=wrong + 3)
    verdicts = document.data["rows"]["verdict"]
    assert len(verdicts) == wrong + 3
    assert sum(v in ("exact", "correct") for v in verdicts) == 3
    path = tmp_path / "some.html"
    path.write_text(rendered(document))
    page = visit(path)
    assert page.inner_text("#found") == (
        f"{wrong + 3} examples of {wrong + 3} that are shown, of 60: answers that are not right"
        " first, then right ones at random"
    )
    # The map counts all.
    counted = page.evaluate(
        "[...document.querySelectorAll('.map td button')].map(b => b.ariaLabel)"
    )
    assert sum(int(re.search(r"(\d+) examples", each)[1]) for each in counted) == 60


def test_an_example_takes_at_most_500_bytes(tmp_path):
    make(tmp_path / "data", {
        "task": "ltl", "solver": None, "verifier": None, "grid": None,
        "problem": {"operators": {"1": 1, "0": 1, "!": 1, "&": 1, "X": 1, "U": 1}},
        "region": {"symbols": [1, 10], "length": [40, 50], "balance": "length"},
        "sizes": {"train": 600},
    })  # fmt: skip
    document = dataset_document(load_dataset(tmp_path / "data"))
    bare = len(rendered(replace(document, data={**document.data, "rows": {"key": []}})))
    assert (len(rendered(document)) - bare) / 600 < 500


def test_what_is_no_evaluation_is_refused(tmp_path, reports):
    with pytest.raises(LogicgenError, match="holds no answers"):
        write_evaluation_page(evaluated(tmp_path / "empty", "ltl", []))
    with pytest.raises(LogicgenError, match=r"no predictions\.parquet; run logicgen evaluate"):
        write_evaluation_page(tmp_path)
    cut = tmp_path / "cut"
    shutil.copytree(reports["ltl"].parent, cut)
    whole = (cut / "predictions.parquet").read_bytes()
    (cut / "predictions.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(LogicgenError, match="damaged, or of another version"):
        write_evaluation_page(cut)
    older = pa.table({"problem": ["a"], "prediction": ["a"]})
    pa.parquet.write_table(older, cut / "predictions.parquet")
    with pytest.raises(LogicgenError, match="damaged, or of another version"):
        write_evaluation_page(cut)


def held_by(path):
    """The data of a page."""
    block = re.search(
        '<script id="data" type="application/octet-stream">([^<]*)<', path.read_text()
    )
    return json.loads(gzip.decompress(base64.b64decode(block[1])))


def test_data_whose_cells_have_several_lengths(tmp_path):
    recipe = DataRecipe.read("lookup-mini").resized(300)
    recipe.make(tmp_path / "data", name="lookup-mini", workers=1)
    path = write_dataset_page(load_dataset(tmp_path / "data"), tmp_path / "page.html")
    maps = held_by(path)["maps"]
    assert {cells["title"] for cells in maps} >= {"train: examples", "grid: examples"}
    assert all("asked for" in says for cells in maps for *_, says in cells["cells"])
    (tmp_path / "data" / "cells.csv").write_text("split,symbols,length\ntrain,x,8-10\n")
    with pytest.raises(LogicgenError, match=r"cells\.csv: damaged"):
        write_dataset_page(load_dataset(tmp_path / "data"), path)


@pytest.mark.parametrize(
    ("task", "problem", "answer", "verdict"),
    [
        ("ltl", "& a ! a", "0", "incorrect"),
        ("ltl", "a", "{ & a ! a }", "correct"),
        ("propositional", "a", "a 1 a 0", "correct"),
        ("propositional", "& & & constructor __proto__", "a 1", "correct"),
        ("lookup", "a -> b c ->", "b", "unknown"),
    ],
)
def test_a_verdict_that_the_solver_contradicts_costs_no_page(task, problem, answer, verdict):
    ((shown, found),) = explanations(load_task(task), [(problem, answer, verdict)])
    assert shown
    assert found is None or len(found) == 5


def test_several_embedding_seeds_are_answers_not_examples(tmp_path, visit):
    folder = evaluated(tmp_path / "seeds", "ltl", LTL_TRIPLES)
    table, _ = read_predictions(folder)
    one = pa.array([1] * len(table), pa.int32())
    other = table.set_column(table.schema.get_field_index("embedding_seed"), "embedding_seed", one)
    both = pa.concat_tables([table, other.cast(table.schema)])
    write_predictions(both, folder)
    page = visit(write_evaluation_page(folder))
    assert page.inner_text("#found") == "12 answers of 12"
    assert keys(page)[-1] == "5"
    cell = page.locator('.map td button[data-place="2 7"]')
    assert "2 examples, 4 answers: incorrect 4" in cell.get_attribute("aria-label")
    page.evaluate("location.hash = 'example=5-1'")
    page.locator("#example h3:text-is('Example 5-1')").wait_for()
    write_predictions(other.cast(table.schema), folder)  # seed 1 without seed 0
    with pytest.raises(LogicgenError, match="damaged"):
        write_evaluation_page(folder)


def test_pages_hold_what_is_said_of_them(reports):
    for path in reports.values():
        data = held_by(path)
        lengths = {len(values) for values in data["rows"].values()}
        assert len(lengths) == 1
        named = {column["name"] for column in data["columns"]}
        assert named <= set(data["rows"])
        assert {
            name
            for a in data["answers"]
            for k, name in a.items()
            if k in ("text", "verdict", "explanation", "tokens")
        } <= set(data["rows"])


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.html")), ids=lambda path: path.stem)
def test_live_reports_of_the_documentation_are_of_this_version(path, visit):
    text = path.read_text(encoding="utf-8")
    assert text == renewed(text), "python -m tests.report.live_reports writes them anew"
    assert visit(path).locator("h1").count() == 1

"""How many questions are right on 26 sets of questions as people ask them, without a language model.

`make bench-asked` downloads the texts of 22 sets; those of the other four are in ELT_LLM_DATASETS/asked.
"""

import hashlib
import importlib.util
import json
import math
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import asked
import pytest
from elt_llm_api.cli import run
from elt_llm_core.models.factory import create_embedding
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.settings.tree import Settings
from elt_llm_query.engine import open_engine

pytestmark = pytest.mark.bench

OWN = Path(asked.__file__).parent
SETS = {
    "gsa": "asked/gsa/documents",
    "ai-act": "glossaries/ai-act/AI_Act.html",
    "debian": "handbooks/debian-policy/policy.pdf",
    "govuk": "handbooks/govuk-data-standards",
    **dict.fromkeys(path.stem for path in sorted(OWN.glob("*.jsonl"))),
}
VERDICTS = ("right", "partly", "wrong", "wrongly refused", "rightly refused")
READ = 10  # chunks of which the rank counts


@pytest.fixture(scope="session")
def scorer(datasets: Path) -> Any:
    """The scorer of ELT_LLM_DATASETS/asked."""
    spec = importlib.util.spec_from_file_location("score", datasets / "asked" / "score.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def has_gold(scorer: Any, chunk: RetrievedChunk, gold: Sequence[dict[str, Any]]) -> bool:
    """Whether the chunk shares seven words in a row with a sentence that answers."""
    if gold and "sentence" in gold[0]:
        return any(scorer.shares(chunk.text, one["sentence"]) for one in gold)
    words = scorer.words(chunk.text)

    def runs(length: int) -> set[str]:
        whole = (" ".join(words[start : start + length]) for start in range(len(words) - length + 1))
        return {hashlib.sha256(run.encode()).hexdigest()[:12] for run in whole}

    return any(not runs(one["words"]).isdisjoint(one["runs"]) for one in gold)


@pytest.mark.parametrize("name", SETS)
def test_the_right_answers_to_questions_as_people_ask_them_are_counted(
    name: str, datasets: Path, scorer: Any, tmp_path: Path
) -> None:
    place = Path(os.environ.get("ASKED_TEXTS", "")) / name if SETS[name] is None else datasets / str(SETS[name])
    if SETS[name] is None and (not os.environ.get("ASKED_TEXTS") or not place.is_dir()):
        pytest.skip("needs the manuals: run `make bench-asked`")
    file = OWN / f"{name}.jsonl" if SETS[name] is None else datasets / "asked" / name / "questions.jsonl"
    questions = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    data = tmp_path / "data"
    assert run(["ingest", str(place), "-c", name], {"ELT_LLM_DATA_DIR": str(data)}, tmp_path) == 0
    verdicts, gains = Counter[str](), []
    settings = Settings()
    with open_engine(settings, data, [name], embedding=create_embedding(settings)) as engine:
        for question in questions:
            result = engine.ask(question["question"]).model_dump(mode="json")
            judged = {**question, "answer": question.get("answer", ""), "gold": []}
            verdicts[scorer.judge(judged, result)["verdict"]] += 1
            if question["gold"]:
                chunks = engine.search(question["question"], top_k=READ).chunks
                ranks = [rank for rank, chunk in enumerate(chunks) if has_gold(scorer, chunk, question["gold"])]
                gains.append(1 / math.log2(ranks[0] + 2) if ranks else 0.0)
    counts = " ".join(f"{verdict} {verdicts[verdict]}," for verdict in VERDICTS)
    mean = sum(gains) / len(gains)
    sys.stderr.write(f"\n{name}: {counts} nDCG@{READ} of the first chunk that answers {mean:.3f}\n")

"""Measure properties of trained models other than their scores, and complete prompts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logicgen.callbacks import Bars, no_bars
from logicgen.errors import LogicgenError
from logicgen.extras import extras_named
from logicgen.files import prepare_folder
from logicgen.library.data import load_dataset
from logicgen.library.models import load_model

if TYPE_CHECKING:
    from logicgen.measures.completion import Completion
    from logicgen.model.language_model import LanguageModel
    from logicgen.model.prompted import Election
    from logicgen.scoring.completions import Mode


def covariance(
    run: Path,
    data: str | Path,
    out: Path | None,
    *,
    split: str | None = None,
    mode: Mode | None = None,
    mixed_prompts: bool = False,
    device: str = "auto",
    beams: int | None = None,
    ensemble: int = 1,
    bars: Bars = no_bars,
    **settings: Any,
) -> tuple[list[str], Path]:
    """Measure whether renaming a problem's symbols renames a model's answer.

    run: folder of a trained model, or a file with replies of any model to renamed problems.
    settings: `limit`, `grammar` and `embedding_seeds`, as in `logicgen measure covariance`.
    Returns lines with the results, and the folder of the written files.
    """
    from logicgen.data.opening import as_dataset

    with extras_named():
        from logicgen.measures import predictions, renamed_answers, replies
        from logicgen.measures.covariance import covariance_lines, write_covariance
    dataset = as_dataset(load_dataset(data))
    if isfile(run):
        from logicgen.integrations.reply_files import read_replies

        entries = read_replies(run)
        split = split or replies.said_split(entries) or "test"
        how = {"mixed": mixed_prompts, "renamed": True}
        given = replies.replies_to(dataset, split, entries, str(run), **how)
        folder = out or replies.reply_scores_folder(run)
        prepare_folder(folder)
        table = renamed_answers.read_renamed(dataset, split, given, run.stem, mode or "strict")
    else:
        from logicgen.model import checkpoint
        from logicgen.nn.decoding import BeamSearch

        split = split or "test"
        model = load_model(run, device).answerer(dataset.task, str(run), data=dataset)
        about = predictions.About.of(model.region, run.resolve().name, dataset, split)
        predictions.check_fits(model, dataset, about, ensemble)
        folder = out or checkpoint.scores_folder(run, split)
        prepare_folder(folder)  # an unwritable folder fails before the slow predictions
        settings |= {"decoding": BeamSearch(beams or 1), "ensemble": ensemble}
        with bars("answers") as progress:
            table = renamed_answers.predict_renamed(
                model, dataset, about, progress=progress, **settings
            )
    return covariance_lines(write_covariance(table, folder), len(table)), folder


def write_renamed_prompts(path: Path, data: str | Path, split: str, limit: int) -> str:
    """Write problems with renamed symbols as prompts for another model; return a summary line.

    limit: the largest number of problems.

    Raises LogicgenError if the file exists.
    """
    from logicgen.data.opening import as_dataset
    from logicgen.data.prompts import write_lines
    from logicgen.measures.renamed_answers import renamed_prompts

    if path.is_file():
        raise LogicgenError(
            f"{path}: exists, and may contain replies: give another name, or remove the file"
        )
    rows = list(renamed_prompts(as_dataset(load_dataset(data)), split, limit))
    write_lines(rows, path)
    problems = len({row["row"] for row in rows})
    return f"{path}: {len(rows):,} prompts, the renamings of {problems:,} problems"


def collapse(
    run: Path, data: str | Path, out: Path | None, device: str = "auto"
) -> tuple[list[str], Path]:
    """Measure how similar the embeddings of the symbols that never occur in training are.

    Return lines of text with the results, and the path of the written file.
    """
    with extras_named():
        from logicgen.measures.collapse import measure_collapse
    return measure_collapse(run, load_dataset(data), out, device)


def probe(
    run: Path,
    data: str | Path,
    out: Path | None,
    *,
    split: str = "test",
    probe: dict[str, Any],
    bars: Bars = no_bars,
    **settings: Any,
) -> tuple[list[str], Path]:
    """Train a probe: a small network that reads a cipher's key from a model's hidden states.

    Return lines of text with the results, and the path of a figure.

    probe: settings of the probe (`ProbeSettings`).
    settings: `context`, `window`, `matrices`, `limit` and `device`, as in `logicgen measure
        probe`.
    """
    from logicgen.data.opening import as_corpus

    with extras_named():
        from logicgen.measures.keys import find_keys
        from logicgen.measures.keys_figures import PRECISION, keys_lines, write_keys
        from logicgen.measures.probe import ProbeSettings
        from logicgen.model.checkpoint import scores_folder
    corpus = as_corpus(load_dataset(data))
    part = "probe" if split == "test" else f"{split}-probe"
    folder = out or scores_folder(run, f"{corpus.name}-{part}")
    chosen, settings = ProbeSettings(**probe), settings | {"split": split}
    with bars("") as progress:
        found = find_keys(
            run, run.resolve().name, corpus, folder, chosen, progress=progress, **settings
        )
    write_keys(found, corpus.tokens, folder)
    return keys_lines(found), folder / f"{PRECISION}.png"


def decipher(
    run: Path,
    data: str | Path,
    out: Path | None,
    text: Path,
    *,
    probe: dict[str, Any],
    symbol: str | None = None,
    bars: Bars = no_bars,
    **settings: Any,
) -> tuple[list[str], Path]:
    """Read a text in an unknown cipher with a probe of a model, which is trained first if needed.

    Return lines of text with the guesses, and the path of a CSV file of all guesses.

    data: the corpus of ciphers on which the probe is trained.
    text: a file with the text.
    probe: settings of the probe (`ProbeSettings`).
    symbol: print the guesses at each occurrence of this symbol, instead of the key and the text.
    settings: `context`, `temperature` and `device`, as in `logicgen measure probe`.
    """
    from logicgen.data.opening import as_corpus

    with extras_named():
        from logicgen.measures import deciphering
        from logicgen.measures.probe import ProbeSettings
        from logicgen.model.checkpoint import scores_folder
    corpus = as_corpus(load_dataset(data))
    folder = out or scores_folder(run, f"{corpus.name}-probe")
    with bars("steps") as progress:
        settings["progress"] = partial(progress, "steps of the probe")
        chosen = ProbeSettings(**probe)
        found = deciphering.decipher(run, corpus, folder, chosen, text, **settings)
    lines = deciphering.deciphered_lines(found, symbol)
    return lines, deciphering.write_guesses(found, folder)


def complete(
    run: str | Path,
    prompt: str,
    tokens: int,
    *,
    sampling: dict[str, Any] | None,
    beams: int | None = None,
    vote: bool = False,
    seed: int = 0,
    device: str = "auto",
    **settings: Any,
) -> tuple[list[Completion], Election[str] | None]:
    """Continue a prompt with a language model. Return the completions and the result of the vote.

    tokens: the largest number of tokens in a completion.
    sampling: settings of random draws, or None for greedy decoding.
    beams: number of beams of beam search, which replaces `sampling` if this is given.
    vote: whether to find the most frequent completion. Otherwise the result of the vote is None.
    settings: `count` and `until`, as in `logicgen complete`.
    """
    with extras_named():
        from logicgen.measures.completion import complete, most_probable
        from logicgen.model.prompted import elect
        from logicgen.nn.samples import Sampling
    model = _language_model(run, device)
    if beams is not None:
        return most_probable(model, prompt, tokens, beams=beams, seed=seed, **settings), None
    if sampling is None and settings.get("count", 1) > 1 and not model.random:
        raise LogicgenError(
            f"--greedy and --count {settings['count']}: all texts would be the same, because this"
            " model has no random embeddings; leave one out"
        )
    drawn = None if sampling is None else Sampling(**sampling, seed=seed)
    found = complete(model, prompt, tokens, sampling=drawn, seed=seed, **settings)
    if not vote:
        return found, None
    return found, elect([each.text for each in found], [each.log_probability for each in found])


def text_probability(
    run: str | Path, text: str, *, device: str = "auto", **settings: Any
) -> list[str]:
    """Return lines that report the log2-probability of a text under a language model.

    settings: `after`, `whole`, `samples` and `seed`, as in `logicgen measure probability`.
    """
    with extras_named():
        from logicgen.measures.text_probability import text_probability
    return text_probability(_language_model(run, device), text, **settings).lines


def tightness(
    run: str | Path, data: str | Path | None = None, *, device: str = "auto", **settings: Any
) -> list[str]:
    """Return lines that report whether a language model ends every text with probability 1.

    data: a corpus. If given, the report contains the least probability of `<end>` in its texts.
    settings: `split`, `limit` and `context`, as in `logicgen measure tightness`.
    """
    from logicgen.data.opening import as_corpus

    with extras_named():
        from logicgen.measures.tightness import tightness_lines
    model = _language_model(run, device)
    corpus = None if data is None else as_corpus(load_dataset(data))
    return tightness_lines(model, str(run), corpus, **settings)


def _language_model(run: str | Path, device: str) -> LanguageModel:
    from logicgen.model.checkpoint import as_language_model

    return as_language_model(load_model(run, device), run)


def show_grammar(run: Path, out: Path | None = None) -> tuple[str, str]:
    """Draw the grammar of a trained model, a data set or a grammar file.

    Return two texts: the weights of the grammar, and the names of the written files.
    """
    with extras_named():
        from logicgen.experiments.grammars import show_grammar
    return show_grammar(run, out)


def cut_grammar(
    run: Path, above: str, below: str, out: Path | None = None
) -> tuple[list[str], str]:
    """Remove the connection between two units of a grammar, `above` and `below`.

    Return lines about the sentences that lose over half of their probability, and a text with the
    path of the new grammar. If there are too many sentences to list, there is only a first line.
    """
    with extras_named():
        from logicgen.experiments.grammars import cut_grammar
    return cut_grammar(run, above, below, out)


def sentence_lines(run: Path, prompt: str, **settings: Any) -> Iterator[str]:
    """Yield sentences of a grammar that match a prompt, in which `_` is any word.

    settings: `count`, `seed` and `exact`, as in `logicgen measure grammar generate`.
    """
    with extras_named():
        from logicgen.experiments.grammars import sentence_lines
    return sentence_lines(run, prompt, **settings)

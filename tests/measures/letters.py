"""A small measure: the mean probability that a language model gives to the right next letter."""

from __future__ import annotations

import json

import torch

from logicgen.data.opening import as_corpus
from logicgen.files import prepare_folder
from logicgen.measures.measure import Comparison, Measure
from logicgen.model.sequences import corpus_sequences
from logicgen.report.document import Document, FactTable, write_document


class Letters(Measure):
    name = "letters"
    noun = "a measurement of letters"
    file = "letters.json"
    of = ("sequences",)

    def take(self, settings, data, subject):
        texts, targets = corpus_sequences(as_corpus(data), settings.split).spread(8, 20)
        likely = subject.model.log_probabilities(torch.from_numpy(texts))[:, :-1].exp()
        there = torch.from_numpy(targets >= 0)
        chosen = likely.gather(2, torch.from_numpy(targets).clamp(min=0)[..., None])[..., 0]
        share = float(chosen[there].mean()) * settings.settings.get("times", 1)
        folder = subject.run / settings.name
        prepare_folder(folder)
        (folder / self.file).write_text(json.dumps({"share": share}))
        return {"share": share}

    def headline(self, found):
        return found["share"], False

    def columns(self, points, prefix):
        return [
            {f"{prefix}next letter": f"{sum(each['share'] for each in point.found):.4f}"}
            for point in points
        ]

    def lines(self, found):
        return [{"part": "overall", **found}]

    def compare(self, folders, out, *, workers, progress):
        prepare_folder(out)
        shares = [f"{json.loads((each / self.file).read_text())['share']:.4f}" for each in folders]
        (out / "letters.txt").write_text(" ".join(shares))
        return Comparison([f"next letter: {' '.join(shares)}"], [f"table: {out / 'letters.txt'}"])

    def write_page(self, folder, path, *, workers, progress):
        path = path or folder / "report.html"
        share = json.loads((folder / self.file).read_text())["share"]
        write_document(
            Document("Letters", f"{share:.4f}", [FactTable("Found", ["share"], [])], {}), path
        )
        return path


MEASURE = Letters()

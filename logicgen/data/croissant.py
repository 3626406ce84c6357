"""The description of a data set in Croissant 1.1, which search engines and data loaders read.

Source: MLCommons, *Croissant Format Specification* 1.1, and its vocabulary for responsible AI 1.0.
"""

from __future__ import annotations

import json
from typing import Any

from logicgen.data.recipe import DataRecipe
from logicgen.tasks import Task
from logicgen.tasks.conditions import difficulty_columns

LICENSE = "https://creativecommons.org/publicdomain/zero/1.0/"
CR, SCHEMA = "http://mlcommons.org/croissant/", "https://schema.org/"
# Terms of the Croissant vocabulary. Each term is short for the same name with the prefix `cr:`.
TERMS = """
citeAs column equivalentProperty extract field fileObject fileProperty fileSet format
includes isLiveDataset jsonPath key md5 parentField path recordSet references regex
repeated replace samplingRate separator source subField transform
"""
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": SCHEMA,
    "cr": CR,
    "rai": f"{CR}RAI/",
    "dct": "http://purl.org/dc/terms/",
    "sc": SCHEMA,
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in TERMS.split()},
}
COLUMNS = {
    "problem": ("sc:Text", "The problem in prefix notation, tokens separated by blanks."),
    "answer": ("sc:Text", "A right answer in prefix notation."),
    "symbols": ("sc:Integer", "The number of symbols, which selects the cell of the problem."),
    "length": ("sc:Integer", "The number of tokens of the problem."),
    "alpha_class": ("sc:Text", "Equal for problems that are equal up to renaming."),
}


def columns_of(task: Task) -> dict[str, tuple[str, str]]:
    """Return the columns of a data set of a task: from name to type and meaning."""
    kinds = {
        name: "sc:Integer" if column.whole else "sc:Float"
        for name, column in task.difficulties.items()
    }
    measured = difficulty_columns(task).items()
    return COLUMNS | {name: (kinds.get(name, "sc:Text"), meaning) for name, meaning in measured}


def croissant_text(recipe: DataRecipe, description: dict[str, Any]) -> str:
    """Return the Croissant description of a finished data set, as JSON-LD."""
    name, seed = description["name"], description["seed"]
    made_by = f"logicgen {description['versions']['logicgen']}"
    splits = [split for split, content in description["splits"].items() if content["examples"]]
    content = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": [f"{CR}1.1", f"{CR}RAI/1.0"],
        "name": name,
        "description": recipe.description or f"Problems of the task {recipe.task}.",
        "license": LICENSE,
        "version": "1.0.0",
        "citeAs": f"{name}, seed {seed}, made by {made_by}",
        "creator": {"@type": "sc:Organization", "name": made_by},
        "distribution": [_files(split) for split in splits],
        "recordSet": [_records(split, recipe.load_task()) for split in splits],
        "rai:dataCollection": f"A program drew the problems at random ({made_by}, seed {seed}).",
        "rai:dataCollectionType": ["Software Collection"],
        "rai:dataAnnotationProtocol": ["A solver computed each answer, and a verifier checked it."],
        "rai:dataUseCases": ["Training and evaluating models of formal reasoning."],
        "rai:dataLimitations": [
            "The problems are synthetic; problems in practice have another distribution.",
            "Some cells hold fewer examples than the recipe asks for; cells.csv lists them.",
        ],
        "rai:dataBiases": ["The recipe determines the distribution of the problems."],
        "rai:personalSensitiveInformation": ["None: the data contain no text about people."],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _files(split: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileSet",
        "@id": f"{split}-files",
        "name": f"{split}-files",
        "description": f"The Parquet files of the split {split}.",
        "encodingFormat": "application/x-parquet",
        "includes": f"{split}/*.parquet",
    }


def _records(split: str, task: Task) -> dict[str, Any]:
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{split}/{column}",
            "name": column,
            "description": meaning,
            "dataType": kind,
            "source": {"fileSet": {"@id": f"{split}-files"}, "extract": {"column": column}},
        }
        for column, (kind, meaning) in columns_of(task).items()
    ]
    return {"@type": "cr:RecordSet", "@id": split, "name": split, "field": fields}

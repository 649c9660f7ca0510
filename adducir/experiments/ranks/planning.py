"""Plans a study of ranks: every file and recipe is read before anything runs."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from adducir.corpora.references import expanded, file_path
from adducir.encoders.data import spans_of
from adducir.encoders.recipe import EncoderRecipe
from adducir.encoders.sources import RECIPES, encoder_source
from adducir.encoders.training import EncoderPlan
from adducir.experiments.faults import Faults, Needs
from adducir.experiments.ranks.data import SpanData, open_data
from adducir.experiments.ranks.recipe import RanksStudy, SystemRecipe, folder_name
from adducir.models.sources import model_source
from adducir.study.absent import gathering, without_downloads
from adducir.study.errors import InputError
from adducir.study.fingerprint import fingerprint
from adducir.study.folders import study_folder
from adducir.study.progress import Progress
from adducir.study.recipe import read, validate
from adducir.study.yaml import Document, load
from adducir.training.recipe import listed


@dataclass(frozen=True)
class Link:
    """One training of a chain.

    Attributes:
        document: The recipe's file.
        changes: What is changed of it.
        output: The encoder's folder.
    """

    document: Document
    changes: tuple[str, ...]
    output: Path

    def course(self, folder: Path) -> EncoderPlan:
        """The recipe, opened; the encoder that it goes on from must be there."""
        return EncoderPlan(validate(self.document, EncoderRecipe, self.changes), folder)


@dataclass(frozen=True)
class Step:
    """The ranks of one system, on one data set, with one context.

    Attributes:
        data: The data set.
        system: The system.
        context: The context's name.
        chain: The trainings that make the encoder; none for what is not trained.
        output: The folder of the ranks.
    """

    data: str
    system: str
    context: str
    chain: tuple[Link, ...]
    output: Path


@dataclass(frozen=True)
class RanksPlan:
    """A study, checked and opened.

    Attributes:
        path: Its file.
        folder: The study's folder.
        recipe: What the file says.
        data: The data sets.
        steps: What there is to do, the steps of a data set and system together.
        output: The folder of the tables.
        learnt: Notes for data sets of which truths are among what a system learnt from.
        needs: What is needed and not built here.
    """

    path: Path
    folder: Path
    recipe: RanksStudy
    data: dict[str, SpanData]
    steps: tuple[Step, ...]
    output: Path
    learnt: dict[str, list[str]] = field(default_factory=dict)
    needs: Needs = field(default_factory=Needs)

    @property
    def tables(self) -> int:
        """How many tables it makes, those of groups apart."""
        return len(self.data)

    def lines(self) -> Iterator[str]:
        """The plan for readers: a line an encoder and a line a step."""
        users: dict[Path, set[str]] = {}
        for step in self.steps:
            for link in step.chain:
                users.setdefault(link.output, set()).add(step.system)
        for output, systems in users.items():
            if systems <= self.needs.lacking("systems"):
                state = "whether it is there is unknown without its data"
            else:
                state = "there" if self._is_there(output) else "to train"
            yield f"{output.relative_to(self.folder)}: {state}"
        for step in self.steps:
            data = self.data.get(step.data)
            count = f"{len(data.spans):,} contexts" if data else "contexts unknown without the data"
            name = f"{step.system}, {step.context}: {count}"
            yield f"{step.output.relative_to(self.folder)}: {name}"

    def fetch(self, progress: Progress, *, rebuild: bool = False) -> None:
        """Fetch the models of the steps that are not done, before the first of them is begun.

        Raises:
            AdducirError: Something cannot be fetched; all of it in one message.
        """
        to_do = {step.system for step in self.steps if rebuild or not step.output.is_dir()}
        done = {
            step.system
            for step in self.steps
            if not rebuild
            and step.chain
            and all(self._is_there(link.output) for link in step.chain)
        }
        self.needs.fetch({("systems", name) for name in to_do - done}, progress)

    def _is_there(self, output: Path) -> bool:
        """Whether an encoder and those that it goes on from are trained as the file has them."""
        chain = next(
            step.chain for step in self.steps if output in (link.output for link in step.chain)
        )
        for link in chain:
            try:
                if not link.course(self.folder).is_current(link.output):
                    return False
            except InputError:  # what it goes on from is not there
                return False
            if link.output == output:
                break
        return True


def plan_study(path: Path, changes: Sequence[str] = (), *, dry_run: bool = False) -> RanksPlan:
    """Read a study's file and all that it names.

    Args:
        path: The file.
        changes: Overrides such as ``systems.BM25.bm25.k1=1.2``.
        dry_run: Plan without what is not at hand, and download nothing: such a plan is for
            reading, and its ``needs`` say what it lacks.

    Raises:
        InputError: The file or a recipe has faults, a file of spans cannot be read, there is no
            such model, or an encoder learns from books or questions that it is tested on; all of
            it in one message, with the lines.
        MachineError: A model's package is not installed.
    """
    reading, folder = read(load(path), RanksStudy, changes), study_folder(path)
    faults, recipe = Faults(reading, dry_run=dry_run), reading.rest
    if recipe is None:
        faults.check()
        raise AssertionError("a recipe that cannot be read has faults")  # check raises
    data: dict[str, SpanData] = {}
    learnt: dict[str, list[str]] = {}
    with without_downloads(dry_run or reading.recipe is None):
        for name, one in recipe.data.items():
            opened = faults.opening(("data", name), partial(open_data, one, folder))
            if opened is not None:
                data[name] = opened
        for name, system in recipe.systems.items():
            faults.opening(("systems", name), partial(_check, name, system, folder, data, learnt))
    needs = faults.check()
    chains = _chains(path, folder, recipe)
    steps = tuple(
        Step(
            data_name,
            name,
            context,
            chains[name, context],
            folder.joinpath("runs", path.stem, *map(folder_name, (data_name, name, context))),
        )
        for data_name in recipe.data
        for name, system in recipe.systems.items()
        for context in recipe.contexts_of(name)
    )
    return RanksPlan(path, folder, recipe, data, steps, path.with_suffix(""), learnt, needs)


def _check(
    name: str,
    system: SystemRecipe,
    folder: Path,
    data: dict[str, SpanData],
    learnt: dict[str, list[str]],
) -> None:
    """Open what a system names, and hold what it learns from to what it is tested on."""
    if system.encoder:
        encoder_source(expanded(system.encoder), folder).identity()
    if system.late:
        model_source(expanded(system.late), folder).identity()
    with gathering() as each:
        for number, recipe_name in enumerate(listed(system.train)):
            document = load(file_path(recipe_name, folder))
            recipe = validate(document, EncoderRecipe, system.set)
            if number == 0:
                if recipe.base.endswith(RECIPES):
                    raise InputError(
                        f"it goes on from {recipe.base}.",
                        path=document.path,
                        line=document.line_of(("base",)),
                        mend=f"Name both: train: [{recipe.base}, {recipe_name}].",
                    )
                each(partial(EncoderPlan, recipe, folder))
            if each(partial(recipe.data.identity, folder)) is not None:
                _check_lesson(name, document, recipe, folder, data, learnt)


def _check_lesson(
    name: str,
    document: Document,
    recipe: EncoderRecipe,
    folder: Path,
    data: dict[str, SpanData],
    learnt: dict[str, list[str]],
) -> None:
    """Hold what a recipe learns from to what is tested on."""
    known = [span for span, part in spans_of(recipe.data, folder) if part != "test"]
    for tested, one in data.items():
        shared = one.groups & {span.group for span in known}
        if shared:
            file = recipe.data.files(folder)["train"][0]
            raise InputError(
                f"{len(shared)} groups of {tested} are learnt from, such as {min(shared)!r}.",
                path=file,
                mend="Give `data.shares` and `data.seed` the values that they have in the "
                "study, or name the tested spans in `data.without`.",
            )
        texts = {span.text for span in known}
        count = sum(span.text in texts for span in one.spans)
        if count:
            learnt.setdefault(tested, []).append(
                f"{count:,} true candidates of {tested} read like spans that {name} learnt "
                f"from ({document.path.name})."
            )


@dataclass(frozen=True)
class _Training:
    """One training of one system's chain, before it has a place.

    Attributes:
        document: The recipe's file.
        changes: What is changed of it, but for its base.
        key: What it makes: the fingerprint of its recipe and of all trainings before it.
        place: Where it would be made.
    """

    document: Document
    changes: tuple[str, ...]
    key: str
    place: Path


def _chains(path: Path, folder: Path, study: RanksStudy) -> dict[tuple[str, str], tuple[Link, ...]]:
    """The trainings of each system with each context; what would make the same is made once.

    A training that several chains begin with has the place of the system whose encoder it is, or
    else that of the first of them.
    """
    trainings = {
        (name, context): _trainings(path, folder, study, name, context)
        for name in study.systems
        for context in study.contexts_of(name)
    }
    places: dict[str, Path] = {}
    last = [one[-1] for one in trainings.values() if one]
    for training in (*last, *(one for some in trainings.values() for one in some)):
        places.setdefault(training.key, training.place)
    chains: dict[tuple[str, str], tuple[Link, ...]] = {}
    for where, some in trainings.items():
        links: list[Link] = []
        for one in some:
            base = [str(link.output.relative_to(folder)) for link in links[-1:]]
            changes = (*one.changes, *(f"base={json.dumps(name)}" for name in base))
            links.append(Link(one.document, changes, places[one.key]))
        chains[where] = tuple(links)
    return chains


def _trainings(
    path: Path, folder: Path, study: RanksStudy, name: str, context: str
) -> list[_Training]:
    """The trainings of a system with one context."""
    system = study.systems[name]
    recipes = listed(system.train)
    given = study.contexts[context].model_dump(mode="json")
    changes = (*system.set, *(f"context.{key}={json.dumps(value)}" for key, value in given.items()))
    found: list[_Training] = []
    for number, recipe in enumerate(recipes, 1):
        document = load(file_path(recipe, folder))
        said = validate(document, EncoderRecipe, changes).model_dump(
            mode="json", exclude={"description"} | ({"base"} if found else set())
        )
        key = fingerprint([said, *(one.key for one in found[-1:])])
        more = f"-{number}" if number < len(recipes) else ""
        place = folder / "encoders" / path.stem / folder_name(name)
        found.append(_Training(document, changes, key, place / f"{folder_name(context)}{more}"))
    return found

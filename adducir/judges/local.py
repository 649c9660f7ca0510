"""Answers of a language model in this process: its chat template, always the likeliest token.

Prompts are answered in batches of similar length, padded before, masked. A batch's composition
changes log-probabilities in the last digits (3e-5 in single precision), as a server's load does.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adducir.core.errors import InputError, UsageError
from adducir.judges.answers import Conversation, spellings
from adducir.judges.exchange import Answer, Request, Status
from adducir.judges.server import without_thought
from adducir.models.gguf import load_causal
from adducir.models.loading import longest_input
from adducir.models.machine import choose_device
from adducir.models.work import Numbers, padded, token_batches

if TYPE_CHECKING:
    import torch

    from adducir.judges.llm import LocalModel
    from adducir.models.sources import ModelSource

_MOST_ANSWER = 1024
"""Tokens of an answer that nothing else bounds."""


class Speaker:
    """A causal language model and its tokenizer."""

    def __init__(self, model: "LocalModel", source: "ModelSource") -> None:
        self.model = model
        self.network, self.tokenizer = load_causal(source)
        self.network.to(choose_device(model.device))
        stated = self.network.generation_config.eos_token_id
        ends = stated if isinstance(stated, list) else [stated]
        self.ends = sorted({end for end in (*ends, self.tokenizer.eos_token_id) if end is not None})
        self.most = longest_input(self.network.config.get_text_config(), self.tokenizer)
        self.filler = int(self.tokenizer.pad_token_id)
        network: Any = self.network  # generate() falls back to the checkpoint's own settings
        network.generation_config = self._settings(_MOST_ANSWER)

    def _settings(self, longest: int) -> Any:
        from transformers import GenerationConfig

        return GenerationConfig(  # type: ignore[no-untyped-call]
            do_sample=False,
            num_beams=1,
            eos_token_id=self.ends or None,
            pad_token_id=self.filler,
            max_new_tokens=longest,
        )

    def answer(self, conversation: Conversation) -> None:
        """Answer whatever waits, until nothing does."""
        while conversation.waiting:
            waiting = [*conversation.waiting]
            conversation.waiting.clear()
            groups: dict[str, list[tuple[str, Request, Numbers]]] = {}  # by parameters
            for key, request in waiting:
                parameters = {**self.model.parameters, **request.parameters}
                ids = self._ids(request)
                longest = int(parameters.get("max_tokens") or _MOST_ANSWER)
                if len(ids) + longest > self.most:
                    message = f"{len(ids)} tokens and {longest} of the answer: {self.most} fit"
                    conversation.resolve(key, request, Answer.now("too_long", message=message))
                else:
                    group = groups.setdefault(repr(sorted(parameters.items())), [])
                    group.append((key, request, ids))
            for group in groups.values():
                lengths = [len(ids) for _, _, ids in group]
                for batch in token_batches(lengths, self.model.batch_tokens, self.network.device):
                    some = [group[number] for number in batch]
                    parameters = {**self.model.parameters, **some[0][1].parameters}
                    answers = self._answers([ids for _, _, ids in some], parameters)
                    for (key, request, _), answer in zip(some, answers, strict=True):
                        conversation.resolve(key, request, answer)

    def _ids(self, request: Request) -> Numbers:
        if request.raw is None:
            messages = [{"role": role, "content": text} for role, text in request.messages]
            try:
                text = self.tokenizer.apply_chat_template(
                    messages,
                    tokenize=False,
                    add_generation_prompt=True,
                    **self.model.template_options,
                )
            except Exception as error:  # jinja2's, and ValueErrors of transformers
                raise InputError(
                    f"its chat template cannot be filled: {str(error).splitlines()[0]}.",
                    path=self.tokenizer.name_or_path,
                    hint="It may lack one (an instruction-tuned model has one), or not take a "
                    "system message: leave `system` out of a prompt of your own.",
                ) from error
        else:
            text = request.raw
        encoded = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return np.array(encoded, dtype=np.int64)

    def _answers(self, rows: Sequence[Numbers], parameters: Mapping[str, Any]) -> list[Answer]:
        import torch

        longest, began = int(parameters.get("max_tokens") or _MOST_ANSWER), time.perf_counter()
        # Of a chat, or of a completion, whose parameter is their number.
        top = int(parameters.get("top_logprobs") or parameters.get("logprobs") or 0)
        ids, mask = padded(rows, self.filler, self.network.device, is_left=True)
        start = ids.shape[1]
        with torch.inference_mode():
            written = self.network.generate(
                input_ids=ids,
                attention_mask=mask,
                generation_config=self._settings(longest),
                prefix_allowed_tokens_fn=self._allowed(parameters, start),
                return_dict_in_generate=True,
                output_logits=top > 0,
            )
        first = written.logits[0].log_softmax(-1) if top else ids.new_zeros(len(rows), 0)
        values, tokens = first.topk(min(top, first.shape[1]))
        answers, seconds = list[Answer](), (time.perf_counter() - began) / len(rows)
        for row, new in enumerate(written.sequences[:, start:].tolist()):
            count = next((n for n, token in enumerate(new) if token in self.ends), len(new))
            text, thought = without_thought(
                self.tokenizer.decode(new[:count], skip_special_tokens=True)
            )
            rows_of = zip(tokens[row].tolist(), values[row].tolist(), strict=True)
            listed = [(self.tokenizer.decode([token]), value) for token, value in rows_of]
            status: Status = "ok" if text.strip() else "empty"
            status = "cut" if count == len(new) else status
            answers.append(
                Answer.now(
                    status,
                    text=text,
                    reasoning=thought,
                    top=spellings(listed),
                    tokens_in=len(rows[row]),
                    tokens_out=min(count + 1, len(new)),
                    seconds=round(seconds, 3),
                )
            )
        return answers

    def _allowed(
        self, parameters: Mapping[str, Any], start: int
    ) -> "Callable[[int, torch.Tensor], list[int]] | None":
        """What may follow the ids of a prompt and a part of an answer; None if all answers may."""
        if "response_format" not in parameters:
            return None
        try:
            texts = parameters["response_format"]["json_schema"]["schema"]["enum"]
        except (KeyError, TypeError) as error:
            message = "a model in this process takes no other `response_format` than an enum."
            raise UsageError(message) from error
        if not self.ends:
            raise InputError("it names no token that ends.", path=self.tokenizer.name_or_path)
        encode = self.tokenizer
        rows = [encode(str(text), add_special_tokens=False)["input_ids"] for text in texts]

        def following(_: int, ids: "torch.Tensor") -> list[int]:
            written = ids[start:].tolist()
            after = {
                [*row, self.ends[0]][len(written)] for row in rows if row[: len(written)] == written
            }
            return sorted(after) or [self.ends[0]]

        return following

"""HindsightToolSpec: retain, recall and reflect as tools for LlamaIndex agents."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, get_type_hints

from llama_index.core.tools import AsyncBaseTool, BaseTool, ToolMetadata, adapt_to_async_tool
from llama_index.core.tools.tool_spec.base import BaseToolSpec
from pydantic import Field, create_model

from hindsight_integrations import AsyncMemoryBank, MemoryBank, Reflection, RetainResult
from hindsight_integrations.llamaindex.bank import dispatcher, emit_reflection, lines_of, open_bank, retained
from hindsight_integrations.model.options import RecallOptions, ReflectOptions
from hindsight_integrations.prompts.memory_tools import NOTED, NOTHING, retain_reply, tool_descriptions
from hindsight_integrations.prompts.recalled import memories_block, memory_line
from hindsight_integrations.validation.arguments import checked_tools
from hindsight_integrations.validation.limits import checked_count, checked_tags
from hindsight_integrations.validation.metadata import checked_metadata
from hindsight_integrations.validation.options import (
    TOOL_DEFAULTS,
    checked_recall_options,
    checked_reflect_options,
    with_defaults,
)


class GivenTool:
    """Adapts a LlamaIndex tool to the LangChain tool interface that `bank.reflect` uses.

    Args:
        tool: the tool; its `metadata` has name, description and arguments.
    """

    def __init__(self, tool: AsyncBaseTool) -> None:
        self._tool = tool
        self.name = str(tool.metadata.get_name())
        self.description = str(tool.metadata.description)
        self.args: Mapping[str, Any] = tool.metadata.get_parameters_dict()["properties"]

    async def ainvoke(self, arguments: Mapping[str, Any]) -> str:
        """Call the tool.

        Args:
            arguments: arguments by name.

        Raises:
            Exception: the exception that the tool raised or reported in its output.
        """
        output = await self._tool.acall(**arguments)
        if output.is_error:
            raise output.exception or ValueError(str(output.content))
        return str(output.content)


def reflecting_tools(given: Iterable[Callable[..., object] | BaseTool] | None) -> tuple[Any, ...]:
    """Adapt LlamaIndex tools for `bank.reflect`; other tools are returned unchanged.

    Args:
        given: functions, LlamaIndex tools or LangChain tools; None means none.

    Raises:
        InvalidRequest: the value is not a list, or a tool is not callable.
    """
    return tuple(
        GivenTool(adapt_to_async_tool(each)) if isinstance(each, BaseTool) else each
        for each in checked_tools(given)
    )


class HindsightToolSpec(BaseToolSpec):  # type: ignore[misc] # see bank.py
    """Tools over one bank: `FunctionAgent(tools=HindsightToolSpec(bank).to_tool_list())`.

    The bank is fixed here; the model cannot choose it. Errors are raised, and LlamaIndex's agents report them to the model
    as errors.

    Args:
        bank: a sync or async bank, or its reference (`bank.reference`).
        max_tokens: token limit of the memories in one result.
        recall_options: options of `bank.recall` other than query and max_tokens: budget, types, tags, k, ...
        reflect_options: options of `bank.reflect` other than the query: strategy, budget, tags, ... Opinions are formed only
            if `form_opinions` is set.
        tags: visibility tags of the retained memories.
        metadata: metadata of the retained memories.

    Raises:
        InvalidRequest: `bank` is not a bank, or an option is unknown or invalid.
    """

    spec_functions: ClassVar[list[Any]] = [
        ("retain_memory", "aretain_memory"),
        ("recall_memories", "arecall_memories"),
        ("reflect_on_memories", "areflect_on_memories"),
    ]

    def __init__(
        self,
        bank: MemoryBank | AsyncMemoryBank,
        *,
        max_tokens: int = TOOL_DEFAULTS["max_tokens"],
        recall_options: RecallOptions | None = None,
        reflect_options: ReflectOptions | None = None,
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self._bank = open_bank(bank)
        self._sync_bank = bank if isinstance(bank, MemoryBank) else MemoryBank.over(self._bank)
        self._recall = with_defaults(
            {
                **checked_recall_options(recall_options),
                "max_tokens": checked_count(max_tokens, "max_tokens", least=1),
            },
            TOOL_DEFAULTS,
        )
        self._reflect = {"form_opinions": False, **checked_reflect_options(reflect_options)}
        self._reflect["tools"] = reflecting_tools(self._reflect.get("tools"))
        self._retain: dict[str, Any] = {
            "context": NOTED,
            "tags": checked_tags(tags),
            "metadata": checked_metadata({} if metadata is None else metadata),
        }

    def to_tool_list(self, *args: Any, **kwargs: Any) -> list[Any]:  # noqa: ANN401 - LlamaIndex's signature
        """Return the tools, with a type that LlamaIndex's agents accept under strict type checking.

        Args:
            args: arguments of LlamaIndex's `BaseToolSpec.to_tool_list`.
            kwargs: its keyword arguments.
        """
        return list(super().to_tool_list(*args, **kwargs))

    def get_metadata_from_fn_name(self, fn_name: str, spec_functions: Any = None) -> ToolMetadata | None:  # noqa: ANN401 - LlamaIndex's signature
        """Describe a tool in the same words as the LangGraph tools; a tool added by a subclass is described by its docstring.

        Args:
            fn_name: the name of the tool's method.
            spec_functions: argument of LlamaIndex's method.
        """
        texts = tool_descriptions()
        if fn_name not in texts:
            return super().get_metadata_from_fn_name(fn_name, spec_functions)
        method = getattr(self, fn_name)
        hints = get_type_hints(method)
        fields: dict[str, Any] = {
            name: (
                hints[name],
                Field(
                    ... if parameter.default is parameter.empty else parameter.default,
                    description=texts[name],
                ),
            )
            for name, parameter in inspect.signature(method).parameters.items()
        }
        return ToolMetadata(texts[fn_name], fn_name, create_model(fn_name, **fields))

    def retain_memory(self, content: str) -> str:
        """Keep something for later conversations: a fact about the user, a decision, a preference, an event.

        Write full sentences that can be understood alone, with names and dates. Do not keep questions or guesses.

        Args:
            content (str): what to remember, in one or more sentences.
        """
        return self._kept(self._sync_bank.retain(content, **self._retain))

    async def aretain_memory(self, content: str) -> str:
        """Asynchronous version of `retain_memory`."""
        return self._kept(await self._bank.retain(content, **self._retain))

    def recall_memories(self, query: str) -> str:
        """Look up what is remembered from earlier conversations. Use it before answering questions about the user or the past.

        Args:
            query (str): what to look for: a question, or names and words.
        """
        found = self._sync_bank.recall(query, **self._recall)
        return _shown(lines_of(self._bank.name, found))

    async def arecall_memories(self, query: str) -> str:
        """Asynchronous version of `recall_memories`."""
        found = await self._bank.recall(query, **self._recall)
        return _shown(lines_of(self._bank.name, found))

    def reflect_on_memories(self, question: str) -> str:
        """Get a considered answer to a question from everything that is remembered. Slower than looking memories up.

        Args:
            question (str): the question, complete in itself.
        """
        return self._answered(self._sync_bank.reflect(question, **self._reflect))

    async def areflect_on_memories(self, question: str) -> str:
        """Asynchronous version of `reflect_on_memories`."""
        return self._answered(await self._bank.reflect(question, **self._reflect))

    def _kept(self, result: RetainResult) -> str:
        dispatcher.event(retained(self._bank.name, result))
        return retain_reply(result)

    def _answered(self, answer: Reflection) -> str:
        emit_reflection(self._bank.name, answer)
        # An extractive answer quotes memories, which are marked as data.
        if answer.extractive and answer.units:
            return memories_block(map(memory_line, answer.units))
        return answer.text


def _shown(lines: list[str]) -> str:
    return memories_block(lines) if lines else NOTHING

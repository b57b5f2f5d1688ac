"""Section: the strictness that every settings model shares, and the scalar types its fields are made of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    SecretStr,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError, PydanticKnownError, core_schema

Trail = tuple[str | int, ...]


class Section(BaseModel):
    """A mapping of ``config.yaml``: unknown keys are errors, a key with nothing behind it keeps its default."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _nothing_means_default(cls, value: Any) -> Any:
        if value is None:
            return {}
        if not isinstance(value, dict):
            return value
        return {key: item for key, item in value.items() if item is not None or key not in cls.model_fields}


@dataclass(frozen=True, slots=True)
class Shape:
    """A form that a text must have as a whole; ``words`` say it in Chinese (used in problems and in the reference)."""

    pattern: str
    words: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def _check(self, value: str) -> str:
        if re.fullmatch(self.pattern, value, re.ASCII | re.DOTALL) is None:
            raise PydanticCustomError("shape", "the text has another form", {"words": self.words})
        return value


def refuse(*faults: tuple[Trail, str]) -> PydanticCustomError:
    """The error of a validator that looks at several keys: each fault is (trail below the model, what was expected)."""
    return PydanticCustomError("faults", "keys do not fit together", {"faults": faults})


def _exact_text(value: Any) -> Any:
    """A whole number becomes its digits (ids are written unquoted); 1.0 and true have no one spelling: refused."""
    if isinstance(value, bool | float):
        raise PydanticKnownError("string_type")
    return str(value) if isinstance(value, int) else value


def _no_flag_for_whole(value: Any) -> Any:
    if isinstance(value, bool):
        raise PydanticKnownError("int_type")
    return value


def _no_flag_for_number(value: Any) -> Any:
    if isinstance(value, bool):
        raise PydanticKnownError("float_type")
    return value


Text = Annotated[str, BeforeValidator(_exact_text)]
Secret = Annotated[SecretStr, BeforeValidator(_exact_text)]
Whole = Annotated[int, BeforeValidator(_no_flag_for_whole)]
Number = Annotated[float, BeforeValidator(_no_flag_for_number)]
Seconds = Annotated[Number, Field(ge=0, le=86_400)]
Id = Annotated[Text, Shape(r"[A-Za-z0-9_:/.-]{1,64}", "1 到 64 个字母、数字或 _ : / . -")]
Account = Annotated[Text, Shape(r"[0-9]{1,20}", "1 到 20 位数字（QQ 号）")]
Prefix = Annotated[Text, Shape(r"\S{1,4}", "1 到 4 个字符，没有空白")]

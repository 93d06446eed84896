"""Great Expectations judges the facts. The one module that imports it at the top: import it inside functions.

The batch that is validated is the frame of facts, one row an invariant, so that a suite costs one tiny job
whatever the size of the table that was measured. The expectations read the batch through a metric of their
own: Great Expectations' query metrics put every batch behind one temporary view of a fixed name, where two
validations in one session could cross.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar

from great_expectations.core.metric_domain_types import MetricDomainTypes  # noqa: TID253
from great_expectations.execution_engine import SparkDFExecutionEngine  # noqa: TID253
from great_expectations.expectations.expectation import BatchExpectation  # noqa: TID253
from great_expectations.expectations.metrics.metric_provider import metric_value  # noqa: TID253
from great_expectations.expectations.metrics.table_metric_provider import (  # noqa: TID253
    TableMetricProvider,
)
from great_expectations.render import (  # noqa: TID253
    LegacyDiagnosticRendererType,
    RenderedStringTemplateContent,
)
from great_expectations.render.renderer.renderer import renderer  # noqa: TID253

FACTS_SCHEMA = "invariant string, checked bigint, failures bigint, examples string"


class FactsByInvariant(TableMetricProvider):  # type: ignore[misc]
    """The batch as a mapping. Every expectation of a suite asks for it, so it is computed once."""

    metric_name = "sluice.facts_by_invariant"

    @metric_value(engine=SparkDFExecutionEngine)  # type: ignore[untyped-decorator]
    def _spark(
        cls,  # noqa: N805
        execution_engine: Any,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any],
    ) -> dict[str, dict[str, Any]]:
        facts, _, _ = execution_engine.get_compute_domain(
            domain_kwargs=metric_domain_kwargs, domain_type=MetricDomainTypes.TABLE
        )
        return {row["invariant"]: row.asDict() for row in facts.collect()}


class ExpectInvariantToHold(BatchExpectation):  # type: ignore[misc]
    """The fact of this invariant counts no failures. A fact that was not measured is a failure too."""

    invariant: str

    metric_dependencies: ClassVar[tuple[str, ...]] = (FactsByInvariant.metric_name,)
    success_keys: ClassVar[tuple[str, ...]] = ("invariant",)
    domain_keys: ClassVar[tuple[str, ...]] = ("batch_id",)

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: Any = None,
    ) -> dict[str, Any]:
        fact = metrics[FactsByInvariant.metric_name].get(self.invariant)
        if fact is None:
            return {"success": False, "result": {"observed_value": "not measured"}}
        failures, checked = fact["failures"], fact["checked"]
        found = f"{failures:,} of {checked:,} break it" if failures else f"all {checked:,} keep it"
        return {
            "success": failures == 0,
            "result": {
                "observed_value": found,
                "details": {
                    "checked": checked,
                    "failures": failures,
                    "examples": json.loads(fact["examples"]),
                },
            },
        }

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.UNEXPECTED_STATEMENT)  # type: ignore[untyped-decorator]
    def _diagnostic_unexpected_statement_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None
    ) -> list[Any]:
        """Data Docs shows the rows under the sentence that they break."""
        if result is None or result.success or "details" not in (result.result or {}):
            # An exception is told as Great Expectations tells it.
            told: list[Any] = super()._diagnostic_unexpected_statement_renderer(
                configuration=configuration, result=result, runtime_configuration=runtime_configuration
            )
            return told
        return [
            RenderedStringTemplateContent(
                content_block_type="string_template",
                string_template={
                    "template": "\n\n$example",
                    "params": {"example": json.dumps(example, ensure_ascii=False)},
                    "styling": {"params": {"example": {"tag": "code"}}},
                },
            )
            for example in result.result["details"]["examples"]
        ]

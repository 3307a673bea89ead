"""Reading metrics like Prometheus."""

from prometheus_client.parser import text_string_to_metric_families

from core import metrics


def read_metric(name: str, text: str | None = None, **labels: str) -> float:
    """Return the value of one metric, 0 if it has none."""
    families = text_string_to_metric_families(text or metrics.render_metrics().decode())
    samples = (sample for family in families for sample in family.samples)
    return sum(sample.value for sample in samples if (sample.name, sample.labels) == (name, labels))

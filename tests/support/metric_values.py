"""Read a metric as Prometheus would."""

from prometheus_client.parser import text_string_to_metric_families

from core import metrics


def value(name: str, text: str | None = None, **labels: str) -> float:
    """Return one number of an exposition; 0 where it has none."""
    families = text_string_to_metric_families(text or metrics.render_metrics().decode())
    samples = (sample for family in families for sample in family.samples)
    return sum(sample.value for sample in samples if (sample.name, sample.labels) == (name, labels))

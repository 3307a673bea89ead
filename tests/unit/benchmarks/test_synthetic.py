from benchmarks import ops, rows, synthetic
from core.handler_contract import EmbeddedUpstream
from gateway.executors import in_process
from registry import checks
from registry.catalog import cache
from registry.snapshot import snapshot


def test_ops_are_as_many_as_asked_and_begin_alike() -> None:
    many = synthetic.build_ops(10_000)

    assert len({op["op"] for op in many}) == len({op["tool_name"] for op in many}) == 10_000
    assert synthetic.build_ops(100) == many[:100]
    assert synthetic.build_tool_names(100) == [op["tool_name"] for op in many[:100]]


def test_ops_are_as_varied_as_real_ones() -> None:
    schemas = {str(op["parameters_schema"]["properties"].keys()) for op in synthetic.build_ops(60)}

    assert len(schemas) > 10


def test_ops_could_be_shipped() -> None:
    listed = synthetic.build_ops(600)
    groups = [{"path": path, "summary": summary} for path, summary in synthetic.build_groups(listed).items()]

    assert checks.find_errors({"format": 1, "groups": groups, "ops": listed}) == []


def test_rows_publish_as_the_ops_they_were_made_of(db: None) -> None:
    in_process.add_upstream(EmbeddedUpstream(synthetic.CONNECTION, ops.HANDLERS))
    rows.create_ops(12)

    version = rows.publish_draft()

    drafted = {entry["op"]: entry for entry in snapshot.snapshot_draft()["ops"]}
    for op in synthetic.build_ops(12):
        assert {name: drafted[op["op"]][name] for name in op} == op
    assert synthetic.READ["op"] in cache.get_catalog(version).ops

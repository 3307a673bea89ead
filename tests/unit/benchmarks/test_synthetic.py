from benchmarks import synthetic
from registry import checks


def test_ops_are_as_many_as_asked_and_begin_alike() -> None:
    many = synthetic.build_ops(10_000)

    assert len({op["op"] for op in many}) == len({op["tool_name"] for op in many}) == 10_000
    assert synthetic.build_ops(100) == many[:100]
    assert synthetic.build_tool_names(100) == [op["tool_name"] for op in many[:100]]


def test_ops_could_be_shipped() -> None:
    listed = synthetic.build_ops(600)
    groups = [{"path": path, "summary": summary} for path, summary in synthetic.build_groups(listed).items()]

    assert checks.find_errors({"format": 1, "groups": groups, "ops": listed}) == []

"""The edges between the rows of the demo workspace."""

from workspace.demo.rows import FAIR, KITCHEN, SURVEY, WEBSITE

# Each edge: its number, source, relation and destination. An end is a kind and the number of its row.
EdgeEnd = tuple[str, int]

ROWS: dict[int, tuple[tuple[int, EdgeEnd, str, EdgeEnd], ...]] = {
    WEBSITE: (
        (1, ("task", 1), "supports_goal", ("goal", 1)),
        (2, ("task", 2), "references", ("document", 2)),
        (3, ("project", WEBSITE), "has_goal", ("goal", 1)),
        (4, ("project", WEBSITE), "has_goal", ("goal", 3)),
        (5, ("goal", 1), "has_milestone", ("milestone", 1)),
        (6, ("goal", 1), "has_milestone", ("milestone", 5)),
        (7, ("milestone", 5), "has_plan", ("plan", 1)),
        (8, ("milestone", 1), "has_plan", ("plan", 4)),
        (9, ("project", WEBSITE), "has_plan", ("plan", 3)),
        (10, ("plan", 1), "has_task", ("task", 1)),
        (11, ("plan", 1), "has_task", ("task", 5)),
        (12, ("plan", 1), "has_task", ("task", 20)),
        (13, ("plan", 4), "has_task", ("task", 9)),
        (14, ("plan", 3), "has_task", ("task", 7)),
        (15, ("task", 7), "depends_on", ("task", 6)),
        (16, ("task", 8), "depends_on", ("task", 1)),
        (17, ("task", 9), "depends_on", ("task", 5)),
        (18, ("task", 15), "depends_on", ("task", 13)),
        (19, ("task", 41), "depends_on", ("task", 20)),
        (20, ("task", 5), "mitigates", ("risk", 1)),
        (21, ("project", WEBSITE), "has_risk", ("risk", 1)),
        (22, ("project", WEBSITE), "has_risk", ("risk", 3)),
        (23, ("goal", 1), "has_requirement", ("requirement", 1)),
        (24, ("project", WEBSITE), "has_requirement", ("requirement", 3)),
        (25, ("task", 1), "task_has_document", ("document", 1)),
        (26, ("task", 9), "references", ("document", 3)),
        (27, ("project", WEBSITE), "has_document", ("document", 1)),
        (28, ("project", WEBSITE), "has_document", ("document", 3)),
        (29, ("task", 9), "targets_milestone", ("milestone", 1)),
        (30, ("task", 20), "supports_goal", ("goal", 3)),
    ),
    KITCHEN: (
        (41, ("project", KITCHEN), "has_goal", ("goal", 21)),
        (42, ("project", KITCHEN), "has_plan", ("plan", 21)),
        (43, ("project", KITCHEN), "has_plan", ("plan", 22)),
        (44, ("plan", 21), "has_task", ("task", 23)),
        (45, ("plan", 22), "has_task", ("task", 31)),
        (46, ("task", 23), "depends_on", ("task", 21)),
        (47, ("task", 36), "depends_on", ("task", 31)),
        (48, ("task", 31), "depends_on", ("task", 38)),
        (49, ("task", 23), "mitigates", ("risk", 21)),
        (50, ("project", KITCHEN), "has_risk", ("risk", 21)),
        (51, ("task", 25), "references", ("document", 22)),
    ),
    SURVEY: (
        (61, ("project", SURVEY), "has_goal", ("goal", 51)),
        (62, ("goal", 51), "has_milestone", ("milestone", 51)),
        (63, ("goal", 51), "has_plan", ("plan", 51)),
        (64, ("task", 55), "depends_on", ("task", 54)),
        (65, ("task", 59), "references", ("document", 51)),
    ),
    FAIR: (
        (81, ("project", FAIR), "has_goal", ("goal", 71)),
        (82, ("plan", 71), "has_task", ("task", 73)),
        (83, ("task", 73), "depends_on", ("task", 72)),
        (84, ("project", FAIR), "has_risk", ("risk", 71)),
    ),
}

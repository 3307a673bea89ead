"""The requirements of the demo workspace."""

from workspace.demo.rows import FAIR, KITCHEN, SURVEY, WEBSITE, define_row

ROWS = {
    WEBSITE: (
        define_row(
            number=1,
            touched=410,
            text="Every old address with more than ten visits a month leads to the page that replaces it.",
            type_key="requirement.functional",
            priority=1,
        ),
        define_row(
            number=2,
            touched=415,
            text="The site works in Internet Explorer 11.",
            type_key="requirement.technical",
            priority=5,
            props={"said_by": "the old tender"},
        ),
        define_row(
            number=3,
            touched=412,
            text="Menu, search, contact form and checkout can be used with a keyboard and a screen reader alone.",
            type_key="requirement.accessibility",
            priority=2,
        ),
        define_row(
            number=4,
            touched=411,
            text="No cookie is set before the visitor has agreed.",
            type_key="requirement.legal",
            priority=1,
        ),
    ),
    KITCHEN: (
        define_row(number=21, touched=880, text="The worktop is 94 cm high.", priority=2),
        define_row(number=22, touched=881, text="Everything together costs at most 18,000 EUR.", priority=1),
    ),
    SURVEY: (
        define_row(
            number=51,
            touched=2320,
            text="Answers cannot be traced to a person once the voucher is drawn.",
            type_key="requirement.legal",
            priority=1,
        ),
    ),
    FAIR: (define_row(number=71, touched=580, text="The stand fits into one van.", priority=3),),
}

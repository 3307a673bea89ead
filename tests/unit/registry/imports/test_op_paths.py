"""Readable paths for any function names."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.imports import op_paths
from registry.imports.openai import FunctionDefinition
from registry.models import path_validator
from tests.support.growth import assert_linear

Named = str | tuple[str, str]


def assign(
    *named: Named, group: str = "crm", used_paths: set[str] | None = None, known_paths: dict[str, str] | None = None
):
    pairs = [(each, "") if isinstance(each, str) else each for each in named]
    functions = [FunctionDefinition(name, description, {}) for name, description in pairs]
    tree = op_paths.PathTree(used_paths or set(), {"root"})
    return op_paths.assign_paths(
        op_paths.parse_tool_names(functions, group), group, tree, known_paths=known_paths or {}
    )


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("get_contact", "crm.contact.get"),
        ("listOpenDeals", "crm.open_deal.list"),
        ("gmail_send_message", "crm.gmail.send_message"),
        ("get_user_by_email", "crm.user.get_by_email"),
        ("get_all_contacts", "crm.contact.get_all"),
        ("get_or_create_user", "crm.user.get_or_create"),
        ("CountryCountryInfo", "crm.country_info.run"),
        ("crm_update_deal", "crm.deal.update"),
        ("auth0.updateUserProfile", "crm.auth0.user_profile.update"),
        ("mcp__github__create_issue", "crm.mcp.github.issue.create"),
        ("2fa_enable", "crm.n2fa.enable"),
        ("search", "crm.search"),
        ("Weather", "crm.weather.run"),
        (("Weather", "Returns the weather."), "crm.weather.get"),
        (("irrigateCrop", "Irrigate a field"), "crm.crop.irrigate"),
    ],
)
def test_name_is_split_into_resource_and_verb(name: Named, path: str) -> None:
    assert list(assign(name).values()) == [path]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("获取天气", "crm.huo_qu_tian_qi.run"),
        ("погода_на_завтра", "crm.pogoda_na_zavtra.run"),
        ("creerTâche", "crm.creer_tache.run"),
    ],
)
def test_name_in_another_script_or_with_accents_is_written_in_latin_letters(name: str, path: str) -> None:
    assert assign(name) == {name: path}


def test_name_without_letters_gets_a_stable_path() -> None:
    (path,) = assign("***").values()

    assert path.startswith("crm.tool_")
    assert assign("***", "+++")["***"] == path


@pytest.mark.parametrize(
    "paths",
    [
        {  # functions of one resource share a group
            "get_contact": "crm.contact.get",
            "list_contacts": "crm.contact.list",
            "delete_contacts_by_id": "crm.contact.delete_by_id",
            "contactCreate": "crm.contact.create",
        },
        {"get_contact": "crm.contact.get", "get_contacts": "crm.contact.list"},  # singular and plural
        {"get_contacts": "crm.contact.list"},
        {"get_contacts": "crm.contact.get", "list_contacts": "crm.contact.list"},  # each has its own verb
        {"get_movie": "crm.movie.get", "list_movies": "crm.movie.list"},
        {"get_stats": "crm.stats.get", "get_settings": "crm.settings.get"},  # one thing, in the plural
        {"batch_update_contacts": "crm.contact.batch_update"},
        {"get_by_id": "crm.get_by_id", "log_in": "crm.log_in"},
        {"search": "crm.search.run", "get_search": "crm.search.get"},  # an op and a group never share a path
        {  # a prefix that all names have is dropped
            "acme_get_user": "crm.user.get",
            "acme_list_users": "crm.user.list",
            "acme_send_mail": "crm.mail.send",
        },
        {"get_a1": "crm.a1.get", "get_b1": "crm.b1.get", "get_c1": "crm.c1.get"},  # but not a verb
        {"api.users.get_user": "crm.users.user.get", "api.mail.send_mail": "crm.mail.mail.send"},  # a namespace
    ],
)
def test_names_in_one_list_are_told_apart(paths: dict[str, str]) -> None:
    assert assign(*paths) == paths


def test_part_of_a_known_resource_is_below_it() -> None:
    paths = assign("get_pull_request", "list_pull_requests", "get_pull_request_files", "get_space_data")

    assert paths["get_pull_request_files"] == "crm.pull_request.get_files"
    assert paths["get_space_data"] == "crm.space_data.get"


def test_path_in_use_is_never_assigned_again_and_an_assigned_one_is_stable() -> None:
    paths = assign("get_user", "getUser", "GetUser", used_paths={"crm.user.get", "crm.mail"})

    assert sorted(paths.values()) == ["crm.user.get_2", "crm.user.get_3", "crm.user.get_4"]
    assert assign("send_mail", used_paths={"crm.mail"}) == {"send_mail": "crm.mail_2.send"}
    assert assign("A/0/0", used_paths={"crm.a"})["A/0/0"].startswith("crm.a_2.")
    known = {"get_user": "crm.people.find", "gone": "crm.gone"}
    assert assign("get_user", "list_users", known_paths=known) == {
        "get_user": "crm.people.find",
        "list_users": "crm.user.list",
    }


def children(paths: dict[str, str]) -> dict[str, set[str]]:
    below: dict[str, set[str]] = defaultdict(set)
    for path in paths.values():
        while "." in path:
            below[path.rpartition(".")[0]].add(path)
            path = path.rpartition(".")[0]
    return below


def test_large_list_is_split_by_resource() -> None:
    nouns = [f"noun{a}" for a in "abcdefghijklmnopqrstuvwxyz"]
    names = [f"{verb}_{noun}" for noun in nouns for verb in ("get", "list", "create", "update")]
    names += [f"get_{noun}_part{n}x" for noun in nouns for n in range(8)]

    below = children(assign(*names))

    assert len(names) == 312
    assert {len(each) for path, each in below.items() if path != "crm"} == {12}
    assert len(below["crm"]) == 26


def test_small_resources_of_a_large_list_share_a_group_by_first_word() -> None:
    few = [f"get_{noun}_{part}" for noun in ("drug", "crop") for part in ("name", "price", "maker")]
    many = [f"get_thing{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(60)]

    assert assign(*few)["get_drug_price"] == "crm.drug_price.get"
    assert assign(*few, *many)["get_drug_price"] == "crm.drug.get_price"


def test_long_namespaced_name_is_cut_to_a_valid_path() -> None:
    dotted = ".".join("abcdefghij" for _ in range(19))

    (path,) = assign(f"{dotted}.get").values()

    path_validator(path)
    assert path == "crm." + ".".join("abcdefghij" for _ in range(8)) + ".abcdefgh.abcdefghij.get"


NAMES = st.lists(st.text(min_size=1, max_size=60) | st.from_regex(r"[a-zA-Z_.\-]{1,200}", fullmatch=True), unique=True)


@given(NAMES, st.sets(st.sampled_from(["crm.a", "crm.tool", "crm.a.get", "crm.n1"])))
def test_any_names_get_valid_unique_paths(names: list[str], used_paths: set[str]) -> None:
    paths = assign(*names, used_paths=set(used_paths))

    assert set(paths) == set(names)
    assert len(set(paths.values())) == len(names)
    assert not used_paths & set(paths.values())
    assert not set(paths.values()) & set(children(paths))
    assert not used_paths & set(children(paths))
    for path in [*paths.values(), *children(paths)]:
        path_validator(path)
        assert len(path) <= 200


@pytest.mark.parametrize("form", ["get_user{}", "{}.get_user", "user{}", "get_user_number{}"])
def test_paths_take_linear_time_also_if_all_names_are_the_same_once_cleaned(form: str) -> None:
    def build(size: int) -> list[str]:
        return [form.format(chr(0x4E00 + at)) for at in range(size)]

    assert_linear(lambda names: assign(*names), build, size=5_000)


def test_group_that_needs_a_number_is_one_group_for_all_its_ops() -> None:
    tree = op_paths.PathTree({"crm", "crm_2"}, {"root"})

    assert [tree.claim_group("crm"), tree.claim_op_path("crm_3.get"), tree.claim_group("crm")] == [
        "crm_3",
        "crm_3.get",
        "crm_3",
    ]

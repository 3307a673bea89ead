"""Harmful verbs in names, however they are written."""

from hypothesis import given
from hypothesis import strategies as st

from registry.text import harmful_verbs, tool_name_words
from registry.text.harmful_verbs import HARMFUL_VERBS, find_harmful_verb
from tests.support.loops import for_each


@for_each(
    "name",
    """
    projects_delete DeleteUser DELETEUser delete2 deleteuser userdelete dELeTe_all erase_all wipe_everything
    purge_notes truncate_log clear_cart revoke_key terminate_instance uninstall_app cancel_subscription
    get_and_delete stripe.cancelOrder dеlеtе_user ｄｅｌｅｔｅ＿ａｌｌ ᴅᴇʟᴇᴛᴇ déĺete de​lete deㅤlete СLEAR_cart
    УдалитьПроект очистка borrar_todo notesSupprimer löschen LOESCHEN usuń_konto smaž 删除项目 清空 データを削除する
    계정삭제
    حذف_المشروع हटाएं xoá ลบไฟล์ İptal
""".split(),
)
def test_harmful_names_are_found(name: str) -> None:
    assert find_harmful_verb(name, other_verbs=tool_name_words.VERBS)


@for_each(
    "name",
    [
        "",
        *"""
        create_task list_deleted getDeletedItems undelete_user create_drop_zone get_clear_days updateTrashSettings
        database_status crear_cliente создать_проект obtener_del
        """.split(),
    ],
)
def test_other_names_are_not(name: str) -> None:
    assert not find_harmful_verb(name, other_verbs=tool_name_words.VERBS)


@given(st.sampled_from(sorted(HARMFUL_VERBS)), st.text(max_size=20), st.sampled_from("_-./ "))
def test_what_stands_beside_a_harmful_verb_does_not_hide_it(verb: str, noun: str, separator: str) -> None:
    assert find_harmful_verb(f"{verb}{separator}{noun}", other_verbs=tool_name_words.VERBS)
    assert find_harmful_verb(f"{noun}{separator}{verb.upper()}", other_verbs=tool_name_words.VERBS)


def test_a_long_name_is_read_to_its_limit() -> None:
    assert not find_harmful_verb("x" * harmful_verbs.MAX_NAME + "_delete")

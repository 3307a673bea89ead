"""The verbs of names that destroy or end something: the one list for imports of every kind.

Names come from strangers, in any language. Before a name is compared with the list, its letters are folded: look-alikes
of other alphabets, accents, full-width and invisible letters, case, humps and separators. A name that can be read in
several ways is read in all of them.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence

MAX_NAME = 1_000  # characters of a name that are read


def _split_to_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


HARMFUL_VERBS = _split_to_set(
    """
    annihilate decommission delete demolish deprovision destroy eliminate eradicate erase expunge nuke obliterate purge
    remove revoke shred terminate truncate uninstall unregister unsubscribe wipe
    """
)
# Also nouns and adjectives: they count only in the place of the verb in a name.
HARMFUL_NOUN_LIKE_VERBS = _split_to_set(
    "abort cancel clear del discard dispose drop empty flush forget kill prune reset rm scrap trash void"
)

# In the languages that have most documents besides English: infinitives, imperatives and nouns, as names have them.
_HARMFUL_IN_OTHER_LANGUAGES = """
    eliminar elimina borrar borra suprimir suprime destruir vaciar anular anula cancelar cancela revocar desinstalar
    purgar quitar limpiar apagar apaga excluir exclui remover deletar esvaziar revogar limpar
    supprimer supprime effacer efface detruire vider annuler annule revoquer resilier desinstaller purger enlever
    retirer suppression
    löschen lösche loeschen loesche entfernen entferne vernichten zerstören zerstoeren leeren stornieren storniere
    kündigen kuendigen widerrufen deinstallieren abbrechen beenden tilgen
    eliminare cancellare cancella rimuovere rimuovi distruggere svuotare annullare revocare disinstallare
    verwijderen verwijder wissen vernietigen annuleren intrekken opzeggen
    usuń usunąć usun skasuj skasować wyczyść zniszcz anuluj odwołaj odinstaluj
    radera avbryt slette slett slet fjern fjerne annullera annuller avinstaller avinstallera afinstaller
    smazat smaž odstranit odstraň zrušit vymazat poista poistaa peruuta
    sil silmek kaldır iptal temizle boşalt yoket törölni töröl șterge sterge
    удалить удали удаление удаляет стереть очистить очистка уничтожить отменить отмена отозвать сбросить удалять
    видалити видалення скасувати очистити знищити стерти изтрий изтриване
    udalit steret ochistit unichtozhit otmenit sbrosit vydalyty shanchu sakujo sakjae
    διαγραφή διαγραψε ακύρωση
    حذف احذف مسح امسح إلغاء ألغ إزالة پاک לחסל מחק מחיקה הסר בטל ביטול
    हटाएं हटाओ हटाना मिटाएं मिटाओ मिटाना रद्द
    xóa xoá huỷ hủy gỡ hapus menghapus batalkan
"""
# Scripts without spaces between words: found anywhere.
_HARMFUL_IN_UNSPACED_SCRIPTS = """
    删除 刪除 清空 清除 移除 销毁 銷毀 撤销 撤銷 取消 终止 終止 卸载 卸載 注销 註銷 抹除 擦除 清理
    削除 消去 破棄 解約 抹消 삭제 제거 취소 해지 폐기 초기화 지우 ลบ ยกเลิก
"""
# Common verbs that harm nothing, so that names in these languages do not count as unknown.
_HARMLESS_IN_OTHER_LANGUAGES = """
    crear crea añadir agregar actualizar guardar enviar buscar listar obtener mostrar consultar leer
    criar adicionar atualizar salvar obter mostrar ler
    créer ajouter modifier enregistrer envoyer chercher rechercher lister obtenir afficher lire
    erstellen anlegen hinzufügen hinzufuegen ändern aendern aktualisieren speichern senden suchen auflisten holen
    anzeigen lesen abrufen
    creare aggiungere aggiornare salvare inviare cercare elencare ottenere mostrare leggere
    maken aanmaken toevoegen wijzigen opslaan verzenden zoeken ophalen tonen lezen
    utwórz dodaj zmień zapisz wyślij szukaj pobierz pokaż skapa hämta visa opprett hent vis opret
    vytvořit přidat změnit uložit odeslat hledat oluştur ekle güncelle kaydet gönder ara getir listele
    создать создай добавить добавь изменить обновить сохранить отправить найти поиск получить показать список
    створити додати змінити оновити зберегти надіслати знайти отримати показати
    إنشاء أنشئ إضافة تحديث إرسال بحث عرض
"""

# Letters that look like Latin ones, in the scripts from which people take them: Cyrillic, Greek, Armenian, small caps.
_LOOK_ALIKES = str.maketrans(
    "аеорсухіјѕԁԛԝһӏкмтвнАЕОРСУХІЈЅԚԜНКМТВԌՏαεοριυνκτχΑΒΕΖΗΙΚΜΝΟΡΤΥΧսոհցօɑɡıᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ",
    "aeopcyxijsdqwhlkmtbhAEOPCYXIJSQWHKMTBGSaeopiuvktxABEZHIKMNOPTYXunhgoagiabcdefghijklmnoprstuvwyz",
)
_WITHOUT_DECOMPOSITION = str.maketrans(
    {"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "ß": "ss", "ı": "i", "æ": "ae"}
)
_FILLERS = dict.fromkeys((0x115F, 0x1160, 0x3164, 0xFFA0))  # letters for Unicode, invisible for people
_DROPPED = ("Mn", "Mc", "Me", "Cf", "Co", "Cn", "Cs")  # accents, vowel signs, invisible characters

_SEPARATORS = re.compile(r"[\W_]+")
_HUMP = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
# Written in one word with what they delete. Not deleted, remover, removable, undelete.
_JOINED = re.compile(
    r"(?:delete|remove|destroy|erase|purge|truncate|uninstall)(?!d|rs?$|able|ment)[a-z]{3,40}"
    r"|(?!un)[a-z]{3,40}(?:delete|remove|destroy|uninstall)"
)
_CONJUNCTIONS = _split_to_set("and or then")


def find_harmful_verb(name: str, *, other_verbs: Collection[str] = ()) -> str:
    """Return the verb of the list that a name has; "" if it has none.

    A word that is also a noun counts unless it follows one of `other_verbs`: drop_table, but not create_drop_zone.
    """
    if unspaced := next((verb for verb in _UNSPACED if verb in _fold(name)), ""):
        return unspaced
    return next((verb for words in read_name(name) if (verb := _find_in_words(words, other_verbs))), "")


def has_harmless_verb(name: str) -> bool:
    """Return whether a name has a common verb of another language than English that harms nothing."""
    return any(word in _HARMLESS for words in read_name(name) for word in words)


def read_name(name: str) -> list[list[str]]:
    """Return the words of a name in every way in which people may read it."""
    plain = _strip_marks(name)
    latin = plain.translate(_LOOK_ALIKES)
    readings = [_split_humps(plain), _split_humps(latin), _split_separators(latin)]  # the last for dELeTe_all
    return [list(reading) for reading in dict.fromkeys(map(tuple, readings))]


def _find_in_words(words: Sequence[str], other_verbs: Collection[str]) -> str:
    follows_verb = False
    for word in words:
        if word in _ALWAYS_HARMFUL or _JOINED.fullmatch(word):
            return word
        if word in HARMFUL_NOUN_LIKE_VERBS and not follows_verb:
            return word
        follows_verb = word not in _CONJUNCTIONS and (follows_verb or word in other_verbs or word in _HARMLESS)
    return ""


def _strip_marks(text: str) -> str:
    """Return a text without accents and invisible characters, with styled letters as plain ones."""
    decomposed = unicodedata.normalize("NFKD", text[:MAX_NAME].translate(_FILLERS)).translate(_WITHOUT_DECOMPOSITION)
    kept = "".join(letter for letter in decomposed if unicodedata.category(letter) not in _DROPPED)
    return unicodedata.normalize("NFC", kept)


def _fold(text: str) -> str:
    return _strip_marks(text).casefold()


def _split_separators(text: str) -> list[str]:
    parts = (part.rstrip("0123456789") for part in _SEPARATORS.split(text.casefold()))
    return [part for part in parts if part]


def _split_humps(text: str) -> list[str]:
    return _split_separators(_HUMP.sub(" ", "".join(_space_humps(text))))


def _space_humps(text: str) -> Iterable[str]:
    for index, letter in enumerate(text):
        before, after = text[index - 1 : index], text[index + 1 : index + 2]
        if letter.isupper() and (before.islower() or (before.isupper() and after.islower())):
            yield " "
        yield letter


def _fold_words(text: str) -> frozenset[str]:
    return frozenset(_fold(word) for word in text.split())


_ALWAYS_HARMFUL = HARMFUL_VERBS | _fold_words(_HARMFUL_IN_OTHER_LANGUAGES)
_UNSPACED = _fold_words(_HARMFUL_IN_UNSPACED_SCRIPTS)
_HARMLESS = _fold_words(_HARMLESS_IN_OTHER_LANGUAGES)

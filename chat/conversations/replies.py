"""A plain yes or no that the user types instead of using a button. Only a whole message counts."""

import unicodedata

# Spelling aside: case, accents and punctuation do not matter.
YES = {
    "English": "yes, y, yep, yeah, yes please, sure, ok, okay, do it, go ahead, please do, confirm, confirmed, i agree",
    "German": "ja, jawohl, ja bitte, ja gerne, gerne, klar, einverstanden, mach das, mach es, bestätigt",
    "French": "oui, ouais, oui s'il te plaît, oui s'il vous plaît, d'accord, vas-y, allez-y, bien sûr, je confirme",
    "Spanish": "sí, sí por favor, claro, de acuerdo, vale, adelante, hazlo, confirmo",
    "Italian": "sì, sì grazie, sì per favore, certo, d'accordo, va bene, procedi, fallo, confermo",
    "Portuguese": "sim, sim por favor, claro, está bem, pode ser, de acordo, pode fazer, confirmo",
    "Dutch": "ja, ja graag, ja hoor, graag, akkoord, doe maar, oké, prima, bevestigd",
}
NO = {
    "English": (
        "no, n, nope, nah, no thanks, no thank you, never mind, nevermind, don't, do not, don't do it, cancel, "
        "stop, forget it, leave it, keep it, not now"
    ),
    "German": "nein, nee, nö, nein danke, lieber nicht, bitte nicht, lass es, lass das, vergiss es, abbrechen, nicht",
    "French": "non, non merci, pas maintenant, laisse tomber, laissez tomber, annule, annuler, surtout pas",
    "Spanish": "no, no gracias, mejor no, déjalo, olvídalo, cancela, cancelar, ahora no",
    "Italian": "no, no grazie, meglio di no, lascia stare, lascia perdere, annulla, non ora",
    "Portuguese": "não, não obrigado, não obrigada, melhor não, deixa, deixa para lá, esquece, cancela, agora não",
    "Dutch": "nee, nee bedankt, nee dank je, liever niet, laat maar, niet doen, annuleer, annuleren, nu niet",
}
MAX_LENGTH = 60  # characters of a message that can be one


def read_reply(message: str) -> bool | None:
    """Return whether a message is a plain yes (True) or a plain no (False). None if it says anything else."""
    if len(message) > MAX_LENGTH or "?" in message:
        return None
    words = _normalise(message)
    return True if words in _YES_WORDS else False if words in _NO_WORDS else None


def _normalise(text: str) -> str:
    """Return a text in lower case without accents and punctuation, its words apart by one space."""
    plain = unicodedata.normalize("NFKD", text.casefold()).replace("’", "'")
    kept = (" " if not (char.isalnum() or char == "'") else char for char in plain if not unicodedata.combining(char))
    return " ".join("".join(kept).split())


def _collect(table: dict[str, str]) -> frozenset[str]:
    return frozenset(_normalise(phrase) for phrases in table.values() for phrase in phrases.split(", "))


_YES_WORDS, _NO_WORDS = _collect(YES), _collect(NO)

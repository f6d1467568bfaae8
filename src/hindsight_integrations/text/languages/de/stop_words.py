"""German words that tell no two memories apart."""

from __future__ import annotations

# Function words, and verbs and adverbs any sentence may have.
_FUNCTION_WORDS = """
    ab aber all alle allem allen aller alles als also am an andere anderem anderen anderer anderes auch auf aus bei beim bin
    bis bist bloß da dabei dafür dagegen daher dahin damals damit danach daneben dann daran darauf daraus darin darüber
    darum das dass daß davon dazu dein deine deinem deinen deiner deines dem den denen denn der deren des deshalb dessen dich
    die dies diese diesem diesen dieser dieses dir doch dort du durch eben ebenso ein eine einem einen einer eines einige
    einigen einmal er erst es etwa etwas euch euer eure eurem euren für gar gegen gehabt geworden gerade gern gerne gewesen
    gibt habe haben habt hast hat hatte hatten hattest hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer ihres im
    immer in ins ist ja je jede jedem jeden jeder jedes jetzt kann kannst kein keine keinem keinen keiner keines können könnt
    konnte konnten lassen ließ machen machst macht machte mal man manche manchmal mehr mein meine meinem meinen meiner meines
    mich mir mit möchte muss musst musste müssen nach nachdem nachher neben nein nicht nichts noch nun nur ob obwohl oder
    ohne schon sehr seid sein seine seinem seinen seiner seines seit selbst sich sie sind so solche soll sollen sollte
    sondern sonst soviel sowie trotzdem über um und uns unser unsere unserem unseren unserer unter viel viele vielen vom von
    vor während wann war waren warst warum was weg wegen weil weiter welche welchem welchen welcher welches wenig wenn wer
    werde werden weshalb wie wieder wieso will willst wir wird wirst wo wobei woher wohin wollen wollte womit worden worüber
    wurde wurden zu zum zur zwar zwischen
"""
_PLACES = frozenset({"liste", "listen", "feld", "abschnitt"})  # where something is kept, not what it is

STOP_WORDS = frozenset(_FUNCTION_WORDS.split()) | _PLACES

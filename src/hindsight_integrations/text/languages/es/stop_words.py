"""Spanish words that tell no two memories apart."""

from __future__ import annotations

# Function words, and verbs and adverbs any sentence may have.
_FUNCTION_WORDS = """
    a al algo alguien algún alguna algunas alguno algunos ahora ahí allí aquí antes aún así aunque bien cada casi como cómo
    con contra cual cuál cuáles cuando cuándo cuánto cuánta cuántos cuántas de del desde después donde dónde durante e el
    él ella ellas ello ellos en entonces entre era eran eras eres es esa esas ese eso esos esta está estaba estaban estado
    estamos están estar estas estás este esto estos estoy estuve estuvo fue fueron fui ha había habían haber hace hacer
    haciendo hago han has hasta hay he hemos hecho hice hizo iba ir la las le les lo los luego más me mi mí mía mías mío
    míos mis mismo misma mucho mucha muchos muchas muy nada ni no nos nosotras nosotros nuestra nuestras nuestro nuestros o
    os otra otras otro otros para pero poco por porque pues que qué quien quién quiénes se sea ser si sí sido siempre sin
    sobre solo sólo somos son soy su sus suya suyo también tampoco tan tanto te tengo tiene tienen tener ti todavía todo
    toda todos todas tu tú tus tuyo tuya u un una unas uno unos va vamos van vas voy y ya yo
"""
_PLACES = frozenset({"lista", "listas", "campo", "sección"})  # where something is kept, not what it is

STOP_WORDS = frozenset(_FUNCTION_WORDS.split()) | _PLACES

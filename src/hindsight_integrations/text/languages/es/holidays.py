"""Holidays by their Spanish names, without accents. Add one by adding a row.

Feasts that are also towns or first names ("San José", "Pilar") are known by "día de ..." alone. Mother's and Father's
Day are those of most countries, the second Sunday of May and the third of June.
"""

from __future__ import annotations

from datetime import timedelta

from hindsight_integrations.text.time_expressions.calendar import SUNDAY, Span, Unit, easter
from hindsight_integrations.text.time_expressions.meanings.holidays import THANKSGIVING, fixed, moved, nth
from hindsight_integrations.text.time_expressions.words import YearlyTime


def _holy_week(year: int) -> Span:
    """From Monday to Easter Sunday."""
    end = easter(year).end
    return Span(end - timedelta(days=7), end, Unit.WEEK)


HOLIDAYS: dict[str, YearlyTime] = {
    "ano nuevo": fixed(1, 1),
    "dia de ano nuevo": fixed(1, 1),
    "noche de reyes": fixed(1, 5),
    "cabalgata de reyes": fixed(1, 5),
    "reyes": fixed(1, 6),
    "reyes magos": fixed(1, 6),
    "dia de reyes": fixed(1, 6),
    "dia de los reyes magos": fixed(1, 6),
    "dia de los reyes": fixed(1, 6),
    "epifania": fixed(1, 6),
    "dia de la candelaria": fixed(2, 2),
    "san valentin": fixed(2, 14),
    "dia de san valentin": fixed(2, 14),
    "dia de los enamorados": fixed(2, 14),
    "dia del amor y la amistad": fixed(2, 14),
    "dia de la mujer": fixed(3, 8),
    "dia de san patricio": fixed(3, 17),
    "san patricio": fixed(3, 17),
    "dia de san jose": fixed(3, 19),
    "carnaval": moved(easter, -47),
    "carnavales": moved(easter, -47),
    "martes de carnaval": moved(easter, -47),
    "martes de carnestolendas": moved(easter, -47),
    "miercoles de ceniza": moved(easter, -46),
    "domingo de ramos": moved(easter, -7),
    "semana santa": _holy_week,
    "jueves santo": moved(easter, -3),
    "viernes santo": moved(easter, -2),
    "sabado santo": moved(easter, -1),
    "sabado de gloria": moved(easter, -1),
    "pascua": easter,
    "pascuas": easter,
    "dia de pascua": easter,
    "domingo de pascua": easter,
    "domingo de resurreccion": easter,
    "domingo de gloria": easter,
    "lunes de pascua": moved(easter, 1),
    "dia de la ascension": moved(easter, 39),
    "pentecostes": moved(easter, 49),
    "domingo de pentecostes": moved(easter, 49),
    "corpus christi": moved(easter, 60),
    "dia del libro": fixed(4, 23),
    "sant jordi": fixed(4, 23),
    "dia de la tierra": fixed(4, 22),
    "dia del trabajo": fixed(5, 1),
    "dia del trabajador": fixed(5, 1),
    "dia de los trabajadores": fixed(5, 1),
    "dia de la madre": nth(5, SUNDAY, 2),
    "dia de las madres": nth(5, SUNDAY, 2),
    "dia del padre": nth(6, SUNDAY, 3),
    "noche de san juan": fixed(6, 23),
    "vispera de san juan": fixed(6, 23),
    "dia de san juan": fixed(6, 24),
    "san fermin": fixed(7, 7),
    "sanfermines": fixed(7, 7),
    "dia de la asuncion": fixed(8, 15),
    "virgen de agosto": fixed(8, 15),
    "dia del pilar": fixed(10, 12),
    "dia de la hispanidad": fixed(10, 12),
    "dia de la raza": fixed(10, 12),
    "halloween": fixed(10, 31),
    "noche de brujas": fixed(10, 31),
    "todos los santos": fixed(11, 1),
    "dia de todos los santos": fixed(11, 1),
    "dia de muertos": fixed(11, 2),
    "dia de los muertos": fixed(11, 2),
    "dia de los difuntos": fixed(11, 2),
    "accion de gracias": THANKSGIVING,
    "dia de accion de gracias": THANKSGIVING,
    "black friday": moved(THANKSGIVING, 1),
    "viernes negro": moved(THANKSGIVING, 1),
    "cyber monday": moved(THANKSGIVING, 4),
    "dia de la constitucion": fixed(12, 6),
    "dia de la inmaculada": fixed(12, 8),
    "dia de la virgen de guadalupe": fixed(12, 12),
    "dia de guadalupe": fixed(12, 12),
    "nochebuena": fixed(12, 24),
    "noche buena": fixed(12, 24),
    "navidad": fixed(12, 25),
    "navidades": fixed(12, 25),
    "dia de navidad": fixed(12, 25),
    "dia de san esteban": fixed(12, 26),
    "santos inocentes": fixed(12, 28),
    "dia de los inocentes": fixed(12, 28),
    "dia de los santos inocentes": fixed(12, 28),
    "nochevieja": fixed(12, 31),
    "noche vieja": fixed(12, 31),
    "fin de ano": fixed(12, 31),
}

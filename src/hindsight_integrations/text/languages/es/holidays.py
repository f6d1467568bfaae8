"""Holidays by their Spanish names, without accents. Add one by adding a row.

Feasts that are also towns or first names ("San José", "Pilar") are known by "día de ..." alone. Mother's and Father's
Day are those of most countries, the second Sunday of May and the third of June.
"""

from __future__ import annotations

from datetime import timedelta

from hindsight_integrations.text.time_expressions.calendar import SUNDAY, Span, Unit, easter
from hindsight_integrations.text.time_expressions.meanings.holidays import (
    THANKSGIVING,
    fixed,
    moved,
    named,
    nth,
)


def _holy_week(year: int) -> Span:
    """From Monday to Easter Sunday."""
    end = easter(year).end
    return Span(end - timedelta(days=7), end, Unit.WEEK)


HOLIDAYS = named(
    (fixed(1, 1), "ano nuevo, dia de ano nuevo"),
    (fixed(1, 5), "noche de reyes, cabalgata de reyes"),
    (fixed(1, 6), "reyes, reyes magos, dia de reyes, dia de los reyes magos, dia de los reyes, epifania"),
    (fixed(2, 2), "dia de la candelaria"),
    (fixed(2, 14), "san valentin, dia de san valentin, dia de los enamorados, dia del amor y la amistad"),
    (fixed(3, 8), "dia de la mujer"),
    (fixed(3, 17), "dia de san patricio, san patricio"),
    (fixed(3, 19), "dia de san jose"),
    (moved(easter, -47), "carnaval, carnavales, martes de carnaval, martes de carnestolendas"),
    (moved(easter, -46), "miercoles de ceniza"),
    (moved(easter, -7), "domingo de ramos"),
    (_holy_week, "semana santa"),
    (moved(easter, -3), "jueves santo"),
    (moved(easter, -2), "viernes santo"),
    (moved(easter, -1), "sabado santo, sabado de gloria"),
    (easter, "pascua, pascuas, dia de pascua, domingo de pascua, domingo de resurreccion, domingo de gloria"),
    (moved(easter, 1), "lunes de pascua"),
    (moved(easter, 39), "dia de la ascension"),
    (moved(easter, 49), "pentecostes, domingo de pentecostes"),
    (moved(easter, 60), "corpus christi"),
    (fixed(4, 23), "dia del libro, sant jordi"),
    (fixed(4, 22), "dia de la tierra"),
    (fixed(5, 1), "dia del trabajo, dia del trabajador, dia de los trabajadores"),
    (nth(5, SUNDAY, 2), "dia de la madre, dia de las madres"),
    (nth(6, SUNDAY, 3), "dia del padre"),
    (fixed(6, 23), "noche de san juan, vispera de san juan"),
    (fixed(6, 24), "dia de san juan"),
    (fixed(7, 7), "san fermin, sanfermines"),
    (fixed(8, 15), "dia de la asuncion, virgen de agosto"),
    (fixed(10, 12), "dia del pilar, dia de la hispanidad, dia de la raza"),
    (fixed(10, 31), "halloween, noche de brujas"),
    (fixed(11, 1), "todos los santos, dia de todos los santos"),
    (fixed(11, 2), "dia de muertos, dia de los muertos, dia de los difuntos"),
    (THANKSGIVING, "accion de gracias, dia de accion de gracias"),
    (moved(THANKSGIVING, 1), "black friday, viernes negro"),
    (moved(THANKSGIVING, 4), "cyber monday"),
    (fixed(12, 6), "dia de la constitucion"),
    (fixed(12, 8), "dia de la inmaculada"),
    (fixed(12, 12), "dia de la virgen de guadalupe, dia de guadalupe"),
    (fixed(12, 24), "nochebuena, noche buena"),
    (fixed(12, 25), "navidad, navidades, dia de navidad"),
    (fixed(12, 26), "dia de san esteban"),
    (fixed(12, 28), "santos inocentes, dia de los inocentes, dia de los santos inocentes"),
    (fixed(12, 31), "nochevieja, noche vieja, fin de ano"),
)  # fmt: skip

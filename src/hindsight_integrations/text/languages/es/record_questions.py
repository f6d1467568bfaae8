"""Spanish questions over records: how they are asked, what records may be of, and how they are answered."""

from __future__ import annotations

import re

from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.time import Granule
from hindsight_integrations.text.record_words import (
    AnswerWords,
    Cue,
    ListingWords,
    RecordWords,
    by_form,
    words_of,
)

_POLITE = re.compile(
    r"^(?:(?:oye|hola|vale|y|entonces|bueno|por favor)\b[,:]? ?)*"
    r"(?:(?:puedes|podrías|puede|podría) (?:decirme|recordarme|calcular(?:me)?)|(?:por favor,? )?dime(?: por favor)?|sabes"
    r"|quiero saber|quisiera saber|me gustaría saber)\b[,:]? ?"
    r"|^(?:(?:oye|hola|vale|y|entonces|bueno|por favor)\b[,:]? ?)+",
    re.IGNORECASE,
)


def _rewritten(text: str) -> str:
    """Without politeness and contractions of preposition and article that carry nothing."""
    return _POLITE.sub("", text)


_PERIOD = "(?:días?|dias?|semanas?|mes(?:es)?)"
_NUMBER_NEXT = r"(?= [$\u20ac\u00a3]?\s?\d)"
_CUES = {
    Cue.HOW_MUCH: r"cu[áa]nto(?: dinero)?",
    Cue.HOW_MANY: rf"cu[áa]nt[oa]s(?! (?:veces|años|{_PERIOD})\b)",
    Cue.HOW_OFTEN: r"cu[áa]ntas veces|con qu[ée] frecuencia",
    Cue.HOW_FAR: r"qu[ée] distancia",
    Cue.HOW_LONG: r"cu[áa]nto tiempo",
    Cue.WHEN: r"cu[áa]ndo",
    Cue.WHETHER: r"he(?= (?:cumplido|alcanzado|logrado|superado|excedido|sobrepasado|pasado|incumplido|mantenido|conseguido))|estoy",
    Cue.HOW_DOING: r"c[óo]mo voy con",
    Cue.FARTHEST: r"m[áa]s lejos",
    Cue.PER_RECORD: rf"(?:por|cada)(?= (?!{_PERIOD}\b)(?:caf|compra))",
    Cue.TOTAL: r"(?:el )?total(?: de)?|en total|la suma(?: de)?|en conjunto|sumad[oa]s?",
    Cue.NUMBER: r"(?:el )?n[úu]mero (?:total )?de|la cantidad de",
    Cue.AVERAGE: r"(?:la |el |mi )?(?:media|promedio)|de media|en promedio|por t[ée]rmino medio",
    Cue.LAST: r"(?:la )?[úu]ltima vez(?: que)?|[úu]ltim[oa]s?|m[áa]s recientes?",
    Cue.LIST: r"(?:haz(?:me)? |dame |mu[ée]strame )?(?:una )?lista(?: de)?(?: tod[oa]s)?|qu[ée](?= gastos\b)|mu[ée]strame|enumera|listar?",
    Cue.DEAREST: r"m[áa]s car[oa]s?",
    Cue.MOST: r"m[áa]s|(?:el |la )?(?:mayor|m[áa]xim[oa])",
    Cue.LEAST: r"menos|(?:el |la )?(?:menor|m[íi]nim[oa])",
    Cue.WHICH_PERIOD: rf"(?:en )?qu[ée] {_PERIOD}|cu[áa]l fue (?:el|la) {_PERIOD}(?: en(?: el| la)? que)?",
    Cue.HOW_MANY_PERIODS: rf"(?:en |durante )?cu[áa]nt[oa]s {_PERIOD}",
    Cue.PER_PERIOD: rf"(?:por|cada) {_PERIOD}|al (?:d[íi]a|mes)|a la semana|en un (?:solo )?(?:d[íi]a|mes)|en una (?:sola )?semana"
    r"|diari[oa]s?|semanal(?:es)?|mensual(?:es)?",
    Cue.AT_LEAST: rf"(?:al menos|por lo menos|como m[íi]nimo|no menos de){_NUMBER_NEXT}",
    Cue.MORE: rf"(?:m[áa]s de|por encima de){_NUMBER_NEXT}",
    Cue.AT_MOST: rf"(?:como mucho|como m[áa]ximo|no m[áa]s de|hasta){_NUMBER_NEXT}",
    Cue.LESS: rf"(?:menos de|por debajo de){_NUMBER_NEXT}",
    Cue.MISSED: r"incumpl(?:id[oa]|[íi])|no (?:he )?(?:cumpl(?:id[oa]|[íi])|alcan(?:zad[oa]|c[ée])|logr(?:ad[oa]|[ée])|lleg(?:ad[oa]|u[ée]) a)",
    Cue.MET: r"cumpl(?:id[oa]|[íi])|alcan(?:zad[oa]|c[ée])|logr(?:ad[oa]|[ée])|conseguido|cumpliendo|alcanzando|dentro(?= de)"
    r"|lleg(?:ad[oa]|u[ée]) a",
    Cue.OVER: r"superad[oa]|super[ée]|excedid[oa]|exced[íi]|sobrepasad[oa]|pasado(?= de)|por encima(?= de)",
    Cue.UNDER: r"por debajo(?= de)",
    Cue.GOAL: r"objetivo|meta|presupuesto|l[íi]mite",
    Cue.GOALS: r"objetivos|metas|presupuestos|l[íi]mites",
    Cue.SPEND: r"gast[éeo]|gastad[oa]s?|pagu[ée]|pagad[oa]|pago(?= por)",
    Cue.COST: r"cost[óo]|costaron|cuesta",
    Cue.BUY: r"compr[ée]|comprad[oa]s?|compro",
    Cue.EARN: r"gan[ée]|ganad[oa]|ingres[ée]|gano",
    Cue.SPENDING: r"(?:mi |el )gasto|gastos|costes?",
    Cue.PURCHASES: r"compras?",
    Cue.INCOME: r"ingresos?",
    Cue.TASKS: r"tareas(?: pendientes)?|(?:mi )?lista de tareas|tengo que hacer|tengo pendientes?|pendientes?",
    Cue.EVENTS: r"eventos?|citas?",
    Cue.PREFERENCES: r"preferencias",
    Cue.WHAT: r"qu[ée]|cu[áa]l(?:es)?",
}
_FILLER = words_of(
    """yo me mi mis un una unos unas el la los las lo de del en a al para por he hay es son fue fueron era está están
    hasta ahora dado hecho tengo exactamente actualmente registrado registrada registrados registradas apuntado
    apuntados di dinero cantidad importe que se doy han"""
)
_THINGS = by_form(
    {
        "bakery": "panadería",
        "bills": "factura, facturas",
        "books": "libro, libros",
        "bread": "pan",
        "breakfast": "desayuno, desayunos, desayunar",
        "car": "coche, carro",
        "charity": "donación, donaciones",
        "cinema": "cine, entradas de cine, película, películas",
        "clothes": "ropa",
        "coffee": "café, cafés",
        "concert": "concierto, conciertos",
        "cosmetics": "cosméticos",
        "cycling": "bici, bicicleta, ciclismo",
        "dentist": "dentista",
        "dessert": "postre, postres",
        "dinner": "cena, cenas, cenar",
        "doctor": "médico",
        "drinks": "bebida, bebidas",
        "electricity": "luz, electricidad",
        "electronics": "electrónica",
        "entertainment": "ocio, entretenimiento",
        "food": "comida, alimentación, alimentos",
        "fruit": "fruta",
        "fuel": "gasolina, combustible",
        "furniture": "muebles",
        "games": "juego, juegos, videojuegos",
        "gifts": "regalo, regalos",
        "groceries": "supermercado, comestibles",
        "gym": "gimnasio",
        "haircut": "peluquería",
        "health": "salud",
        "hiking": "senderismo",
        "hotel": "hoteles, alojamiento",
        "ice cream": "helado, helados",
        "insurance": "seguro, seguros",
        "juice": "zumo, jugo",
        "km": "quilómetros",
        "lunch": "almuerzo, almuerzos, almorzar",
        "meat": "carne",
        "medicine": "medicina, medicinas, medicamentos, farmacia",
        "meditation": "meditación, meditado",
        "pages": "página, páginas",
        "parking": "aparcamiento",
        "pets": "mascota, mascotas",
        "phone": "teléfono, móvil",
        "reading": "leído, leí, lectura",
        "rent": "alquiler, renta",
        "restaurant": "restaurante, restaurantes",
        "running": "correr, corrí, corrido, carrera, carreras",
        "salary": "sueldo, salario, nómina",
        "school": "escuela",
        "shoes": "zapatos",
        "sleep": "sueño, dormido, dormí, dormir",
        "sports": "deporte, deportes",
        "steps": "paso, pasos",
        "studying": "estudiado, estudié, estudiar",
        "subscriptions": "suscripción, suscripciones",
        "sweets": "dulces, chocolate",
        "swimming": "natación, nadado, nadé, nadar",
        "tax": "impuesto, impuestos",
        "taxi": "taxis",
        "tea": "té, tés",
        "theatre": "teatro",
        "tickets": "entradas",
        "tips": "propina, propinas",
        "toys": "juguetes",
        "train": "tren, trenes",
        "transport": "transporte",
        "travel": "viaje, viajes",
        "vegetables": "verdura, verduras",
        "walking": "caminar, caminado, caminé, andado, anduve, paseo, paseos",
        "water": "agua",
        "weight": "peso, pesado, pesé",
        "height": "altura",
        "temperature": "temperatura",
        "heart rate": "pulso, frecuencia cardíaca",
        "blood pressure": "tensión, presión arterial",
        "work": "trabajo, trabajado, trabajé",
        "workout": "entrenamiento, entrenamientos, ejercicio",
        "yoga": "",
    }
)

_LISTING = ListingWords(
    asking=re.compile(
        r"(?:(?:oye|bueno|por favor)\b[,:]? ?)*(?:puedes )?(?:qu[eé]|cu[aá]l(?:es)?|lista|enumera|mu[eé]strame|dame|dime|cu[aá]nt[oa]s?|tengo|hay|en qu[eé])\b"
    ),
    kinds={
        RecordKind.TASK: re.compile(r"\b(?:recados|lista de tareas)\b"),
        RecordKind.EVENT: re.compile(r"\b(?:agenda|calendario|previsto|planeado|planes)\b"),
    },
    idle=words_of(
        "a al algo alguna anotado apuntado con conoces de del el en es esa ese esta este estoy está están "
        "hacer hay haz he la las le lista lo los me mi mis mía mío nuestra nuestras nuestro nuestros para "
        "pendiente pendientes por puntos que queda quedan qué registrado sabes se son su sus tengo tiene "
        "tienen todas todo todos total tus un una y ya"
    ),
)

RECORDS = RecordWords(
    listing=_LISTING,
    opening=re.compile(
        r"(?:¿ ?)?(?:cu[áa]nt[oa]s?|qu[ée]|cu[áa]l(?:es)?|cu[áa]ndo|c[óo]mo voy|con qu[ée]|en (?:qu[ée]|cu[áa]nt[oa]s|total|promedio)"
        r"|durante cu[áa]nt[oa]s|he|estoy|cumpl[íi]|alcanc[ée]|super[ée]|lista|haz|dame|mu[ée]strame|enumera|el total|total|la suma"
        r"|el n[úu]mero|de media|la media|el promedio)\b"
    ),
    sentence=re.compile(r"[.!,]|\b(?:yo|es|son|fue|fueron|era|he|ha|han|no|que|está|están)\b"),
    cues=_CUES,
    periods={
        **dict.fromkeys(("día", "días", "dia", "dias", "diario", "diaria", "diarios", "diarias"), Granule.DAY),
        **dict.fromkeys(("semana", "semanas", "semanal", "semanales"), Granule.WEEK),
        **dict.fromkeys(("mes", "meses", "mensual", "mensuales"), Granule.MONTH),
    },
    filler=_FILLER,
    things=_THINGS,
    rewritten=_rewritten,
    habit=re.compile(r"\b(?:gasto|pago|compro|gano|cuesta)\b"),
    at_most=re.compile(
        r"\b(?:como mucho|como máximo|no más de|menos de|límite|presupuesto|máximo|no superar|no pasar de|reducir)\b", re.IGNORECASE
    ),
    at_least=re.compile(r"\b(?:al menos|por lo menos|como mínimo|más de|alcanzar|llegar a)\b", re.IGNORECASE),
    done=re.compile(r"\((?:hecho|hecha|completad[oa]|terminad[oa]|eliminad[oa]|borrad[oa])\)\s*$", re.IGNORECASE),
    answers=AnswerWords(
        records=("1 registro", "{count} registros"),
        kinds={
            "expense": "gastos", "income": "ingresos", "quantity": "mediciones", "goal": "objetivos", "task": "tareas",
            "event": "eventos", "preference": "preferencias", "document_item": "puntos", "other": "otros registros",
        },
        whenever="en cualquier fecha",
        day="{start}",
        days="del {start} al {end}",
        list="{subject}, {when}: {items} ({records}).",
        total="{subject}, {when}: {value} en total ({records}).",
        count="{subject}, {when}: {records}.",
        average="{subject}, {when}: {value} de media por registro ({records}, {total} en total).",
        average_period="{subject}, {when}: {value} {per} de media, en {periods} con registros ({total} en total).",
        latest="{subject}, por última vez el {date}: {value}.",
        goal="{subject}, {when}: {value} frente a {target}: {standing} ({records}).",
        goal_average="{subject}, {when}: {value} {per} de media frente a {target}: {standing}"
        " (así en {met} de {periods} con registros, {total} en total).",
        most="{subject}, {when}: el máximo fue {value}: {periods}.",
        least="{subject}, {when}: el mínimo fue {value}: {periods}. Solo cuentan las fechas con registros.",
        counted="{subject}, {when}: {target}: {standing} en {count} de {periods} con registros.",
        units={"day": ("1 día", "{count} días"), "week": ("1 semana", "{count} semanas"), "month": ("1 mes", "{count} meses")},
        per={"day": "al día", "week": "a la semana", "month": "al mes"},
        standing={
            "met": "cumplido", "missed": "no cumplido", "over": "superado", "under": "por debajo",
            "kept": "respetado", "broken": "superado", "kept so far": "respetado hasta ahora",
            "missed so far": "no cumplido hasta ahora",
        },
        bounds={">=": "al menos {value}", ">": "más de {value}", "<=": "como mucho {value}", "<": "menos de {value}"},
        none="{subject}, {when}: no hay nada registrado.",
        and_="y",
    ),
)  # fmt: skip

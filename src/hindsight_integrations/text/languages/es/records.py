"""Spanish words for records: how figures of them are asked for, and what they may be of."""

from __future__ import annotations

import re

from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.time import Granule
from hindsight_integrations.text.record_words import RecordWords, by_form, words_of

_THINGS = by_form(
    {
        "bakery": "panadería",
        "beer": "cerveza, cervezas",
        "bills": "factura, facturas, recibo, recibos",
        "blood pressure": "tensión, presión arterial",
        "bonus": "bonificación, prima",
        "books": "libro, libros, lecturas",
        "bread": "pan",
        "breakfast": "desayuno, desayunos, desayunar",
        "bus": "autobús, autobuses, buses",
        "calories": "calorías, caloría",
        "car": "coche, carro",
        "cat": "gato, gatos",
        "charity": "donación, donaciones",
        "chess": "ajedrez",
        "childcare": "guardería",
        "cinema": "cine, entradas de cine, película, películas, entrada de cine, pelis, peli",
        "cleaning": "limpieza",
        "clothes": "ropa",
        "coffee": "café, cafés",
        "commission": "comisión, comisiones",
        "concert": "concierto, conciertos",
        "cosmetics": "cosméticos",
        "cycling": "bici, bicicleta, ciclismo",
        "dentist": "dentista",
        "dessert": "postre, postres",
        "dinner": "cena, cenas, cenar",
        "doctor": "médico",
        "dog": "perro, perros",
        "drinks": "bebida, bebidas",
        "eating out": "comer fuera, salir a comer",
        "electricity": "luz, electricidad",
        "electronics": "electrónica",
        "entertainment": "ocio, entretenimiento",
        "fast food": "comida rápida",
        "flights": "vuelo, vuelos",
        "food": "comida, alimentación, alimentos",
        "freelance": "autónomo, honorarios",
        "fruit": "fruta",
        "fuel": "gasolina, combustible, repostado, reposté, repostar, llenado el depósito, depósito, tanque",
        "furniture": "muebles, mueble",
        "games": "juego, juegos, videojuegos",
        "garden": "jardín, jardinería",
        "gifts": "regalo, regalos, regalado, regalé",
        "groceries": "supermercado, comestibles, súper, super, supermercados, compra del súper, compra semanal, mercado",
        "guitar": "guitarra",
        "gym": "gimnasio",
        "haircut": "peluquería, peluquero, corte de pelo, cortes de pelo, cortarme el pelo",
        "health": "salud",
        "heart rate": "pulso, frecuencia cardíaca",
        "height": "altura",
        "hiking": "senderismo",
        "hobby": "aficiones, afición",
        "hotel": "hoteles, alojamiento",
        "household": "hogar",
        "ice cream": "helado, helados",
        "insurance": "seguro, seguros, póliza",
        "interest": "intereses",
        "internet": "",
        "juice": "zumo, jugo",
        "km": "quilómetros",
        "lunch": "almuerzo, almuerzos, almorzar",
        "meat": "carne",
        "medicine": "medicina, medicinas, medicamentos, farmacia, farmacias, medicación",
        "meditation": "meditación, meditado",
        "pages": "página, páginas",
        "parking": "aparcamiento, estacionamiento",
        "pets": "mascota, mascotas",
        "phone": "teléfono, móvil, celular",
        "piano": "",
        "push-ups": "flexiones",
        "reading": "leído, leí, lectura",
        "refund": "reembolso, reembolsos, devolución",
        "rent": "alquiler, renta",
        "repairs": "reparación, reparaciones",
        "restaurant": "restaurante, restaurantes",
        "running": "correr, corrí, corrido, carrera, carreras, corriendo, corridos, corro, trotar",
        "salary": "sueldo, salario, nómina",
        "savings": "ahorrado, ahorros, ahorrar",
        "school": "escuela",
        "screen time": "tiempo de pantalla",
        "shoes": "zapatos",
        "sleep": "sueño, dormido, dormí, dormir, duermo, noche, noches",
        "snacks": "aperitivos",
        "sports": "deporte, deportes",
        "steps": "paso, pasos",
        "studying": "estudiado, estudié, estudiar",
        "subscriptions": "suscripción, suscripciones",
        "sweets": "dulces, chocolate",
        "swimming": "natación, nadado, nadé, nadar",
        "takeaway": "comida para llevar, para llevar, comida a domicilio, a domicilio, domicilio",
        "tax": "impuesto, impuestos",
        "taxi": "taxis",
        "tea": "té, tés",
        "temperature": "temperatura",
        "theatre": "teatro",
        "tickets": "entradas",
        "tips": "propina, propinas",
        "tolls": "peaje, peajes",
        "tools": "herramientas",
        "toys": "juguetes",
        "train": "tren, trenes",
        "translation": "traducción, traducciones, traducir, traducido",
        "transport": "transporte",
        "travel": "viaje, viajes",
        "utilities": "suministros",
        "vegetables": "verdura, verduras",
        "vet": "veterinario",
        "walking": "caminar, caminado, caminé, andado, anduve, paseo, paseos, caminata, caminatas, camino",
        "water": "agua, aguas",
        "weight": "peso, pesado, pesé, báscula, peso yo",
        "wine": "vino, vinos",
        "work": "trabajo, trabajado, trabajé",
        "workout": "entrenamiento, entrenamientos, ejercicio",
        "writing": "escrito, escribir",
        "yoga": "",
    }
)


RECORDS = RecordWords(
    figures=re.compile(
        r"(?<!\w)(?:cu[áa]nt[oa]s?|total|totales|en suma|suman?|sumad[oa]s?|(?:de |la |mi )media|promedio|por t[ée]rmino medio|n[úu]mero de|cantidad de|con qu[ée] frecuencia"
        r"|(?:en )?qu[ée] (?:d[íi]a|semana|mes)|m[áa]s (?:car|barat|larg|cort|alt|baj|pesad)[oa]s?|mayor|menor|m[áa]xim[oa]|m[íi]nim[oa]|r[ée]cord)(?!\w)"
    ),
    otherwise=re.compile(
        r"(?<!\w)(?:qui[ée]n(?:es)?|d[óo]nde|ad[óo]nde|cu[áa]ndo|c[óo]mo(?! voy)|qu[ée] (?:tipo|clase|marca)|gust\w*|encant\w*|prefier\w*|favorit[oa]s?|llama|dij[eo]|cont[ée]|piens\w*"
        r"|opin\w*|recetas?|mejor(?:es)?|hizo|habl\w+)(?!\w)"
    ),
    advice=re.compile(
        r"(?<!\w)(?:deber[íi]a\w*|debo|puedo|puedes|podr[íi]a\w*|recomiend\w*|recomend\w*|sugi?er\w*|ideas?|consejos?|conviene|vale la pena|san[oa]|saludable|por qu[ée]|hay alg[úu]n\w*)(?!\w)"
    ),
    lists=re.compile(r"(?<!\w)(?:lista|listar?|enumera|mu[ée]strame|ens[ée][ñn]ame|dame|dime|qu[ée]|cu[áa]l(?:es)?|tod[oa]s)(?!\w)"),
    yes_or_no=re.compile(r"\W*(?:(?:y|oye|pues) )?(?:me )?(?:he|estoy|voy|cumpl[íi]|alcanc[ée]|super[ée]|es|son|est[áa]|hay|tengo|ha|fue)(?!\w)"),
    which=words_of("qué que cuál cual cuáles"),
    goals=re.compile(r"(?<!\w)(?:objetivos?|metas?|presupuestos?|l[íi]mites?|pas(?:ando|ado|[ée])(?= (?:con|de))|demasiad[oa]s?)(?!\w)"),
    kinds={
        RecordKind.EXPENSE: re.compile(
            r"(?<!\w)(?:gast[éeo]|gastad[oa]s?|gastar|gastos?|pagu[ée]|pagad[oa]s?|pago|cost[óo]|costaron|cuesta|compr[ée]|comprad[oa]s?|compras|coste|se me (?:fue|ha ido|han ido)|dej[ée])(?!\w)"
        ),
        RecordKind.INCOME: re.compile(r"(?<!\w)(?:gan[ée]|ganad[oa]|gano|ingres[ée]|ingresos?|cobr[ée]|cobrad[oa]|cobro)(?!\w)"),
        RecordKind.TASK: re.compile(r"(?<!\w)(?:tareas|lista de tareas|recados|pendientes|por hacer|tengo que hacer)(?!\w)"),
        RecordKind.EVENT: re.compile(r"(?<!\w)(?:eventos?|citas?|calendario|previsto|planeado)(?!\w)"),
        RecordKind.PREFERENCE: re.compile(r"(?<!\w)preferencias(?!\w)"),
        RecordKind.GOAL: re.compile(r"(?<!\w)(?:objetivos|metas|presupuestos|l[íi]mites)(?!\w)"),
    },
    idle=words_of(
        """actualmente anotado apuntado apuntados cantidad conoces dado di dinero doy exactamente haz importe lista pendiente
        pendientes puntos queda quedan registrada registradas registrado registrados sabes total"""
    ),
    things=_THINGS,
    periods={
        **dict.fromkeys(("día", "días", "dia", "dias", "diario", "diaria", "diarios", "diarias"), Granule.DAY),
        **dict.fromkeys(("semana", "semanas", "semanal", "semanales"), Granule.WEEK),
        **dict.fromkeys(("mes", "meses", "mensual", "mensuales"), Granule.MONTH),
    },
    at_most=re.compile(
        r"\b(?:como mucho|como máximo|no más de|menos de|límite|presupuesto|máximo|no superar|no pasar de|reducir)\b", re.IGNORECASE
    ),
    at_least=re.compile(r"\b(?:al menos|por lo menos|como mínimo|más de|alcanzar|llegar a)\b", re.IGNORECASE),
    done=re.compile(r"\((?:hecho|hecha|completad[oa]|terminad[oa]|eliminad[oa]|borrad[oa])\)\s*$", re.IGNORECASE),
)  # fmt: skip

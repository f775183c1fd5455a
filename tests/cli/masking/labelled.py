#!/usr/bin/env python3
"""Writes texts with labelled personal data, as JSON lines: {"text": ..., "spans": [[start, end, kind], ...]}.

The values are those of the library Faker, which knows the forms of each country; the texts around them are ours. Positions
are in bytes of UTF-8. The seed is fixed, so that each run writes the same texts.

    labelled.py COUNT
"""

import json
import random
import sys

from faker import Faker

# The locales, with the names of their identifiers in texts; none where Faker's is another number.
LOCALES = {
    "de_DE": None, "de_CH": "AHV", "de_AT": None, "en_CA": "SIN", "en_GB": None, "en_US": "SSN",
    "es_ES": "DNI", "fi_FI": "HETU", "fr_FR": "NIR", "it_IT": "codice fiscale", "nl_BE": "RRN",
    "nl_NL": "BSN", "no_NO": "fødselsnummer", "pl_PL": "PESEL", "pt_BR": "CPF", "sv_SE": "personnummer",
    "zh_CN": "ID", "ko_KR": "RRN",
}
# What each locale calls a telephone number.
PHONES = ["Tel.", "phone", "Mobile", "Telefon", "Téléphone", "teléfono", "tel", "Fax", "mobil"]


def identifier(fake, locale):
    if locale == "es_ES":
        return fake.random_element([fake.nif, fake.nie])()
    if locale == "pl_PL":
        return fake.pesel()
    if locale == "pt_BR":
        return fake.cpf()
    return fake.ssn()


def value(fake, locale, kind, rng):
    if kind == "phone":
        return fake.phone_number()
    if kind == "iban":
        plain = fake.iban()
        return " ".join(plain[at:at + 4] for at in range(0, len(plain), 4)) if rng.random() < 0.5 else plain
    if kind == "national-id":
        return identifier(fake, locale)
    if kind == "ip-address":
        return fake.ipv4_public()
    if kind == "mac-address":
        return fake.mac_address()
    if kind == "person-name":
        return f"{fake.first_name()} {fake.last_name()}"
    if kind == "postal-address":
        return fake.street_address()
    if kind == "email":
        return fake.ascii_safe_email()
    return fake.credit_card_number(card_type=rng.choice(["visa", "mastercard"]))


# The text around a value, with what names it where people write it so. `{}` is the value, `[]` its name.
FRAMES = {
    "phone": ["{name}: {}", "call me at {name} {}", '"{name}": "{}"', "{name}={}", "| {name} | {} |"],
    "iban": ["please pay to {}", "IBAN: {}", '"iban": "{}"', "transfer {} today", "account={}"],
    "national-id": ["{name} {}", "{name}: {}", '"{name}": "{}"', "her {name} is {}."],
    "ip-address": ["login from {}", '"client_ip": "{}"', "{} - - [28/Nov/2026] GET /", "host {} is up"],
    "mac-address": ["ether {}", '"mac": "{}"', "device {} joined"],
    "person-name": ["Dear {},", 'full_name: "{}"', "ask Mr. {} about it", '"customer_name": "{}"', "patient = '{}'"],
    "postal-address": ["she lives at {}", '"street": "{}"', "ship to: {}"],
    "email": ["write to {}", "<{}>", '"email": "{}"'],
    "payment-card": ["card {}", '"pan": "{}"', "charged to {} yesterday"],
}


def main():
    rng = random.Random(7)
    fakes = {}
    for locale in LOCALES:
        fakes[locale] = Faker(locale)
        fakes[locale].seed_instance(7)
    kinds = list(FRAMES)
    for number in range(int(sys.argv[1])):
        kind = kinds[number % len(kinds)]
        locale = rng.choice([name for name, label in LOCALES.items() if kind != "national-id" or label])
        # Faker has no IBANs of China and Korea.
        if kind == "iban":
            locale = rng.choice([name for name in LOCALES if name not in ("zh_CN", "ko_KR")])
        if kind == "postal-address":
            locale = rng.choice(["de_DE", "en_US", "en_GB", "es_ES", "fr_FR", "it_IT", "nl_NL"])
        if kind == "person-name":
            locale = rng.choice([name for name in LOCALES if name not in ("zh_CN", "ko_KR")])
        found = value(fakes[locale], locale, kind, rng).replace("\n", ", ")
        name = LOCALES[locale] if kind == "national-id" else rng.choice(PHONES)
        frame = rng.choice(FRAMES[kind]).replace("{name}", name or "")
        before, after = frame.split("{}")
        before = f"{fakes['en_US'].sentence()} {before}" if rng.random() < 0.5 else before
        start = len(before.encode())
        end = start + len(found.encode())
        print(json.dumps({"locale": locale, "text": before + found + after, "spans": [[start, end, kind]]}, ensure_ascii=False))


main()

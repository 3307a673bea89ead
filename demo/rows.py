"""The rows that the example domains start with: files by path, contacts and deals in the order of their columns."""

MARA_ID = "b2f6c1d0-5a3e-4c7b-9d10-6e8f2a4b7c01"
_JONAS_ID = "b2f6c1d0-5a3e-4c7b-9d10-6e8f2a4b7c02"
_AMINA_ID = "b2f6c1d0-5a3e-4c7b-9d10-6e8f2a4b7c03"
_PIOTR_ID = "b2f6c1d0-5a3e-4c7b-9d10-6e8f2a4b7c04"
_LENA_ID = "b2f6c1d0-5a3e-4c7b-9d10-6e8f2a4b7c05"

FILES = {
    "README.md": """\
# Example folder

The files of the example domain files. Nothing here is real.

- config: how the shop's services are set up
- reports: sales by month
- notes: notes of meetings
- logs: what the nightly import said
""",
    "config/database.yaml": """\
# Database of the shop
engine: postgresql
host: db.shop.example
port: 5432
name: shop
pool_size: 10
maintainer:
  name: Mara Lindqvist
  email: mara@nordlicht.example
  phone: "+46 8 5550 142"
""",
    "config/app.yaml": """\
# The shop itself
debug: false
currency: EUR
time_zone: Europe/Stockholm
features:
  wish_list: true
  gift_cards: false
""",
    "reports/sales-2026-09.csv": """\
day,orders,revenue_eur
2026-09-07,31,2480
2026-09-14,28,2310
2026-09-21,35,2895
2026-09-28,30,2405
""",
    "reports/sales-2026-10.csv": """\
day,orders,revenue_eur
2026-10-05,33,2660
2026-10-12,41,3375
2026-10-19,38,3020
2026-10-26,44,3710
""",
    "notes/kickoff.md": """\
# Kick-off with Nordlicht

- Mara looks after the database; her new number is in config/database.yaml.
- Jonas wants an offer for the renewal before Christmas.
- Open: who approves the budget?
""",
    "logs/import.log": """\
02:00:01 INFO start
02:00:07 WARNING 2 rows without a price were skipped
02:00:19 INFO 1284 rows were imported
02:00:19 INFO end
""",
}

# id, name, email, company, phone, status, notes
CONTACTS = (
    (MARA_ID, "Mara Lindqvist", "mara@nordlicht.example", "Nordlicht AB", "+46 8 5550 100", "customer", "Database"),
    (_JONAS_ID, "Jonas Weber", "jonas@nordlicht.example", "Nordlicht AB", None, "customer", "Decides on renewals"),
    (_AMINA_ID, "Amina Diallo", "amina@teranga.example", "Teranga Foods", "+221 33 555 0120", "lead", None),
    (_PIOTR_ID, "Piotr Zielinski", "piotr@mosty.example", "Mosty Sp. z o.o.", "+48 22 555 01 88", "lead", None),
    (_LENA_ID, "Lena Fischer", "lena@altstadt.example", "Altstadt GmbH", None, "former", "Left in spring"),
)

RENEWAL_ID = "c7d4e2a1-8b6f-4e30-a5c2-1f9d3b7e6a01"

# id, contact_id, title, stage, value_eur, closes_on
DEALS = (
    (RENEWAL_ID, _JONAS_ID, "Renewal 2027", "open", 24_000, "2026-12-18"),
    ("c7d4e2a1-8b6f-4e30-a5c2-1f9d3b7e6a02", MARA_ID, "Database support", "won", 6_500, "2026-09-30"),
    ("c7d4e2a1-8b6f-4e30-a5c2-1f9d3b7e6a03", _AMINA_ID, "Pilot in Dakar", "offered", 9_800, "2027-01-29"),
    ("c7d4e2a1-8b6f-4e30-a5c2-1f9d3b7e6a04", _PIOTR_ID, "Web shop", "open", 15_000, None),
    ("c7d4e2a1-8b6f-4e30-a5c2-1f9d3b7e6a05", _LENA_ID, "Newsletter", "lost", 1_200, "2026-04-10"),
)

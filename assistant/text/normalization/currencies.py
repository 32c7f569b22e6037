"""Currencies that the languages do not list themselves."""

from assistant.text.normalization.lexicon import Currency

_LANGUAGES = ("en", "de", "fr", "es")
_CENTS = {
    "en": ("one cent", "cents"), "de": ("ein Cent", "Cent"), "fr": ("un cent", "cents"),
    "es": ("un centavo", "centavos"),
}  # fmt: skip
# Symbols and codes, then singular and plural in English, German, French and Spanish. PHP and TRY are ambiguous.
_WITH_CENTS = (
    (
        "C$ CA$ CAN$ CAD",
        "one Canadian dollar, Canadian dollars",
        "ein kanadischer Dollar, kanadische Dollar",
        "un dollar canadien, dollars canadiens",
        "un dólar canadiense, dólares canadienses",
    ),
    (
        "A$ AU$ AUD",
        "one Australian dollar, Australian dollars",
        "ein australischer Dollar, australische Dollar",
        "un dollar australien, dollars australiens",
        "un dólar australiano, dólares australianos",
    ),
    (
        "NZ$ NZD",
        "one New Zealand dollar, New Zealand dollars",
        "ein Neuseeland-Dollar, Neuseeland-Dollar",
        "un dollar néo-zélandais, dollars néo-zélandais",
        "un dólar neozelandés, dólares neozelandeses",
    ),
    (
        "HK$ HKD",
        "one Hong Kong dollar, Hong Kong dollars",
        "ein Hongkong-Dollar, Hongkong-Dollar",
        "un dollar de Hong Kong, dollars de Hong Kong",
        "un dólar de Hong Kong, dólares de Hong Kong",
    ),
    (
        "S$ SG$ SGD",
        "one Singapore dollar, Singapore dollars",
        "ein Singapur-Dollar, Singapur-Dollar",
        "un dollar de Singapour, dollars de Singapour",
        "un dólar de Singapur, dólares de Singapur",
    ),
    (
        "NT$ TWD",
        "one Taiwan dollar, Taiwan dollars",
        "ein Taiwan-Dollar, Taiwan-Dollar",
        "un dollar de Taïwan, dollars de Taïwan",
        "un dólar de Taiwán, dólares de Taiwán",
    ),
    (
        "US$ USD",
        "one US dollar, US dollars",
        "ein US-Dollar, US-Dollar",
        "un dollar américain, dollars américains",
        "un dólar estadounidense, dólares estadounidenses",
    ),
)
_OTHERS = (
    (
        "MX$ MXN",
        "one Mexican peso, Mexican pesos",
        "ein mexikanischer Peso, mexikanische Pesos",
        "un peso mexicain, pesos mexicains",
        "un peso mexicano, pesos mexicanos",
    ),
    ("R$ BRL", "one real, reais", "ein Real, Real", "un réal, réaux", "un real, reales"),
    (
        "CHF",
        "one Swiss franc, Swiss francs",
        "ein Franken, Franken",
        "un franc suisse, francs suisses",
        "un franco suizo, francos suizos",
    ),
    ("GBP", "one pound, pounds", "ein Pfund, Pfund", "une livre, livres", "una libra, libras"),
    ("JPY", "one yen, yen", "ein Yen, Yen", "un yen, yens", "un yen, yenes"),
    ("INR ₹ Rs Rs. ₨", "one rupee, rupees", "eine Rupie, Rupien", "une roupie, roupies", "una rupia, rupias"),
    ("CNY RMB CN¥", "one yuan, yuan", "ein Yuan, Yuan", "un yuan, yuans", "un yuan, yuanes"),
    ("KRW ₩", "one won, won", "ein Won, Won", "un won, wons", "un won, wones"),
    ("RUB ₽", "one ruble, rubles", "ein Rubel, Rubel", "un rouble, roubles", "un rublo, rublos"),
    ("UAH ₴", "one hryvnia, hryvnias", "eine Hrywnja, Hrywnja", "une hryvnia, hryvnias", "una grivna, grivnas"),
    ("₺", "one lira, lira", "eine Lira, Lira", "une livre turque, livres turques", "una lira turca, liras turcas"),
    ("ILS ₪", "one shekel, shekels", "ein Schekel, Schekel", "un shekel, shekels", "un séquel, séqueles"),
    ("PLN zł", "one zloty, zlotys", "ein Zloty, Zloty", "un zloty, zlotys", "un esloti, eslotis"),
    (
        "CZK Kč",
        "one koruna, korunas",
        "eine Tschechische Krone, Tschechische Kronen",
        "une couronne tchèque, couronnes tchèques",
        "una corona checa, coronas checas",
    ),
    (
        "SEK",
        "one Swedish krona, Swedish kronor",
        "eine schwedische Krone, schwedische Kronen",
        "une couronne suédoise, couronnes suédoises",
        "una corona sueca, coronas suecas",
    ),
    (
        "NOK",
        "one Norwegian krone, Norwegian kroner",
        "eine norwegische Krone, norwegische Kronen",
        "une couronne norvégienne, couronnes norvégiennes",
        "una corona noruega, coronas noruegas",
    ),
    (
        "DKK",
        "one Danish krone, Danish kroner",
        "eine dänische Krone, dänische Kronen",
        "une couronne danoise, couronnes danoises",
        "una corona danesa, coronas danesas",
    ),
    ("kr", "one krone, kroner", "eine Krone, Kronen", "une couronne, couronnes", "una corona, coronas"),
    ("VND ₫", "one dong, dong", "ein Dong, Dong", "un dong, dongs", "un dong, dongs"),
    ("THB ฿", "one baht, baht", "ein Baht, Baht", "un baht, bahts", "un baht, bahts"),
    ("₱", "one peso, pesos", "ein Peso, Pesos", "un peso, pesos", "un peso, pesos"),
    ("NGN ₦", "one naira, naira", "ein Naira, Naira", "un naira, nairas", "un naira, nairas"),
    ("ZAR", "one rand, rand", "ein Rand, Rand", "un rand, rands", "un rand, rands"),
    ("AED", "one dirham, dirhams", "ein Dirham, Dirham", "un dirham, dirhams", "un dírham, dírhams"),
    ("BTC ₿", "one bitcoin, bitcoins", "ein Bitcoin, Bitcoin", "un bitcoin, bitcoins", "un bitcoin, bitcoins"),
)


def currencies(code: str) -> dict[str, Currency]:
    """Maps each symbol or code to the currency's names in the language `code`."""
    table = _table(_OTHERS, code, ("", ""))
    return table | _table(_WITH_CENTS, code, _CENTS[code])


def _table(rows: tuple[tuple[str, ...], ...], code: str, cents: tuple[str, str]) -> dict[str, Currency]:
    currencies_by_symbol: dict[str, Currency] = {}
    for symbols, *names in rows:
        one, many = names[_LANGUAGES.index(code)].split(", ")
        currencies_by_symbol |= dict.fromkeys(symbols.split(), Currency(one, many, *cents))
    return currencies_by_symbol

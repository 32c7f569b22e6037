"""The lexical gate's German."""

import re

from llm.cache.lexicon import Lexicon, alternatives, forms, pairs, rewrites

_UNITS = "meile meilen kilometer km meter zentimeter zoll fuß gramm kilogramm kilo milligramm unze unzen pfund tonne "
_UNITS += (
    "tonnen liter milliliter kubikmeter quadratmeter fahrenheit celsius kelvin stunde minute sekunde grad watt volt"
)
_DATES = "januar februar märz april mai juni juli august september oktober november dezember montag dienstag mittwoch "
_DATES += "donnerstag freitag samstag sonntag weihnachten ostern pfingsten jahrhundert jahrzehnt jahr monat woche tag"
_QUANTITIES = "alle all einige manche meisten viele wenige jeder jede jedes beide immer nie manchmal oft selten nur "
_QUANTITIES += "kann können könnte darf dürfen muss müssen soll sollen sollte mehr weniger halb halbe halben doppelt"

GERMAN = Lexicon(
    contractions=rewrites(
        r"""
        (was|wer|wie|wo|wann|warum|es)'s -> \1 ist
        gibt's -> gibt es
        geht's -> geht es
        """
    ),
    frames=(
        re.compile(
            r"^(?:ähm+|äh+|hm+|also|so|okay|ok|hey|hallo|hi|bitte|ja|sag mal|hör mal|computer|und zwar)\s+(?=\S)"
        ),
        re.compile(
            r"^(?:kannst|könntest|würdest|willst) du (?:mir |uns )?(?:bitte |mal |kurz |vielleicht )*"
            r"(?:sagen|erklären|verraten|erzählen|beschreiben)\s+(?=\S)"
        ),
        re.compile(
            r"^(?:kannst|könntest|würdest) du (?:mir |uns )?(?:bitte |mal |kurz )*(?=\S.* (?:sagen|nennen|erklären)$)"
        ),
        re.compile(r"^(?:weißt|kennst) du(?: denn| eigentlich| zufällig)?\s+(?=\S)"),
        re.compile(
            r"^(?:sag|sage|zeig|zeige|nenn|nenne|erklär|erkläre|verrat|verrate|gib) (?:mir|uns) (?:bitte |mal |kurz )*(?=\S)"
        ),
        re.compile(r"^(?:erklär|erkläre|definier|definiere|beschreib|beschreibe)\s+(?:bitte |mal |kurz )*(?=\S)"),
        re.compile(r"^ich (?:möchte|will|würde gern|würde gerne) (?:gern |gerne )?wissen\s+(?=\S)"),
        re.compile(r"^(?:ich frage mich|ich weiß nicht)\s+(?=\S)"),
        re.compile(r"^hast du (?=(?:ein|eine|einen) (?:rezept|definition|beispiel)\b)"),
        re.compile(r"\s+(?:bitte|danke|genau)$"),
        re.compile(r"(?<=^was )(?:genau|eigentlich|denn)\s+"),
    ),
    rewrites=rewrites(
        r"""
        (?:sagen|nennen|erklären|verraten)$ ->
        ^(?:was kannst du (?:mir )?über (.+) (?:sagen|erzählen)?)$ -> etwasüber \1
        ^was kannst du (?:mir )?über -> etwasüber
        ^(?:erzähl|erzähle|sag|sage) (?:mir )?(?:etwas |was )?über -> etwasüber
        ^etwas über -> etwasüber
        ^was weißt du über -> etwasüber
        ^(die|der|das) (?!.*\b(?:wer|wen|wem|was|welche\w?|wo|wann|warum|wie)\b)(?=\w) -> was ist \1
        wieso -> warum
        weshalb -> warum
        aus welchem grund -> warum
        in welchem jahr -> wann
        an welchem (?:tag|datum) -> wann
        wie (?:heißt|heißen|lautet) (?=der|die|das|ein|eine) -> was ist
        welche stadt ist (?=die hauptstadt) -> was ist
        (?:welches|welche|welcher) ist (?=der|die|das) -> was ist
        welche[rs]? (\w+) ist (?:der|die|das) (\w+te)(?= der welt| \w+s$|$| i[mn] | a[mn] ) -> was ist der \2 \1
        welche[rs]? (\w+) ((?:in|an|auf|im|am) (?:der |dem )?\w+) ist (?:der|die|das) (\w+te)$ -> was ist der \3 \1 \2
        welche[rs]? (\w+) ist ((?:in|an|auf|im|am) (?:der |dem )?\w+) (?:der|die|das) (\w+te)$ -> was ist der \3 \1 \2
        wie (.+) (funktionier(?:t|en)|flieg(?:t|en)|entsteh(?:t|en)|schwimm(?:t|en))$ -> wie \2 \1
        warum (.+) (ist|sind|schnurren|werden)$ -> warum \2 \1
        ^(was ist) ((?!das|was|ein|des|eis|wichs)\w{3,})s (hauptstadt|größte \w+|währung|bevölkerung)$ -> \1 \3 von \2
        (fluss|berg|stadt|see|land|tier) (\w{4,})s$ -> \1 in \2
        (fluss|berg|stadt|see|land|tier) von (\w+)$ -> \1 in \2
        welche höhe (?:hat|haben) -> wie hoch ist
        was ist die höhe (?:von|des|der) -> wie hoch ist
        welche länge (?:hat|haben) -> wie lang ist
        was ist die länge (?:von|des|der) -> wie lang ist
        was ist die größe (?:von|des|der) -> wie groß ist
        was ist das alter (?:von|des|der) -> wie alt ist
        was ist die tiefe (?:von|des|der) -> wie tief ist
        wie groß ist (der|die) entfernung -> wie weit ist
        wie viel (?:wiegt|wiegen) -> wie schwer ist
        wie viele (?:einwohner|menschen|leute) (?:hat|haben) -> wie viele menschen leben in
        wie viele (?:einwohner|menschen|leute) (?:leben|wohnen) -> wie viele menschen leben
        wer (?:ist|war) der (?:autor|verfasser) von -> wer hat geschrieben
        wer (?:ist|war) der erfinder (?:von|des|der) -> wer hat erfunden
        wer (?:ist|war) der entdecker (?:von|des|der) -> wer hat entdeckt
        wer (?:ist|war) der maler (?:von|des|der) -> wer hat gemalt
        wer (?:schrieb) -> wer hat geschrieben
        wer (?:erfand) -> wer hat erfunden
        wer (?:entdeckte) -> wer hat entdeckt
        wer (?:malte) -> wer hat gemalt
        wer hat (.+) (geschrieben|erfunden|entdeckt|gemalt|gebaut|komponiert|gegründet)$ -> wer hat \2 \1
        wer (.+) (geschrieben|erfunden|entdeckt|gemalt|gebaut|komponiert|gegründet) hat$ -> wer hat \2 \1
        von wem (?:wurde|ist) (.+) (geschrieben|erfunden|entdeckt|gemalt|gebaut|komponiert)$ -> wer hat \2 \1
        wann (?:ist|sind) (.+) gesunken$ -> wann sank \1
        wann (?:ist|sind) (.+) gefallen$ -> wann fiel \1
        wann (?:ist|sind) (.+) gestorben$ -> wann starb \1
        wann ist (.+) geboren$ -> wann wurde \1 geboren
        wann (.+) (fiel|sank|starb|endete|begann)$ -> wann \2 \1
        wann (?:fand|fanden) (.+) statt$ -> wann war \1
        wann war (.+) zu ende$ -> wann endete \1
        (?:2|zweiten?r?) weltkriegs? -> weltkrieg 2
        (?:1|ersten?r?) weltkriegs? -> weltkrieg 1
        (?:befindet|befinden|findet man) sich -> ist
        wo (?:liegt|liegen|befindet sich|finde ich) -> wo ist
        wo kommt (.+) her$ -> woher kommt \1
        wie (?:koche|mache|backe|entferne|binde|schalte|öffne) ich -> wieman \g<0>
        wieman wie (\w+)e ich -> wieman \1t
        wie kann (?:ich|man) (.+) (\w+)$ -> wieman \2 \1
        wie (\w+t) man -> wieman \1
        wie man (.+) (\w+t)$ -> wieman \2 \1
        wie lange (?:muss|müssen) (.+) (kochen|backen|braten|grillen|garen)$ -> wie lange \2 man \1
        wie schnell (?:kann|können) (.+) (laufen|rennen|schwimmen|fliegen|fahren)$ -> wie schnell \2 \1
        was (?:bedeutet|heißt|ist) die abkürzung (.+)$ -> wofür steht \1
        (?:was )?versteht man unter -> was ist
        was (?:bedeutet|bedeuten) -> was ist
        was ist nato$ -> wofür steht nato
        (?:steht|stehen) die abkürzung -> steht
        wie ist (.+) definiert$ -> was ist \1
        was heißt (.+) auf (\w+)$ -> wie sagt man \1 auf \2
        wie sagt man -> wieman sagt
        welche sprache (?:wird|ist) (.+) gesprochen$ -> welche sprache spricht man \1
        welche sprache sprechen (?:die )?(?:menschen|leute) -> welche sprache spricht man
        was ist die währung (?:von|in|der) -> welche währung hat
        (?:bewegt|bewegen) sich -> bewegt
        (?:träumen|träumt) (?:wir|man|menschen|leute|die menschen) -> träumen man
        (?:gähnen|gähnt) (?:wir|man|menschen|leute|die menschen) -> gähnen man
        (?:schlafen|schläft) (?:wir|man|menschen|leute|die menschen) -> schlafen man
        meerwasser salzig -> meer salzig
        wie weit weg ist (.+)$ -> wie weit ist \1
        entfernt$ ->
        """
    ),
    questions=(
        (alternatives("wie viele?"), "how many"),
        (alternatives("wie oft"), "how often"),
        (alternatives("wie lange"), "how long"),
        (alternatives("wieman"), "how to"),
        (alternatives("etwasüber"), "about"),
        (alternatives("warum|wozu"), "why"),
        (alternatives("wann"), "when"),
        (alternatives("woher"), "whence"),
        (alternatives("wohin"), "whither"),
        (alternatives("wofür"), "what for"),
        (alternatives("worum|worüber|wovon|womit|woraus|worin"), "what about"),
        (alternatives("wo"), "where"),
        (alternatives("wessen"), "whose"),
        (alternatives("wem"), "to whom"),
        (alternatives("wen"), "whom"),
        (alternatives("wer"), "who"),
        (alternatives("wie"), "how"),
        (alternatives("was|welche|welcher|welches|welchen|welchem"), "what"),
    ),
    polar=re.compile(
        r"^(?:ist|sind|war|waren|hat|haben|hatte|kann|können|darf|dürfen|muss|müssen|soll|sollen|wird|werden|wurde)\b"
    ),
    dropped=frozenset("ist sind war waren von vom es bitte mal denn eigentlich genau doch so bin sei".split()),
    articles=pairs(
        "der=definite die=definite das=definite des=definite dem=definite ein=indefinite eine=indefinite "
        "eines=indefinite einer=indefinite einem=indefinite"
    ),
    genders=(
        frozenset("der den dem des ein einem eines".split()),
        frozenset("die eine einer".split()),  # without "der": it would be the same as the masculine one
        frozenset("das dem des ein einem eines".split()),
        frozenset("die den".split()),
    ),
    be=frozenset(),
    past=frozenset("war waren wurde wurden hatte hatten".split()),
    future=frozenset(),
    past_forms={},
    past_suffix="",
    negations=pairs(
        "nicht=nicht kein=nicht keine=nicht keinen=nicht keinem=nicht keiner=nicht nie=nie niemals=nie ohne=ohne "
        "niemand=niemand nichts=nichts kaum=kaum weder=weder außer=außer"
    ),
    numbers=pairs(
        "eins=1 zwei=2 drei=3 vier=4 fünf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10 elf=11 zwölf=12 dreizehn=13 "
        "zwanzig=20 dreißig=30 vierzig=40 fünfzig=50 hundert=100 tausend=1000 erste=#1 ersten=#1 erster=#1 zweite=#2 "
        "zweiten=#2 zweiter=#2 dritte=#3 dritten=#3 dritter=#3 vierte=#4 vierten=#4"
    ),
    forms=forms(
        """
        kocht koche kochst kochen
        backt backe backen bäckt
        brät braten
        grillt grillen
        gart garen
        läuft laufen
        rennt rennen
        schwimmt schwimmen
        fährt fahren
        macht mache machen
        lebt leben lebe
        wohnt wohnen
        fliegt fliegen
        schläft schlafen
        steht stehen
        kann können
        darf dürfen
        muss müssen
        soll sollen
        funktioniert funktionieren
        schnurrt schnurren
        loch löcher löchern
        mensch menschen
        magnet magnete magneten
        impfstoff impfstoffe
        impfung impfungen
        flugzeug flugzeuge
        primzahl primzahlen
        pinguin pinguine pinguinen
        wal wale walen
        säugetier säugetiere säugetieren
        katze katzen
        hund hunde hunden
        fisch fische fischen
        känguru kängurus
        tomate tomaten
        vogel vögel
        schwarz schwarzes schwarze schwarzer schwarzen
        kilometer kilometern km
        frucht früchte
        kühlschrank kühlschränke
        auto autos pkw
        computer rechner
        fernseher tv
        kind kinder
        planet planeten
        atom atome
        algorithmus algorithmen
        blatt blätter
        stern sterne
        kartoffel kartoffeln
        ei eier
        im in
        am an
        zur zum
        haben hat hatte hatten
        werden wird wurde wurden
        """
    ),
    plurals={},
    suffixes=(("ungen", "ung", 4), ("heiten", "heit", 3), ("keiten", "keit", 3), ("nnen", "n", 5)),
    kept=frozenset(),
    superlative=re.compile(r"\b(?:\w{3,}ste[nrs]?|meisten|wenigsten|einzige[nrs]?|nur|letzten?r?|beste[nrs]?|#\d+)\b"),
    classes={
        "unit": frozenset(_UNITS.split()),
        "date": frozenset(_DATES.split()),
        "quantity": frozenset(_QUANTITIES.split()),
    },
    asks=re.compile(
        r"^(?:(?:ähm+|äh+|also|bitte|hey|okay) )*(?:"
        r"(?:sag|sage|nenn|nenne|erklär|erkläre|erzähl|erzähle|zeig|zeige)(?: mir)?(?: bitte)? "
        r"(?:der|die|das|den|etwas über)\b|"
        r"(?:erklär|erkläre|definier|definiere|beschreib|beschreibe|übersetz|übersetze|buchstabiere|nenn|nenne)\b|"
        r"(?:gib mir|hast du) (?:ein|eine|das|die) (?:rezept|definition|beispiel|liste)\b)"
    ),
    timely=alternatives(
        """
        jetzt|gerade|heute|heutige|heutigen|morgen früh|morgen(?! auf)|übermorgen|gestern|aktuell|aktuelle|aktuellen|momentan|zurzeit
        derzeit|neueste|neuesten|neulich|kürzlich|noch|schon|bisher|seit|vor \\w+ (?:tagen|jahren|stunden|minuten)
        (?:diese|nächste|letzte|kommende|vergangene)[nrsm]? (?:minute|stunde|tag|woche|monat|jahr|wochenende|nacht)
        (?:diese|nächste|letzte|kommende|vergangene)[nrsm]? (?:sommer|winter|frühling|herbst|montag|wahl|spiel|folge|zug)
        wetter|vorhersage|nachrichten|verkehr|stau|aktie|aktien|kurs|spielstand|regnet|schneit|wie spät|wie viel uhr
        (?:tage|wochen|monate|stunden|minuten|wie lange) .*bis|wie weit ist es
        (?:fertig|offen|geöffnet|geschlossen|frei|besetzt|verfügbar|vorbei|verspätet)$
        hier|in der nähe|um die ecke|nächstgelegene|geöffnet|öffnungszeiten|preis von
        """
    ),
    personal=alternatives(
        """
        ich|mein|meine|meinen|meinem|meiner|meines|mir|mich|wir|uns|unser|unsere|unseren|dein|deine|deinen|deinem|du
        dir|dich|euer|eure|ihr
        """
    ),
    varied=alternatives(
        """
        witz|witze|geschichte erzählen|eine geschichte|gedicht|gedichte|rätsel|überrasch|überrasche|zufällig|lied|zitat
        noch ein|noch eine|noch einen|nochmal|noch einmal|andere|anderen|anderes|anderer|weiter|wiederhole
        empfiehl|empfehlen|empfehlung|vorschlag|schlag|rat geben|meinung|idee|ideen
        """
    ),
    referring=alternatives(
        """
        er|sie|es|ihn|ihm|ihnen|ihr|ihre|ihren|sein|seine|seinen|dies|diese|dieser|dieses|diesen|diesem|dort|da|dahin
        dann|davon|dafür|damit|darin|daraus|dabei|darüber|jene|jener|solche|so|auch|stattdessen|sonst|beide|beiden
        das (?:ist|war|geht|macht|dauert|kostet|bedeutet|heißt)|dauert das|heißt das|ist das|kostet das|geht das
        (?:größer|kleiner|älter|jünger|höher|länger|kürzer|billiger|teurer|besser|schlechter|schneller|langsamer)(?! .*als)
        (?:wärmer|kälter|reicher|ärmer|näher|weiter|schwerer|leichter|sicherer|einfacher)(?! .*als)
        ^und|^aber|^oder|^weil|^warum$|^wie$|^wann$|^wo$|^wer$|^was$|was ist mit|wie wäre es mit|^erklär das|^das
        """
    ),
    state=re.compile(r"^(?:ist|sind|war|waren) (?:der|die|das)\b"),
    definite=re.compile(
        r"\b(?:der|die|das|den|dem|des) (?!(?:sonne|mond|erde|welt|himmel|meer|universum|internet|mensch|sonnensystem)\b)"
    ),
    unique=re.compile(
        r"\b(?:der|die|das|den|dem|des) (?:sonne|mond|erde|welt|himmel|universum|internet|mensch|sonnensystem)\b"
    ),
    definition=re.compile(r"^was ist eine? \w+$"),
    # All nouns begin with a capital letter. Names have no article, and most plurals end otherwise.
    name=re.compile(r"\b(?:von|in|aus) (?!(?:\w+[^i]en|\w+s)\b)([A-ZÄÖÜ]\w+)"),
    no_names=frozenset(_DATES.split()),
    relational=alternatives(
        """
        einwohner|bewohner|sprachen?|währung|religion|flüsse|fluss|berge?|seen?|städte|orte|sehenswürdigkeiten|restaurants?
        hotels?|museen|museum|strände|flughafen|flughäfen|gerichte|spezialitäten|nebenwirkungen|symptome|zutaten
        mitglieder|spieler|figuren|schauspieler|(?:isst|trinkt|spricht|zahlt|feiert|trägt|bezahlt) man
        menschen (?:leben|wohnen|sprechen|essen)
        """
    ),
    complement=re.compile(r"\b(?:hat|haben|von|vom|in|im|aus|für|zwischen|über|zu|zur|mit|als|auf|am|an)\s+\w"),
)

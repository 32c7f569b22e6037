"""Word lists for sentence and clause boundaries: abbreviations, sentence starters, conjunctions.

All are lower case, except `CAPITAL_BEFORE_NUMBER` and `NAME_SUFFIXES`.
"""

from collections.abc import Mapping

NEVER_ENDS = frozenset(
    # titles
    "mr mrs ms mx dr prof rev hon fr st mt gen col lt capt cpt cmdr sgt maj pvt adm gov pres rep sen supt messrs"
    " mme mlle hr frl dipl sra srta"
    # Latin and editorial
    " a.k.a e.g eg i.e ie cf viz vs ca approx resp incl excl esp orig avg appt dept govt univ assn"
    # German, French, Spanish, Italian, Portuguese
    " z.b d.h u.a o.ä i.d.r s.o bzw ggf evtl inkl zzgl vgl sog str nr tel p.ex p.ej ej pág av avda dra aprox ee"
    " c.-à-d sig sig.ra dott bzgl einschl exkl geb gest dipl.-ing h.c v.a m.e s.u z.t u.u i.a o.g".split()
)
"""Abbreviations whose dot never ends a sentence."""

BEFORE_NUMBER = frozenset(
    "no nos nr num núm fig figs eq sec sect ch chap cap kap abb abs bd vol vols p pp pg págs art para ver v tel ext max"
    " est c apt hwy mind rs pg bldg sect ed ziff rn nrn aufl anm tél éd env réf bât nro párr apdo tít núms".split()
)
"""Abbreviations whose dot does not end a sentence before a number: "No. 5", "Fig. 3"."""

CAPITAL_BEFORE_NUMBER = frozenset("Ref Rm Ste Tab Zi Kl Jg Pos Ex Lfd Mo Di Mi Do Fr Sa So".split())
"""Like `BEFORE_NUMBER`, but only when capitalized, because the lower-case forms are ordinary words.
Includes German weekdays.
"""

CAPITAL_BEFORE_NAME = frozenset("Ft Pt Mtn Mts Ste Sta Sto Hl Skt".split())
"""Capitalized abbreviations whose dot does not end a sentence before a name: "Ft. Worth", "Sta. Cruz"."""

MAY_END = frozenset(
    "etc inc ltd co corp bros llc jr sr esq a.m p.m am pm ph.d phd m.d b.a m.a b.sc m.sc a.d b.c bc ad"
    " jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun"
    " ave blvd rd ln hwy sq ft in lb lbs oz kg km cm mm hr hrs min mins sec secs mi yd yds gal qt pt tsp tbsp"
    " temp usw uvm uu ee.uu ud uds mwst j.-c".split()
)
"""Abbreviations whose dot ends a sentence only if the next word is capitalized."""

ENDS_BEFORE_STARTER = frozenset("tsd mio mrd chr std sek jh jhd".split())
"""Abbreviations whose dot ends a sentence only before a word of `GERMAN_STARTERS`; not in "3 Mio. Euro"."""

_ROMANS = frozenset("ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx".split())
_AFTER_HOUR = frozenset(
    "est edt cst cdt mst mdt pst pdt et ct mt pt gmt utc cet cest bst mon tue wed thu fri sat sun"
    " monday tuesday wednesday thursday friday saturday sunday".split()
)
BOUND_TO: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("vol", "vols", "ch", "chap", "cap", "kap", "sec", "sect", "bd", "fig"), _ROMANS),
    **dict.fromkeys(("a.m", "p.m", "am", "pm"), _AFTER_HOUR),
    **dict.fromkeys(("v", "n"), frozenset(("chr",))),
    "apr": frozenset("j"),
}
"""Maps an abbreviation to the words before which its dot does not end a sentence.

Examples: "Vol. II", "5 p.m. EST", "v. Chr.", "apr. J.-C.".
"""

STARTERS = frozenset(
    "the this that these those it he she we they you i there here but and so then in on at for if when while after"
    " before his her its their our your my however also what who why how where yes no not as a an to do does did is"
    " are was were can could would should will may please let once although because since one some most many"
    " der die das es er sie wir ich und aber el la los las un una il lo le les je nous vous".split()
)
"""Words that begin sentences. They distinguish "the U.S. The ..." from "the U.S. Senate"."""

GERMAN_STARTERS = STARTERS | frozenset(
    "morgen heute gestern dann danach jetzt nun man wenn weil dies diese dieser dieses mein dein ihr ja nein ein eine"
    " auch doch mit bei nach im am zum vom für auf ob was wer wie wo warum leider außerdem dort nur vielleicht später"
    " deshalb daher trotzdem denn seitdem seither damals".split()
)
"""Words that begin sentences in German text."""

UNSPACED_STARTERS = GERMAN_STARTERS - {
    "me",
    "at",
    "us",
    "be",
    "to",
    "do",
    "so",
    "no",
    "il",
    "es",
    "de",
    "a",
} | frozenset(
    "i'm i'll i've i'd it's that's there's here's what's let's you're we're they're don't he's she's who's how's"
    " so no do does okay ok well sure great good thanks thank hello hi hey sorry please maybe perhaps now today just"
    " still even only another each every all both any because instead finally first second next remember try"
    " wie warum welche welcher welches kannst können könnte möchtest hallo danke bitte gut okay klar natürlich"
    " unser unsere ihre seine meine deine kein keine einige viele alle zuerst"
    " more most much few fewer many others another people someone everyone everybody nobody something nothing"
    " everything"
    " anyone later soon meanwhile however therefore overall besides additionally then both neither either none"
    " three two"
    " four five ten four afterwards otherwise unfortunately yesterday tomorrow tonight"
    " mehr viele wenige etwas alles nichts niemand jemand alle bald gestern übrigens also ansonsten insgesamt beide"
    " qu'est c'est elle elles ils leur leurs plus beaucoup puis ensuite après demain hier rien tout tous certains"
    " cependant toutefois personne chaque deux trois"
    " más muchos muchas mucho ayer mañana luego después todo todos nada nadie algunos algunas alguien además ellas"
    " dos tres sin hay j'ai n'est d'accord comment où pourquoi quand quel quelle quels quelles est qui que quoi"
    " ce cette"
    " ces mon ma mes ton ta tes son sa ses on et mais donc alors oui non merci bonjour voici voilà aujourd'hui"
    " qué cómo cuándo dónde cuál quién por pero sí hola gracias esto eso esta este mi tu su yo ella ellos nosotros"
    " también entonces ahora hoy aquí muy si como cuando puedes puedo tengo es".split()
)
"""Words that begin a sentence even without a preceding space: "another one.What now", but not "foo.Bar"."""

_ORDINAL_NOUNS = (
    "weltkrieg spieltag geburtstag jahrestag hochzeitstag breitengrad längengrad wahlgang klasse etage bundesliga"
    " auflage staffel etappe amtszeit sinfonie symphonie jahrhundert jahrtausend jh stockwerk obergeschoss lebensjahr"
    " kapitel quartal semester liga mannschaft bürgermeister vorsitzende vorsitzender advent"
    " fc sc sv tsv vfb vfl fsv ffc"
).split()

MONTHS = frozenset("januar februar märz april mai juni juli august september oktober november dezember jänner".split())
"""German months, as in the date "3. Mai"."""

COUNTED_IN_ORDINALS = MONTHS | {noun + ending for noun in _ORDINAL_NOUNS for ending in ("", "s", "es", "n", "en")}
"""A number with a dot before one of these words is an ordinal. No English sentence begins with them."""

NAME_SUFFIXES = ("Jr", "Sr", "Inc", "Ltd", "LLC", "PhD", "Ph.D", "MD", "M.D", "Esq", "III", "II", "IV")
"""A comma before one of these belongs to the name."""

CUT_BEFORE = frozenset("but because although though unless whereas while".split())
"""The first chunk may end before these conjunctions."""

CUT_BEFORE_LATE = frozenset("which where when if after before until since whether".split())
"""The first chunk may end before these words only if it has at least seven words, so later than with `CUT_BEFORE`."""

CUT_BEFORE_WITH_STARTER = frozenset("and or so".split())
"""The first chunk may end before these if a new clause follows ("and it ..."); not in a list ("bread and butter")."""

CLAUSE_STARTERS = frozenset(
    "i you he she it we they there then this that the these those i'm i'll i've i'd you'll you're you've you'd"
    " he's she's it's we'll we're they're that's there's it'll".split()
)

BOUND_TO_NEXT = frozenset("and or but so even only just not as except the a an ever if right soon shortly".split())
"""The first chunk never ends after these words: "even if", "just because", "right after"."""

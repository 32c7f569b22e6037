"""The lexical gate's French."""

import re

from llm.cache.lexicon import CAPITALIZED, Lexicon, alternatives, forms, pairs, rewrites

_UNITS = "mile miles kilomètre kilomètres km mètre mètres centimètre pouce pied gramme grammes kilogramme kilo "
_UNITS += (
    "milligramme milligrammes once livre tonne litre litres millilitre cube carré fahrenheit celsius kelvin heure "
)
_UNITS += "minute seconde degré watt volt"
_DATES = "janvier février mars avril mai juin juillet août septembre octobre novembre décembre lundi mardi mercredi "
_DATES += "jeudi vendredi samedi dimanche noël pâques siècle décennie année an mois semaine jour"
_QUANTITIES = "tous toutes tout certains certaines quelques plusieurs plupart chaque toujours parfois souvent rarement "
_QUANTITIES += "seulement peut peuvent pourrait doit doivent faut devrait plus moins demi moitié double"

FRENCH = Lexicon(
    contractions=(
        (re.compile(r"aujourd'hui"), "aujourdhui"),
        (re.compile(r"-t-(?=(?:il|elle|on|ils|elles)\b)"), " "),
        (re.compile(r"-(?=(?:il|elle|on|ils|elles|ce|tu|vous|nous|je|moi|toi|le|la|les|en|y)\b)"), " "),
        (re.compile(r"\b(qu|[ldjmtscn])'(?=\w)"), r"\1e "),
    ),
    frames=(
        re.compile(
            r"^(?:euh+|hum+|alors|bon|ben|okay|ok|hé|salut|bonjour|oui|se il te plaît|se il vous plaît)\s+(?=\S)"
        ),
        re.compile(
            r"^(?:est ce que |est-ce que )?(?:tu peux|peux tu|pourrais tu|tu pourrais|pouvez vous|vous pouvez) (?:me |nous )?"
            r"(?:dire|expliquer|donner|montrer)\s+(?=\S)"
        ),
        re.compile(r"^(?:est ce que )?(?:sais tu|tu sais|savez vous|connais tu|tu connais)\s+(?=\S)"),
        re.compile(r"^(?:dis|dites|donne|montre|explique|cite) moi\s+(?!quelque)(?=\S)"),
        re.compile(r"^(?:explique|expliquez|définis|décris)\s+(?=\S)"),
        re.compile(r"^je (?:voudrais|veux|aimerais) (?:bien )?savoir\s+(?=\S)"),
        re.compile(r"^je me demande\s+(?=\S)"),
        re.compile(r"^(?:est ce que )?(?:tu as|as tu|vous avez|avez vous)\s+(?=une? (?:recette|définition|exemple))"),
        re.compile(r"\s+(?:se il te plaît|se il vous plaît|merci|exactement)$"),
    ),
    rewrites=rewrites(
        r"""
        ^que (?:peux tu|tu peux) (?:me )?dire (?:sur|de) -> parlede
        ^que (?:sais tu|tu sais) (?:de|sur|du|des) -> parlede
        ^(?:parle|parlez|dis) moi (?:quelque chose )?(?:de|sur|du|des) -> parlede
        ^(le|la) (?!.*\b(?:qui|que|quoi|quel\w*|quand|où|comment|pourquoi|combien|est|sont|a|ont|il|elle)\b)(?=\w) -> que est \1
        du -> de le
        des (?=\w) -> de les
        au -> à le
        aux -> à les
        (?:qui est ce qui|ce est qui qui|qui ce est qui) -> qui
        que est ce que ce est (?:que )? -> que est
        ^(.+?) que est ce que ce est$ -> que est \1
        (?:que est ce que|que est ce que est|ce est quoi|ce que est)(?: exactement)? -> que est
        ^(.+?) (?:ce est quoi)$ -> que est \1
        ^(.+?) que est$ -> que est \1
        que (?:signifie|veut dire|signifient|est veut dire) -> quesignifie
        quesignifie (?!otan|onu) -> que est
        que est veut dire -> quesignifie
        quelle est la définition de -> que est
        que sont -> que est
        quel(?:le)?s? (?:est|sont|ville est) -> que est
        quel(?:le)? (\w+) est (?:le|la) plus (\w+)(?= de|$| à) -> que est la plus \2 \1
        que est (?:le|la|l) (\w+) (?:le|la) plus (\w+) -> que est la plus \2 \1
        ^dans le système solaire (.+)$ -> \1 de le système solaire
        (?:ce est|ce était) quand -> quand était
        quand a eu lieu -> quand était
        en quelle année -> quand
        (quand|où|comment|pourquoi|combien) est ce que -> \1
        ^est ce que (?=\w) -> estcequepolar
        pour quelle raison -> pourquoi
        (?:se trouve|est situé|est située|se situe) -> est
        de où vient (.+)$ -> doù vient \1
        ^(.+) vient de où$ -> doù vient \1
        quand est (né|née|mort|morte|tombé|tombée) (.+)$ -> quand \2 est \1
        quelle hauteur (?:fait|a) -> que est la hauteur de
        quelle longueur (?:fait|a) -> que est la longueur de
        quel âge a -> que est le âge de
        à quelle vitesse (?:va|vont) -> que est la vitesse de
        que est le poids de -> combien pèse
        que est la population de -> combien de habitants a
        combien de (?:personnes|gens|habitants) (?:vivent|habitent|y a il) (?:à|en|dans) -> combien de habitants a
        combien de (?:os|habitants) y a il dans -> combien de os a
        qui (?:est|fut|était) le auteur de -> qui a écrit
        qui (?:est|fut|était) le inventeur de -> qui a inventé
        qui (?:est|fut|était) le fondateur de -> qui a fondé
        par qui (.+) a (?:il|elle) été (écrit|peint|inventé|fondé|composé|découvert|construit)e?$ -> qui a \2 \1
        ^(.+?) (est|fond|bout) (à quelle \w+)$ -> \3 \2 \1
        ^(.+?) a combien de (.+)$ -> combien de \2 a \1
        quand (.+) se est (?:il|elle) (\w+)$ -> quand se est \2 \1
        quelle différence y a il entre -> que est la différence entre
        par qui a été (écrit|peint|inventé|fondé|composé) -> qui a \1
        comment (?:ça )?(?:marche|marchent|fonctionne|fonctionnent) (.+)$ -> comment \1 fonctionne
        (comment|pourquoi) (volent|vivent|dorment|naissent) (.+)$ -> \1 \3 \2
        où (vivent|vit) (.+)$ -> où \2 vit
        comment (?:est ce que )?on (?=\w) -> comment
        comment faire cuire -> comment cuire
        quelle (?:langue) est parlée -> quelle langue parle
        on parle quelle langue -> quelle langue parle
        quelle langue parle on -> quelle langue parle
        quelle monnaie utilise on (?:en|à le|à) -> que est la monnaie de
        que est la (?:monnaie|devise) -> que est la monnaie
        seconde guerre -> guerre #2
        (?:deuxième) guerre -> guerre #2
        première guerre -> guerre #1
        a fini -> est terminée
        combien de temps faut il pour -> combien de temps pour
        bout le eau$ -> eau bout
        que est le point de ébullition de (.+)$ -> à quelle température \1 bout
        """
    ),
    questions=(
        (alternatives("combien de temps"), "how long"),
        (alternatives("combien"), "how many"),
        (alternatives("parlede"), "about"),
        (alternatives("pourquoi"), "why"),
        (alternatives("quand"), "when"),
        (alternatives("doù"), "whence"),
        (alternatives("de (?:qui|quoi|quel|quelle|quels|quelles)"), "of what"),
        (alternatives("où"), "where"),
        (alternatives("comment"), "how"),
        (alternatives("quesignifie"), "meaning"),
        (alternatives("qui"), "who"),
        (alternatives("quoi|quel|quelle|quels|quelles|que est|que"), "what"),
    ),
    polar=re.compile(
        r"^(?!.*\b(?:qui|que|quoi|quel\w*|quand|où|doù|comment|pourquoi|combien|quesignifie|parlede)\b)"
        r"(?:estcequepolar\b|.*\b(?:est|sont|a|ont|\w+t|\w+e) (?:il|elle|ils|elles|on)\b)"
    ),
    dropped=frozenset("de est sont il elle on ils elles ce es être fut était étaient estcequepolar".split()),
    articles=pairs("le=definite la=definite les=definite un=indefinite une=indefinite"),
    genders=(frozenset({"le", "les", "un"}), frozenset({"la", "les", "une"})),
    be=frozenset(),
    past=frozenset("était étaient fut furent avait avaient".split()),
    future=frozenset("va vont sera seront".split()),
    past_forms={},
    past_suffix="",
    negations=pairs(
        "ne=ne pas=pas jamais=jamais sans=sans aucun=pas aucune=pas rien=rien personne=personne ni=ni sauf=sauf"
    ),
    numbers=pairs(
        "deux=2 trois=3 quatre=4 cinq=5 six=6 sept=7 huit=8 neuf=9 dix=10 onze=11 douze=12 treize=13 quatorze=14 "
        "quinze=15 seize=16 vingt=20 trente=30 quarante=40 cinquante=50 soixante=60 cent=100 cents=100 mille=1000 "
        "premier=#1 première=#1 deuxième=#2 second=#2 seconde=#2 troisième=#3 quatrième=#4"
    ),
    forms=forms(
        """
        fonctionne fonctionnent
        vaccin vaccins
        vit vivent
        dort dorment
        vole volent
        peut peuvent
        ronronne ronronnent
        trou trous
        noir noirs
        nombre nombres
        avion avions
        chat chats
        kangourou kangourous
        pingouin pingouins
        poisson poissons
        mammifère mammifères
        baleine baleines
        frigo réfrigérateur
        fait faire font
        dit dire
        cuire cuit cuisent
        enlève enlever
        noue nouer
        rêve rêvons rêver
        bâille bâiller
        mange mangent
        voiture auto
        film films
        a ont
        """
    ),
    plurals={},
    suffixes=(),
    kept=frozenset(),
    superlative=re.compile(r"\b(?:plus|moins|premier|première|dernier|dernière|seul|seule|meilleur|meilleure|#\d+)\b"),
    classes={
        "unit": frozenset(_UNITS.split()),
        "date": frozenset(_DATES.split()),
        "quantity": frozenset(_QUANTITIES.split()),
    },
    asks=re.compile(
        r"^(?:(?:euh+|alors|bon|hé) )*(?:"
        r"(?:dis|explique|montre|parle)(?:[ -]moi)? (?:(?:le|la|les|de|du|des)\b|[ld]')|"
        r"(?:explique|définis|décris|traduis|épelle|cite|nomme)\b|"
        r"(?:donne[ -]moi|tu as) une? (?:recette|définition|exemple|liste)\b)"
    ),
    timely=alternatives(
        """
        maintenant|aujourdhui|demain|hier|ce soir|ce matin|cette nuit|actuel|actuelle|actuellement|en ce moment|récent
        récemment|dernièrement|encore|déjà|il y a \\w+ (?:jours|ans|heures|minutes)|depuis
        (?:cette|ce|cet) (?:minute|heure|jour|semaine|mois|année|week-end|saison|été|hiver|printemps|automne)
        (?:prochain|prochaine|passé|passée)|météo|temps qu|temps fait|actualités|nouvelles|trafic|bourse|action|score
        (?:jours|semaines|mois|heures|minutes|temps) .*(?:avant|jusque?)
        (?:prête?|ouverte?|fermée?|libre|disponible|finie?|terminée?)s?$
        pleut|neige t|quelle heure est|quel jour est|ici|près de moi|à proximité|ouvert|horaires|prix de
        """
    ),
    personal=alternatives("je|mon|ma|mes|me|moi|nous|notre|nos|ton|ta|tes|votre|vos|tu|toi|vous"),
    varied=alternatives(
        """
        blague|blagues|histoire drôle|une histoire|poème|poèmes|devinette|devinettes|surprends|hasard|chanson|citation
        autre|autres|encore|répète|continue|recommande|recommander|suggère|suggestion|conseil|avis|idée|idées
        """
    ),
    referring=alternatives(
        """
        ils|elles|lui|leur|leurs|son|sa|ses|ça|cela|ceci|celui|celle|ceux|celles|cette|cet|ces|y|là|ensuite|aussi
        en ville|sur place|(?:plus|moins) \\w+$|(?:meilleure?|pire)s?$
        ^et|^mais|^ou|^parce|^pourquoi$|^comment$|^quand$|^où$|^qui$|^quoi$|est il|est elle|a il|a elle
        """
    ),
    state=re.compile(r"^(?:est ce que )?(?:le|la|les) \w+ (?:est|sont) (?!(?:elles? |ils? )?(?:une?|des?|du)\b)"),
    definite=re.compile(
        r"\b(?:le|la|les) (?!(?:soleil|lune|terre|monde|ciel|mer|univers|internet|corps humain|système solaire)\b)"
    ),
    unique=re.compile(r"\b(?:le|la) (?:soleil|lune|terre|monde|ciel|univers|internet|corps humain|système solaire)\b"),
    definition=re.compile(r"^que est (?:que )?une? \w+$"),
    name=CAPITALIZED,
    no_names=frozenset(_DATES.split()),
    relational=alternatives(
        """
        habitants?|langues?|monnaie|religions?|fleuves?|rivières?|montagnes?|villes?|restaurants?|hôtels?|musées?|plages?
        aéroports?|plats?|spécialités?|effets secondaires|symptômes|ingrédients|membres|joueurs|personnages|acteurs
        (?:parle|mange|boit|paie|fête|porte) on|on (?:parle|mange|boit|paie|fête|porte)
        gens (?:vivent|habitent|parlent|mangent)
        """
    ),
    complement=re.compile(r"\b(?:de|du|des|dans|en|à|au|aux|sur|pour|entre|avec|que)\s+(?:le |la |les )?\w"),
)

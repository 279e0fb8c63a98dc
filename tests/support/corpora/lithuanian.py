"""A dozen short Lithuanian texts, and thirty questions with the text that answers each."""

TEXTS = {
    "sveikata": "Sveikatos priežiūros įstaigos privalo saugoti pacientų duomenis penkiolika metų. "
    "Gydytojas registruoja kiekvieną apsilankymą ir paskirtus vaistus.",
    "biblioteka": "Bibliotekos skaitytojai gali pasiskolinti dešimt knygų. Už pavėluotai grąžintas knygas imami "
    "delspinigiai, o negrąžintus žodynus reikia pakeisti naujais.",
    "miskas": "Medžių kirtimui saugomoje teritorijoje reikia leidimo. Miškų urėdija pažymi senus ąžuolus ir liepas.",
    "atostogos": "Darbuotojų kasmetinės atostogos trunka dvidešimt darbo dienų. Prašymą pateikia pats darbuotojas, "
    "o tvirtina tiesioginis vadovas.",
    "kelione": "Komandiruotės išlaidos atlyginamos pateikus čekius ir sąskaitas. Dienpinigiai mokami už kiekvieną "
    "kelionės dieną užsienyje.",
    "mokykla": "Mokinių pavėžėjimą geltonaisiais autobusais organizuoja savivaldybė. Mokytojai budi per pertraukas.",
    "vanduo": "Geriamojo vandens mėginius laboratorija tiria kas mėnesį. Užterštą šulinį būtina išvalyti ir "
    "dezinfekuoti.",
    "sildymas": "Šildymo sezonas prasideda, kai tris paras lauko oro temperatūra žemesnė už dešimt laipsnių. "
    "Gyventojų bendrija gali nuspręsti kitaip.",
    "zvejyba": "Žvejai mėgėjai be bilieto gali žvejoti privačiuose tvenkiniuose. Lydekas draudžiama gaudyti "
    "nuo vasario iki balandžio vidurio.",
    "statyba": "Statybos leidimą išduoda miesto architektas per dvidešimt dienų. Prie paraiškos pridedami "
    "brėžiniai ir žemės sklypo planas.",
    "rinkimai": "Rinkimų apylinkės atidaromos septintą valandą ryto. Balsuotojas parodo pasą arba asmens tapatybės "
    "kortelę ir gauna biuletenį.",
    "gaisras": "Priešgaisrinius gesintuvus tikrina įgalioti meistrai kartą per metus. Evakuacijos planas kabo "
    "kiekviename aukšte prie laiptų.",
}

QUESTIONS = {
    "Kas yra sveikatos priežiūra?": "sveikata",
    "Kiek metų saugomi paciento duomenys?": "sveikata",
    "Kas registruoja apsilankymus pas gydytoją?": "sveikata",
    "Kiek knygų pasiskolina skaitytojas?": "biblioteka",
    "Kada skaičiuojami delspinigiai už knygą?": "biblioteka",
    "Ką daryti praradus žodyną?": "biblioteka",
    "Ar reikia leidimo medžiui kirsti?": "miskas",
    "Kas žymi seną ąžuolą?": "miskas",
    "Kuri urėdija prižiūri mišką?": "miskas",
    "Kiek trunka kasmetinių atostogų laikas?": "atostogos",
    "Kas tvirtina darbuotojo prašymus?": "atostogos",
    "Kaip atlyginti komandiruočių išlaidas?": "kelione",
    "Kokių čekių ir sąskaitų reikia?": "kelione",
    "Kiek dienpinigių mokama užsienyje?": "kelione",
    "Kas organizuoja mokinio pavėžėjimo autobusą?": "mokykla",
    "Kada budi mokytojas per pertrauką?": "mokykla",
    "Kaip dažnai tiriamas geriamasis vanduo?": "vanduo",
    "Kaip išvalyti užterštus šulinius?": "vanduo",
    "Kada prasideda šildymas?": "sildymas",
    "Kokia turi būti lauko temperatūra pradėti šildymo sezoną?": "sildymas",
    "Ar bendrija ir gyventojai gali nuspręsti?": "sildymas",
    "Kur žvejys mėgėjas žvejoja be bilietų?": "zvejyba",
    "Kada negalima gaudyti lydekų?": "zvejyba",
    "Kas išduoda statybų leidimus?": "statyba",
    "Kokį brėžinį pridėti prie paraiškos?": "statyba",
    "Ar reikia žemės sklypų plano?": "statyba",
    "Kada atidaroma rinkimų apylinkė?": "rinkimai",
    "Ar balsuotojui reikia tapatybės kortelės?": "rinkimai",
    "Kas tikrina gesintuvą?": "gaisras",
    "Kur kabo evakuacijos planai?": "gaisras",
}

"""Questions about subjects that few collections hold, to see whether what is foreign to them is refused."""

from collections.abc import Sequence

from elt_llm_core.collection import open_generation
from elt_llm_core.errors import CorruptIndex, UsageError
from elt_llm_core.generation import Generation
from elt_llm_core.store.store import Store

from elt_llm_query.evaluate.own_questions import OwnQuestion, own_questions

MOST_OF_OTHERS = 60  # questions made from the other collections together
MOST_OTHERS = 10  # collections that are opened for them
_ENGLISH = """
How long should sourdough rise before it is baked?
Which moon of Jupiter has the most active volcanoes?
What temperature does caramel need to turn brown?
Who composed the opera about a barber in Seville?
When should roses be pruned in a mild climate?
How many strings does a concert harp have?
What is the boiling point of ethanol?
Which gland produces insulin?
How deep is the Mariana Trench?
Who painted the ceiling of the Sistine Chapel?
What causes the northern lights?
How do you remove red wine from a wool carpet?
Which knot joins two ropes of different thickness?
What is the gestation period of an elephant?
How far is Saturn from the Sun?
When did the last woolly mammoths die out?
What does a catalytic converter do?
Which grape is used for Chablis?
How is felt made from wool?
What is the capital of Mongolia?
Why do leaves turn yellow in autumn?
How many bones does an adult human have?
What is the difference between a violin and a viola?
Who wrote the novel about the white whale?
Which mineral is the hardest?
How do bees tell each other where flowers are?
What pressure should a racing bicycle's tyres have?
When was the printing press with movable type invented?
How long does a boiled egg take at high altitude?
Which vitamin prevents scurvy?
What do glaciers leave behind when they melt?
Who first climbed Mount Everest without oxygen?
How is blue cheese given its veins?
What is the half-life of carbon-14?
Which birds migrate at night?
How do you tune a ukulele?
What is the largest desert in the world?
Why does the sea taste of salt?
Which tree does cork come from?
How many teeth does a great white shark have?
What is a sonnet's rhyme scheme?
When do hedgehogs wake from hibernation?
How is porcelain glazed?
What makes popcorn pop?
Which emperor built the wall across northern Britain?
How long does light take from the Sun to the Earth?
What is the chemical symbol of tungsten?
How do you keep basil alive on a window sill?
"""
_GERMAN = """
Wie lange muss ein Sauerteig gehen, bevor er gebacken wird?
Welcher Mond des Jupiters hat die meisten Vulkane?
Wann schneidet man Rosen zurück?
Wie viele Saiten hat eine Konzertharfe?
Welche Drüse bildet Insulin?
Wie tief ist der Marianengraben?
Wer malte die Decke der Sixtinischen Kapelle?
Wodurch entstehen Polarlichter?
Wie bekommt man Rotwein aus einem Teppich?
Wie lange trägt ein Elefant?
Wann starben die letzten Mammuts aus?
Wie wird aus Wolle Filz?
Wie heißt die Hauptstadt der Mongolei?
Warum werden Blätter im Herbst gelb?
Wie viele Knochen hat ein erwachsener Mensch?
Welches Mineral ist das härteste?
Woran erkennen Bienen den Weg zu den Blüten?
Welches Vitamin schützt vor Skorbut?
Wie kommt der Schimmel in den Käse?
Wie groß ist die Halbwertszeit von Kohlenstoff-14?
Welche Vögel ziehen nachts?
Warum schmeckt das Meer salzig?
Von welchem Baum kommt Kork?
Wann wachen Igel aus dem Winterschlaf auf?
Wie wird Porzellan glasiert?
Wie lange braucht das Licht von der Sonne zur Erde?
Welches Zeichen hat Wolfram in der Chemie?
Wie hoch ist der Siedepunkt von Ethanol?
"""


def foreign_questions(language: str) -> list[str]:
    """Questions in the language of the collection where there are some, else in English."""
    return (_GERMAN if language == "de" else _ENGLISH).strip().splitlines()


def questions_of_others(store: Store, generation: Generation, own: Sequence[OwnQuestion], seed: int) -> list[str]:
    """Questions made from other collections, at most 60 together.

    A collection that shares a document or a question with this one is about the same things: it is left out. So is
    one that cannot be read.
    """
    names = [record.name for record in store.collections.all() if record.name != generation.collection][:MOST_OTHERS]
    hashes = {document.document_hash for document in generation.documents()}
    texts = {question.text for question in own}
    found: list[str] = []
    for name in names:
        try:
            with open_generation(store, name) as other:
                if hashes.isdisjoint(document.document_hash for document in other.documents()):
                    made = {question.text for question in own_questions(other, MOST_OF_OTHERS // len(names), seed)}
                    found += sorted(made) if made.isdisjoint(texts) else []
        except (CorruptIndex, UsageError):  # damaged, empty, or nothing can be asked about it
            continue
    return found

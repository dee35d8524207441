"""Convention cards: how each system writes what all of them compute.

    print(card("pinocchio").quaternion)

`page` writes them all as Markdown, which is docs/convention_cards.md.
"""

from linkwork.compat.cards.cards import LABELS as LABELS
from linkwork.compat.cards.cards import Card as Card
from linkwork.compat.cards.cards import all_cards as all_cards
from linkwork.compat.cards.cards import card as card
from linkwork.compat.cards.cards import page as page
from linkwork.compat.cards.cards import rows as rows

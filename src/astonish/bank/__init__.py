"""How do millions of keyed streams learn from one learner?"""

from astonish.bank.bank import Bank as Bank
from astonish.bank.bank import Steps as Steps

"""Where does the paper contradict itself, and which of its statements cannot be tested by simulation?"""

from typing import NamedTuple


class Note(NamedTuple):
    """A place in the paper, what it says, and what is to be said to it."""

    where: str
    says: str
    answer: str


INCONSISTENCIES = (
    Note(
        "caption of Fig. 3C",
        "The best fixed gamma decreases with the hazard rate, indicating that a bigger gamma is preferred in volatile "
        "environments.",
        "The two halves of the sentence exclude each other; the second is so (figure 3).",
    ),
    Note(
        "caption of Fig. 5C",
        "The error is a norm with index 2, and equal to the sum of the squares over 256.",
        "No norm with index 2 is that sum: the Frobenius norm would be its root, the spectral norm is the largest "
        "singular value. Which of them was computed decides two claims (figure readings).",
    ),
    Note(
        "section 4.12",
        "The switch probabilities that online EM starts from are very close to the true ones: 0.1 and 0.005.",
        "One is twenty times the other; from the true value online EM is faster (figure em).",
    ),
    Note(
        "section 3, new versus old information",
        "The algorithm increases model uncertainty in the face of surprising data.",
        "In the paper's own Gaussian task, with its prior as uncertain as one sample, the uncertainty is the same for "
        "ever (figure 3).",
    ),
    Note(
        "caption of Fig. 4, and Fig. 8",
        "Switch probabilities are at most 0.1; the fraction of time in A and the average stay there are two free "
        "parameters.",
        "Short stays in A and a large fraction of time there need a larger probability of leaving B. Figure 8 is shown "
        "with such cells, and its dependence is measured without them, too.",
    ),
)

NOT_TESTABLE = (
    Note(
        "section 3, experimental predictions",
        "In changing environments the activity of noradrenaline correlates with confidence-corrected surprise.",
        "It takes recordings. `astonish surprise` and `regressors` give the surprise of every trial, by this and the "
        "other measures, as columns to correlate with.",
    ),
    Note(
        "section 3, experimental predictions",
        "Acetylcholine is linked to model uncertainty, and sets a threshold for noradrenaline.",
        "It takes recordings. The uncertainty of a learner is another of those columns.",
    ),
    Note(
        "sections 1 and 3",
        "Surprise shows in the P300 component and in the size of the pupil, within 400 ms.",
        "It takes recordings. The surprise of a sample does not depend on the update that follows (figure 2), so it "
        "can be as early as the sample.",
    ),
    Note(
        "section 2.2",
        "Differences in m capture how differently people change their beliefs.",
        "It takes behaviour, of which the paper has none. `astonish fit` estimates m for each participant, and "
        "`astonish compare` says whether SMiLe describes the participants better than other learners.",
    ),
    Note(
        "section 3",
        "The rule could be implemented by probabilistic population codes, and likelihoods by networks of neurons.",
        "It is a statement about brains; here are the equations alone.",
    ),
)

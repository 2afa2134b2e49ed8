"""What is recorded of the paper's 18 data sets: facts, no data.

Columns, levels, classes, source and checksum of every set. Getting the rows, and
comparing them with the record, is left to ``sorct.data.datasets``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class DataSet:
    """What is known of a data set of the paper.

    Attributes
    ----------
    name : str
    levels : mapping from predictors, in order, to their levels
        The first level is the one that encoding drops; a numeric predictor has none.
    class_counts : mapping from labels, in the order they first occur, to samples
    source : str
        Where the rows come from; for most sets the file to get, and what to change.
    checksum : str
        SHA-256 of the rows: a line for each, its values separated by tabs, numbers as
        Python writes a float.
    openml_id : int or None
        Number of OpenML's copy; None where it holds other rows or is not needed.
    first_seen : str
        Where OpenML renamed the levels, a word per categorical predictor: positions of
        its levels in the order they first occur.
    """

    name: str
    levels: Mapping[str, tuple[str, ...]]
    class_counts: Mapping[str, int]
    source: str
    checksum: str
    openml_id: int | None = None
    first_seen: str = ""

    @property
    def n_samples(self) -> int:
        """Number of rows, the paper's N."""
        return sum(self.class_counts.values())

    @property
    def n_columns(self) -> int:
        """Number of columns once encoded with a level dropped, the paper's p."""
        return sum(max(len(levels) - 1, 1) for levels in self.levels.values())

    @property
    def n_classes(self) -> int:
        """Number of classes, the paper's K."""
        return len(self.class_counts)

    @property
    def depth(self) -> int:
        """Depth of the paper's trees: 1 for two classes, else 2."""
        return 1 if self.n_classes == 2 else 2

    @property
    def header(self) -> str:
        """First line of the set's CSV file."""
        return ",".join([*self.levels, "class"])


def _levels(text: str) -> dict[str, tuple[str, ...]]:
    """Levels by predictor from words such as ``age`` and ``colour=red|green``."""
    words = (word.partition("=") for word in text.split())
    return {
        name: tuple(levels.split("|")) if levels else () for name, _, levels in words
    }


def _numbered(name: str, start: int, stop: int) -> str:
    return " ".join(name.format(i) for i in range(start, stop))


_MONKS = _levels("a1=1|2|3 a2=1|2|3 a3=1|2 a4=1|2|3 a5=1|2|3|4 a6=1|2")
_MONKS_SOURCE = (
    "monks-{}.train of UCI's MONK's Problems (id 70), its first column, the class, "
    "moved to the end in place of the last, the number of the row"
)
_WISCONSIN = (
    "radius{0} texture{0} perimeter{0} area{0} smoothness{0} compactness{0} "
    "concavity{0} concave_points{0} symmetry{0} fractal_dimension{0}"
)

_RECORD = (
    DataSet(
        "monks-3",
        _MONKS,
        {"1": 60, "0": 62},
        _MONKS_SOURCE.format(3),
        "adf3bc7e6b7f1f0b4323c332d1b5867ed6a808bffa120738dcd983cc66a5db5f",
    ),
    DataSet(
        "monks-1",
        _MONKS,
        {"1": 62, "0": 62},
        _MONKS_SOURCE.format(1),
        "2e076da1ea02bd8b058e324ea85e75830c949d56bd83f44a4c4adf5e54e9b0d1",
    ),
    DataSet(
        "monks-2",
        _MONKS,
        {"0": 105, "1": 64},
        _MONKS_SOURCE.format(2),
        "0e703e17d55027f6f9ade7b6e1909c015c1d63ea7d9f99d94624f9abd5da2fcc",
    ),
    DataSet(
        "sonar",
        _levels(_numbered("A{}", 1, 61)),
        {"R": 97, "M": 111},
        "sonar.all-data of UCI's Connectionist Bench (Sonar, Mines vs. Rocks) (id 151)",
        "1ddb760b55b60c22474ec7556834f4623aab356b4f1b422b3c95ff7c8d0cf269",
        openml_id=40,
    ),
    DataSet(
        "ionosphere",
        _levels(_numbered("a{:02}", 1, 35)),
        {"g": 225, "b": 126},
        "ionosphere.data of UCI's Ionosphere (id 52)",
        "65a1b9586c49d8286025422af21120ccb6bf5eed286622b2263fdd634e9d8f9c",
        openml_id=59,
    ),
    DataSet(
        "wisconsin",
        _levels(" ".join(map(_WISCONSIN.format, ("_mean", "_se", "_worst")))),
        {"M": 212, "B": 357},
        "scikit-learn's load_breast_cancer",
        "e87975442a519fd58699b22d8d0e4206c3a953e8deeb51f04d7f28f8eb76dcd6",
    ),
    DataSet(
        "creditapproval",
        _levels(
            "A1=b|a A2 A3 A4=u|y|l A5=g|p|gg A6=c|d|cc|i|j|k|m|r|q|w|x|e|aa|ff "
            "A7=v|h|bb|j|n|z|dd|ff|o A8 A9=t|f A10=t|f A11 A12=t|f A13=g|p|s A14 A15"
        ),
        {"+": 296, "-": 357},
        "crx.data of UCI's Credit Approval (id 27)",
        "d54d5a514e9ed73f150a48d45a9b03b7a0ca4ac7c90e61cfcdd7555d7e2df8f0",
        openml_id=29,
    ),
    DataSet(
        "pima",
        _levels(
            "pregnancies glucose blood_pressure skin_thickness insulin bmi "
            "diabetes_pedigree age"
        ),
        {"1": 268, "0": 500},
        "pima-indians-diabetes.data, Pima Indians Diabetes, no longer with UCI",
        "edd508eb5faa1295e6e56791e64657a1ffcc40f136623bc88a76dc981061b9e5",
        openml_id=37,
    ),
    DataSet(
        "germancredit",
        _levels(
            "checking_status=A11|A12|A13|A14 duration "
            "credit_history=A30|A31|A32|A33|A34 "
            "purpose=A40|A41|A42|A43|A44|A45|A46|A48|A49|A410 credit_amount "
            "savings_status=A61|A62|A63|A64|A65 employment=A71|A72|A73|A74|A75 "
            "installment_rate personal_status=A91|A92|A93|A94 "
            "other_parties=A101|A102|A103 residence_since "
            "property_magnitude=A121|A122|A123|A124 age "
            "other_payment_plans=A141|A142|A143 housing=A151|A152|A153 "
            "existing_credits job=A171|A172|A173|A174 num_dependents "
            "own_telephone=A191|A192 foreign_worker=A201|A202"
        ),
        {"1": 700, "2": 300},
        "german.data of UCI's Statlog (German Credit Data) (id 144)",
        "9dd6c684eed143e604693df2d65d929e6a47497f85850627c7e1a28e9d1b86c4",
        openml_id=31,
        first_seen="0132 42301 3620184597 40231 42301 2103 021 0132 201 120 2130 10 01",
    ),
    DataSet(
        "banknote",
        _levels("variance skewness curtosis entropy"),
        {"0": 762, "1": 610},
        "data_banknote_authentication.txt of UCI's Banknote Authentication (id 267)",
        "aab9109f7c10164b68722a85cd75b0e63e967c2a65e448af4fa32c389391e430",
        openml_id=1462,
    ),
    DataSet(
        "ozone",
        _levels(
            f"{_numbered('WSR{}', 0, 24)} WSR_PK WSR_AV {_numbered('T{}', 0, 24)} "
            "T_PK T_AV T85 RH85 U85 V85 HT85 T70 RH70 U70 V70 HT70 T50 RH50 U50 V50 "
            "HT50 KI TT SLP SLP_ Precp"
        ),
        {"0": 1791, "1": 57},
        "onehr.data of UCI's Ozone Level Detection (id 172), without its first column, "
        "the date, and with its classes written 0 and 1",
        "c6a127fabd97bdaeef73be6e69a91ca67c83bc87d37c43ff5b44581d80ee5872",
        openml_id=301,
    ),
    DataSet(
        "spam",
        _levels(
            "word_freq_make word_freq_address word_freq_all word_freq_3d "
            "word_freq_our word_freq_over word_freq_remove word_freq_internet "
            "word_freq_order word_freq_mail word_freq_receive word_freq_will "
            "word_freq_people word_freq_report word_freq_addresses word_freq_free "
            "word_freq_business word_freq_email word_freq_you word_freq_credit "
            "word_freq_your word_freq_font word_freq_000 word_freq_money word_freq_hp "
            "word_freq_hpl word_freq_george word_freq_650 word_freq_lab "
            "word_freq_labs word_freq_telnet word_freq_857 word_freq_data "
            "word_freq_415 word_freq_85 word_freq_technology word_freq_1999 "
            "word_freq_parts word_freq_pm word_freq_direct word_freq_cs "
            "word_freq_meeting word_freq_original word_freq_project word_freq_re "
            "word_freq_edu word_freq_table word_freq_conference char_freq_; "
            "char_freq_( char_freq_[ char_freq_! char_freq_$ char_freq_# "
            "capital_run_length_average capital_run_length_longest "
            "capital_run_length_total"
        ),
        {"1": 1813, "0": 2788},
        "spambase.data of UCI's Spambase (id 94)",
        "9e330425f0c693d41cb43f63a6ecd1ca43621d1090f2d2bf2f8349b3c6ed67d6",
        openml_id=44,
    ),
    DataSet(
        "iris",
        _levels("sepal_length sepal_width petal_length petal_width"),
        {"Iris-setosa": 50, "Iris-versicolor": 50, "Iris-virginica": 50},
        "scikit-learn's load_iris",
        "be0774045012e45450a4a05d6fe09b66c8c6bf23d8c4c0d5bb3d325381dafc24",
    ),
    DataSet(
        "wine",
        _levels(
            "alcohol malic_acid ash alcalinity_of_ash magnesium total_phenols "
            "flavanoids nonflavanoid_phenols proanthocyanins color_intensity hue "
            "od280_od315_of_diluted_wines proline"
        ),
        {"1": 59, "2": 71, "3": 48},
        "scikit-learn's load_wine",
        "720a8c62764c09ad143b867e5d67a8bcf02323232301a78874beb2cddc989bc6",
    ),
    DataSet(
        "seeds",
        _levels(
            "area perimeter compactness kernel_length kernel_width "
            "asymmetry_coefficient kernel_groove_length"
        ),
        {"1": 70, "2": 70, "3": 70},
        "seeds_dataset.txt of UCI's Seeds (id 236)",
        "02b0ead9a2893378cf7d804e8995dc3bb0a10484ad32056e43fa9c2e116bf05f",
        openml_id=1499,
    ),
    DataSet(
        "balance",
        _levels(
            "left_weight=1|2|3|4|5 left_distance=1|2|3|4|5 "
            "right_weight=1|2|3|4|5 right_distance=1|2|3|4|5"
        ),
        {"B": 49, "R": 288, "L": 288},
        "its definition: the side with the greater product of weight and distance",
        "ef938a89ee0d905337a7207b30b11a0b366b234b121a5179bf2fe0176b8bd8f0",
    ),
    DataSet(
        "thyroid",
        _levels(
            "age sex on_thyroxine query_on_thyroxine on_antithyroid_medication sick "
            "pregnant thyroid_surgery I131_treatment query_hypothyroid "
            "query_hyperthyroid lithium goitre tumor hypopituitary psych "
            "TSH T3 TT4 T4U FTI"
        ),
        {"3": 3488, "2": 191, "1": 93},
        "ann-train.data of UCI's Thyroid Disease (id 102)",
        "2f3e09d24d12d4e55615ae93d837f0bb2f6725f430b423ad0da5bb7ec9962550",
        openml_id=40497,
    ),
    DataSet(
        "car",
        _levels(
            "buying=vhigh|high|med|low maint=vhigh|high|med|low doors=2|3|4|5more "
            "persons=2|4|more lug_boot=small|med|big safety=low|med|high"
        ),
        {"unacc": 1210, "acc": 384, "vgood": 65, "good": 69},
        "car.data of UCI's Car Evaluation (id 19)",
        "e01a4a97c6feca6aad0b24ec41c42d5ae3c0268dc71fcdc7a65d7714f59edfbe",
        openml_id=40975,
    ),
)

RECORD = {known.name: known for known in _RECORD}

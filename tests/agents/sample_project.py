"""
The repository that the agent works in: a small shop whose prices are rounded wrongly, so one test fails.

Kept as strings, not as files, so that no test collector of this project finds the failing test.
"""

from pathlib import Path

TEST_COMMAND = "python3 -m unittest"
PRICING_PATH = "shop/pricing.py"

PRICING = '''"""Prices of a basket."""

VAT_RATE = 0.19


def net_total(prices, discount=0.0):
    """Sum of the prices after the discount."""
    return sum(prices) * (1 - discount)


def gross_total(prices, discount=0.0):
    """Net total plus VAT, in euros and cents."""
    return round(net_total(prices, discount) * (1 + VAT_RATE), 2)


def per_person(total, people):
    """What each one pays, in euros and cents."""
    return round(total / people, 2)
'''

TESTS = """import unittest

from shop.pricing import gross_total, net_total, per_person


class PricingTest(unittest.TestCase):
    def test_net_total_with_discount(self):
        self.assertAlmostEqual(net_total([10.0, 20.0], discount=0.5), 15.0)

    def test_gross_total(self):
        self.assertEqual(gross_total([10.0, 20.0]), 35.7)

    def test_half_a_cent_is_rounded_up(self):
        self.assertEqual(per_person(5.35, 2), 2.68)


if __name__ == "__main__":
    unittest.main()
"""

FIXED_BODY = """    cents = Decimal(str(total)) / people
    return float(cents.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP))
"""

FILES = {
    ".gitignore": "__pycache__/\n",
    "README.md": "# shop\n\nPrices of a basket. Tests: `python3 -m unittest`.\n",
    "shop/__init__.py": "",
    PRICING_PATH: PRICING,
    "tests/__init__.py": "",
    "tests/test_pricing.py": TESTS,
}


def write_sample_project(folder: Path) -> None:
    """Write the files into a folder, which is made if absent."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

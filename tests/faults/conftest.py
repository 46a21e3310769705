import sys
from pathlib import Path

# Test helpers are imported by name, as pytest's importlib mode puts no test folder on the path.
sys.path.insert(0, str(Path(__file__).parent))

"""Write the JSON schemas: python -m meantime.forecast.schema docs/schema"""

import sys
from pathlib import Path

from meantime.forecast.schema import write_schemas

if __name__ == "__main__":
    write_schemas(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/schema"))

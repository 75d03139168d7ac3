"""Run queries over Parquet files in a local Spark session in ANSI mode: JSON in, the rows of each query as JSON out."""

from __future__ import annotations

import json
import sys
import tempfile

from pyspark.sql import SparkSession


def main() -> None:
    given = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "spark.ui.enabled": "false",
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
            "spark.sql.ansi.enabled": "true",
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.warehouse.dir": folder,
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        }
        builder = SparkSession.builder.master("local[1]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        for name, path in given["views"].items():
            session.read.parquet(path).createOrReplaceTempView(name)
        found = [[row.asDict() for row in session.sql(text).collect()] for text in given["queries"]]
        session.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    main()

"""Forecasts: draws of failure rates carried through a plan to MTTF, ETTR and losses."""

from meantime.forecast.ahead import ahead_document as ahead_document
from meantime.forecast.ahead import forecast_ahead as forecast_ahead
from meantime.forecast.budget import Budget as Budget
from meantime.forecast.budget import Throughput as Throughput
from meantime.forecast.cluster_size import cluster_size as cluster_size
from meantime.forecast.distributed import forecast_chunked as forecast_chunked
from meantime.forecast.document import as_text as as_text
from meantime.forecast.draws import expected_draws as expected_draws
from meantime.forecast.expected import expected_ettr as expected_ettr
from meantime.forecast.forecast import forecast as forecast
from meantime.forecast.forecast import forecast_rates as forecast_rates
from meantime.forecast.goodput import JobClass as JobClass
from meantime.forecast.goodput import cluster_goodput as cluster_goodput
from meantime.forecast.hypotheticals import hypotheticals as hypotheticals
from meantime.forecast.information import information as information
from meantime.forecast.information import information_of_fit as information_of_fit
from meantime.forecast.information import information_of_gamma as information_of_gamma
from meantime.forecast.interval_plan import plan_intervals as plan_intervals
from meantime.forecast.judging import backtest_document as backtest_document
from meantime.forecast.judging import calibrate_document as calibrate_document
from meantime.forecast.judging import check_document as check_document
from meantime.forecast.judging import compare_document as compare_document
from meantime.forecast.lemons import lemon_removal as lemon_removal
from meantime.forecast.mitigate import mitigate as mitigate
from meantime.forecast.mitigate import mitigate_rates as mitigate_rates
from meantime.forecast.mitigate_rows import mitigate_document as mitigate_document
from meantime.forecast.mitigate_rows import mitigation_of as mitigation_of
from meantime.forecast.mitigations import AsyncCheckpoint as AsyncCheckpoint
from meantime.forecast.mitigations import CheaperCheckpoint as CheaperCheckpoint
from meantime.forecast.mitigations import FasterDetection as FasterDetection
from meantime.forecast.mitigations import FasterRestart as FasterRestart
from meantime.forecast.mitigations import HotSpares as HotSpares
from meantime.forecast.mitigations import Mitigation as Mitigation
from meantime.forecast.mitigations import RemoveLemons as RemoveLemons
from meantime.forecast.mitigations import ScaleComponent as ScaleComponent
from meantime.forecast.output import rows_csv as rows_csv
from meantime.forecast.output import to_csv as to_csv
from meantime.forecast.output import to_json as to_json
from meantime.forecast.periods import forecast_periods as forecast_periods
from meantime.forecast.periods import period_rows as period_rows
from meantime.forecast.periods import periods_document as periods_document
from meantime.forecast.plan import Plan as Plan
from meantime.forecast.plan_file import read_plan as read_plan
from meantime.forecast.point import ettr_point as ettr_point
from meantime.forecast.rates import checked_gpus as checked_gpus
from meantime.forecast.rates import rates_of as rates_of
from meantime.forecast.rates import stated_rate as stated_rate
from meantime.forecast.rows import flat_rows as flat_rows
from meantime.forecast.rows import notes as notes
from meantime.forecast.rows import to_rows as to_rows
from meantime.forecast.run_plan import plan_run as plan_run
from meantime.forecast.sensitivity import sensitivity as sensitivity
from meantime.forecast.simulation import simulate_runs as simulate_runs
from meantime.forecast.spare_plan import plan_spares as plan_spares
from meantime.forecast.target import probability_done as probability_done
from meantime.forecast.target import probability_of_ettr as probability_of_ettr
from meantime.forecast.uncertain import Uncertain as Uncertain
from meantime.forecast.work import forecast_work as forecast_work

__all__ = [
    "AsyncCheckpoint",
    "Budget",
    "CheaperCheckpoint",
    "FasterDetection",
    "FasterRestart",
    "HotSpares",
    "JobClass",
    "Mitigation",
    "Plan",
    "RemoveLemons",
    "ScaleComponent",
    "Throughput",
    "Uncertain",
    "ahead_document",
    "as_text",
    "backtest_document",
    "calibrate_document",
    "check_document",
    "checked_gpus",
    "cluster_goodput",
    "cluster_size",
    "compare_document",
    "ettr_point",
    "expected_draws",
    "expected_ettr",
    "flat_rows",
    "forecast",
    "forecast_ahead",
    "forecast_chunked",
    "forecast_periods",
    "forecast_rates",
    "forecast_work",
    "hypotheticals",
    "information",
    "information_of_fit",
    "information_of_gamma",
    "lemon_removal",
    "mitigate",
    "mitigate_document",
    "mitigate_rates",
    "mitigation_of",
    "notes",
    "period_rows",
    "periods_document",
    "plan_intervals",
    "plan_run",
    "plan_spares",
    "probability_done",
    "probability_of_ettr",
    "rates_of",
    "read_plan",
    "rows_csv",
    "sensitivity",
    "simulate_runs",
    "stated_rate",
    "to_csv",
    "to_json",
    "to_rows",
]

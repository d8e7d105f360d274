"""The practice model: a rule-based stand-in for Claude inside the simulator. It is not a language model and says so."""

from __future__ import annotations

from turnkeeper.simulator.practice.model import PracticeModel
from turnkeeper.simulator.practice.phrasebook import Phrasebook

__all__ = ("Phrasebook", "PracticeModel")

"""Writes fixtures/lora/<model>/: small adapters as PEFT writes them, and what PEFT computes with them."""

from pathlib import Path

from lora_cases import make

for name in ("gpt2", "llama3", "gemma3", "phi3"):
    make(name, Path(__file__).parent / "fixtures" / "lora" / name)

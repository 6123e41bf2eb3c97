"""`python -P -m campaign.notes`: the same as the `notes` command."""

from campaign.notes.cli import main

main(prog_name="notes")

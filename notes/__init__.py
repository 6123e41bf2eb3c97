"""The writer: quoting, building, publishing, correcting and checking the parts of a campaign."""

"""Floor 4: checks. Each asks one question and answers with a frozen value; nothing here prints."""

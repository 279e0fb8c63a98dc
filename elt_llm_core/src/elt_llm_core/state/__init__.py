"""What people leave behind: conversations and what was fitted for them. Never the record of the documents."""

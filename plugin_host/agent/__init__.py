"""One AI turn: the words sent, the response heard, the loop, the turn slot of a session."""

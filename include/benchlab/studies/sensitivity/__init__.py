"""How small a change campaigns detect, and what detecting smaller ones would cost."""

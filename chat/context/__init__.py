"""What the model is sent besides the user's message: context, history and tool results, each within its budget."""

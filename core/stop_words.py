"""Words of English sentences that tell nothing about what is looked for."""

STOP_WORDS = frozenset(
    [
        *("a", "about", "again", "all", "also", "am", "an", "and", "any", "anyone", "are", "as", "at", "be", "been"),
        *("being", "but", "by", "can", "could", "d", "did", "do", "does", "doing", "don", "done", "for", "from", "get"),
        *("give", "had", "has", "have", "having", "hello", "help", "her", "here", "hey", "hi", "him", "his", "how"),
        *("i", "if", "in", "into", "is", "it", "its", "itself", "just", "kindly", "know", "let", "like", "ll", "m"),
        *("me", "my", "myself", "need", "of", "on", "or", "our", "out", "over", "please", "re", "s", "should", "show"),
        *("so", "some", "something", "such", "t", "tell", "than", "thank", "thanks", "that", "the", "their", "them"),
        *("then", "there", "these", "they", "this", "those", "through", "to", "too", "up", "us", "use", "using", "ve"),
        *("very", "want", "was", "way", "we", "were", "what", "when", "where", "whether", "which", "while", "who"),
        *("whom", "whose", "why", "will", "with", "within", "would", "you", "your", "yours", "yourself"),
    ]
)

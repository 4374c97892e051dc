/** Each is looked for in all the text of what is searched, which may be long. */
export const SEARCH_TERMS_MAX = 8

/** In lower case, each once. */
export const searchTerms = (text: string): string[] => [...new Set(text.toLowerCase().split(/\s+/).filter(Boolean))]

/** One word of a POSIX shell, quoted if needed. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

/** Each term is searched for in all the text, which may be long. */
export const SEARCH_TERMS_MAX = 8

/** Search terms in lower case, without repetitions. */
export const searchTerms = (text: string): string[] => [...new Set(text.toLowerCase().split(/\s+/).filter(Boolean))]

/** Between texts of which a protocol makes one: what was said apart stays apart. */
export const BREAK = '\n\n'

/** Those that say anything. */
export const joinedWords = (texts: readonly (string | undefined)[]): string =>
  texts.filter((text) => text !== undefined && text !== '').join(BREAK)

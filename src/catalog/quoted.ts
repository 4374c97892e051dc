const SHOWN_MAX = 128

/** As received, but never a screenful of it. */
export const quoted = (text: string): string => `'${text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text}'`

/** A value that is a text; undefined where it is anything else. */
export const stringOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

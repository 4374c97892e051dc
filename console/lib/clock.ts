/** The one reader of the time in the console. */
export const now = (): number => Date.now()

/** Variables by name: what everything else is handed instead of the process's own environment. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The one place that reads `process.env`. A copy, so that what was validated is what is used. */
export const readEnvironment = (): Environment => ({ ...process.env })

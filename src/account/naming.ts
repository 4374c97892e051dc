import { scrub } from '../telemetry/scrub.ts'

const LENGTH_MAX = 80

/** A name that somebody gave, to be said again in a sentence: people paste a key where its id belongs. */
export const quoted = (name: string): string => JSON.stringify(scrub(name).slice(0, LENGTH_MAX))

/** As e-mails are stored: two spellings of one address are one. */
export const normalizeEmail = (text: string): string => text.trim().toLowerCase()

import { z } from 'zod'
import { seen } from '../contract/values.ts'

/** A person's words on one line: nothing that cannot be seen, nothing empty, and short enough to list. */
export const plainText = (charactersMax: number) => plainNote(charactersMax).min(1, 'is empty')

/** The same, and may be left out. */
export const plainNote = (charactersMax: number) =>
  seen(z.string().trim().max(charactersMax, `is longer than ${charactersMax} characters`))

/** What an account, a key or a request is named by: an id or an address, which nobody needs to write longer. */
export const nameArgument = plainText(320)

/** Two spellings of one address must not become two accounts. */
export const normalizeEmail = (text: string): string => text.trim().toLowerCase()

/**
 * Only the shape is looked at: whether an address exists is found out by writing to it, and `root@localhost` is a good
 * one on a machine of one's own.
 */
export const emailArgument = seen(z.string().trim().toLowerCase()).refine(
  (email) => email.length <= 254 && /^[^\s@]+@[^\s@]+$/.test(email),
  'is not an e-mail address',
)

import { z } from 'zod'
import { seen } from '../contract/values.ts'

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
